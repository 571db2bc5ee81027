#include "engine/weight_extents.h"

#include <algorithm>
#include <tuple>

#include "blob/task_op.h"

namespace firn::engine {
namespace {

constexpr blob::TaskOp kTableOps[] = {blob::TaskOp::kNpuEmbed, blob::TaskOp::kNpuEmbedGroups, blob::TaskOp::kCpuEmbed,
                                      blob::TaskOp::kRefEmbed, blob::TaskOp::kCpuRope};

}  // namespace

bool readsRowsOfATable(uint16_t op) {
  return std::ranges::any_of(kTableOps, [&](blob::TaskOp table) { return op == static_cast<uint16_t>(table); });
}

WeightExtents::WeightExtents(const blob::Blob& blob)
    : blob_(&blob), bodies_(blob.bodies().size()), isKnown_(blob.bodies().size()) {}

const std::vector<WeightExtents::Extent>& WeightExtents::extentsOf(uint32_t body) {
  std::vector<Extent>& extents = bodies_[body];
  if (isKnown_[body]) return extents;
  isKnown_[body] = true;
  for (const blob::SegmentRecord& segment : blob_->segmentsOf(blob_->bodies()[body])) {
    for (const blob::LaneRange& range : blob_->lanesOf(segment)) {
      for (const blob::TaskRecord& task : blob_->tasksOf(range)) {
        if (readsRowsOfATable(task.op)) continue;
        for (const blob::OperandRecord& operand : blob_->operandsOf(task)) {
          if (operand.space != blob::Space::kWeights) continue;
          extents.push_back({.base = operand.base, .first = operand.offset, .end = operand.offset + operand.bytes});
        }
      }
    }
  }
  std::ranges::sort(extents, {}, [](const Extent& e) { return std::tuple(e.base, e.first, e.end); });
  size_t kept = 0;
  for (const Extent& extent : extents) {
    if (kept > 0 && extents[kept - 1].base == extent.base && extent.first <= extents[kept - 1].end) {
      extents[kept - 1].end = std::max(extents[kept - 1].end, extent.end);
    } else {
      extents[kept++] = extent;
    }
  }
  extents.resize(kept);
  return extents;
}

uint64_t WeightExtents::bytesOf(std::span<const uint32_t> entries) {
  std::vector<std::pair<uint64_t, uint64_t>> all;
  for (const uint32_t entry : entries) {
    for (const blob::EntryRecord& part : blob_->entries().subspan(entry, blob_->entries()[entry].parts)) {
      for (const blob::CallRecord& call : blob_->callsOf(part)) {
        const auto args = blob_->argsOf(call);
        for (const Extent& extent : extentsOf(call.body)) {
          const uint64_t base = extent.base == blob::kNoBase ? 0 : args[extent.base];
          all.emplace_back(base + extent.first, base + extent.end);
        }
      }
    }
  }
  std::ranges::sort(all);
  uint64_t bytes = 0, end = 0;
  for (const auto& [first, last] : all) {
    if (last <= end) continue;
    bytes += last - std::max(first, end);
    end = last;
  }
  return bytes;
}

}  // namespace firn::engine
