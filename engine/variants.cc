#include "engine/variants.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/concat.h"
#include "base/joined.h"
#include "engine/weight_extents.h"

namespace firn::engine {
namespace {

bool allowed(const std::vector<uint32_t>& ladder, uint32_t size) {
  return ladder.empty() || std::find(ladder.begin(), ladder.end(), size) != ladder.end();
}

/// Every size that the caller named must exist in the blob.
Status checkNamed(const std::vector<uint32_t>& named, const std::vector<uint32_t>& existing, const char* what) {
  for (const uint32_t size : named) {
    if (std::find(existing.begin(), existing.end(), size) == existing.end()) {
      return invalidArgument("the blob has no " + std::string(what) + " of " + std::to_string(size) + "; it has " +
                             joined(existing, ", ") + ". Choose among these or compile again");
    }
  }
  return Status::ok();
}

std::vector<uint32_t> distinct(const std::vector<Variant>& variants, uint32_t Variant::* field) {
  std::vector<uint32_t> sizes;
  for (const Variant& variant : variants) sizes.push_back(variant.*field);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

uint64_t weightBytesOf(const blob::Blob& blob, const blob::BodyRecord& body) {
  uint64_t bytes = 0;
  for (const blob::SegmentRecord& segment : blob.segmentsOf(body)) {
    for (const blob::LaneRange& range : blob.lanesOf(segment)) {
      for (const blob::TaskRecord& task : blob.tasksOf(range)) {
        if (readsRowsOfATable(task.op)) continue;
        for (const blob::OperandRecord& operand : blob.operandsOf(task)) {
          if (operand.space == blob::Space::kWeights) bytes += operand.bytes;
        }
      }
    }
  }
  return bytes;
}

/// The target of each layer in the first entry of `kind`; empty when there is none.
std::vector<blob::Target> layerTargets(const blob::Blob& blob, blob::EntryKind kind) {
  const auto entries = blob.entries();
  const auto first = std::ranges::find(entries, kind, &blob::EntryRecord::kind);
  if (first == entries.end()) return {};
  std::vector<blob::Target> targets(blob.header().layers);
  for (const blob::EntryRecord& part : std::span(first, first->parts)) {
    for (const blob::CallRecord& call : blob.callsOf(part)) {
      if (call.layer < targets.size()) targets[call.layer] = part.target;
    }
  }
  return targets;
}

}  // namespace

Result<VariantTable> VariantTable::create(const blob::Blob& blob, const Ladders& ladders) {
  VariantTable table;
  const auto entries = blob.entries();
  std::vector<uint64_t> bodyBytes;
  for (const blob::BodyRecord& body : blob.bodies()) bodyBytes.push_back(weightBytesOf(blob, body));
  for (uint32_t index = 0; index < entries.size(); index += entries[index].parts) {
    const blob::EntryRecord& entry = entries[index];
    Variant variant{.entry = index, .rows = entry.rows, .context = entry.context};
    for (const blob::EntryRecord& part : entries.subspan(index, entry.parts)) {
      variant.cost += part.predictedPicoseconds;
      for (const blob::CallRecord& call : blob.callsOf(part)) variant.weightBytes += bodyBytes[call.body];
    }
    if (entry.kind == blob::EntryKind::kPrefill) table.prefills_.push_back(variant);
    if (entry.kind == blob::EntryKind::kGenerate) table.generates_.push_back(variant);
    if (entry.kind == blob::EntryKind::kBatch) table.batchSteps_.push_back(variant);
    if (entry.kind == blob::EntryKind::kHead) table.heads_.push_back(variant);
  }
  FIRN_RETURN_IF_ERROR(
      checkNamed(ladders.prefillChunks, distinct(table.prefills_, &Variant::rows), "prefill chunk size"));
  FIRN_RETURN_IF_ERROR(checkNamed(ladders.contexts, distinct(table.generates_, &Variant::context), "context size"));

  // T stays, whatever the caller names: the last rows of the cache need it.
  const uint32_t rows = blob.header().kvRows;
  const auto context = [&](uint32_t size) { return size == rows || allowed(ladders.contexts, size); };
  std::erase_if(table.prefills_,
                [&](const Variant& v) { return !allowed(ladders.prefillChunks, v.rows) || !context(v.context); });
  std::erase_if(table.generates_, [&](const Variant& v) { return !context(v.context); });
  std::erase_if(table.batchSteps_, [&](const Variant& v) { return !context(v.context); });

  const auto bySize = [](const Variant& a, const Variant& b) {
    return a.rows != b.rows ? a.rows < b.rows : a.context < b.context;
  };
  std::sort(table.prefills_.begin(), table.prefills_.end(), bySize);
  std::sort(table.generates_.begin(), table.generates_.end(), bySize);
  std::sort(table.batchSteps_.begin(), table.batchSteps_.end(), bySize);
  std::sort(table.heads_.begin(), table.heads_.end(), bySize);
  table.chunks_ = distinct(table.prefills_, &Variant::rows);
  table.batches_ = distinct(table.batchSteps_, &Variant::rows);

  const auto promptTargets = layerTargets(blob, blob::EntryKind::kPrefill);
  table.hasPromptTarget_ = !promptTargets.empty() && promptTargets != layerTargets(blob, blob::EntryKind::kGenerate);

  if (table.generates_.empty() || table.generates_.back().context != rows) {
    return corrupt("the blob has no entry generate." + std::to_string(rows) + " for its whole cache");
  }
  for (const uint32_t size : table.batches_) {
    const Variant* const whole = table.batchFor(size, rows);
    if (whole == nullptr || whole->rows != size) {
      return corrupt(concat("the blob has entries batch.", size, ", but none of them, batch.", size, ".", rows,
                            ", is for its whole cache; compile it again"));
    }
  }
  if (table.heads_.empty() || table.heads_.front().rows != 1) return corrupt("the blob has no entry head.1");
  return table;
}

// The lists are sorted, and a plan asks for every position of a prompt.
const Variant* VariantTable::generateFor(uint32_t rows) const {
  const auto at = std::ranges::lower_bound(generates_, rows, {}, &Variant::context);
  return at == generates_.end() ? nullptr : &*at;
}

const Variant* VariantTable::prefillFor(uint32_t chunk, uint32_t rows) const {
  const auto bySize = [](const Variant& v) { return std::pair(v.rows, v.context); };
  const auto at = std::ranges::lower_bound(prefills_, std::pair(chunk, rows), {}, bySize);
  return at == prefills_.end() || at->rows != chunk ? nullptr : &*at;
}

const Variant* VariantTable::batchFor(uint32_t sessions, uint32_t rows) const {
  for (const Variant& variant : batchSteps_) {
    if (variant.rows >= sessions && variant.context >= rows) return &variant;
  }
  return nullptr;
}

const Variant& VariantTable::headFor(uint32_t rows) const {
  const auto at = std::ranges::lower_bound(heads_, rows, {}, &Variant::rows);
  return at == heads_.end() ? heads_.back() : *at;
}

}  // namespace firn::engine
