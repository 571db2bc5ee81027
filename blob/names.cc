#include "blob/names.h"

#include <array>

#include "base/concat.h"
#include "base/joined.h"

namespace firn::blob {

namespace {

struct NamedTarget {
  Target target;
  std::string_view name;
};

/// Every target, in the order of the names.
constexpr NamedTarget kTargets[] = {{Target::kCpu, "cpu"}, {Target::kNpu, "npu"}, {Target::kReference, "reference"}};

}  // namespace

std::string_view targetName(Target target) {
  for (const NamedTarget& known : kTargets) {
    if (known.target == target) return known.name;
  }
  return {};
}

std::optional<Target> targetFromName(std::string_view name) {
  for (const NamedTarget& known : kTargets) {
    if (known.name == name) return known.target;
  }
  return std::nullopt;
}

std::string targetNames() { return joined(kTargets, ", ", &NamedTarget::name); }

std::string targetNames(std::span<const Target> targets) { return joined(targets, " and ", targetName); }

std::string_view entryKindName(EntryKind kind) {
  switch (kind) {
    case EntryKind::kPrefill: return "prefill";
    case EntryKind::kGenerate: return "generate";
    case EntryKind::kHead: return "head";
    case EntryKind::kBatch: return "batch";
  }
  return {};
}

std::string_view symbolKindName(SymbolKind kind) {
  switch (kind) {
    case SymbolKind::kIds: return "ids";
    case SymbolKind::kPositions: return "positions";
    case SymbolKind::kValid: return "valid";
    case SymbolKind::kRow0: return "row0";
    case SymbolKind::kMask: return "mask";
    case SymbolKind::kHidden: return "hidden";
    case SymbolKind::kLogits: return "logits";
    case SymbolKind::kTopLogits: return "top_logits";
    case SymbolKind::kTopIds: return "top_ids";
    case SymbolKind::kKv: return "kv";
    case SymbolKind::kKv1: break;
  }
  constexpr std::array<std::string_view, kMaxBatchRows - 1> kRows = {"kv.1", "kv.2", "kv.3", "kv.4",
                                                                     "kv.5", "kv.6", "kv.7"};
  const auto row = static_cast<uint32_t>(kind) - static_cast<uint32_t>(SymbolKind::kKv1);
  return row < kRows.size() ? kRows[row] : std::string_view{};
}

std::string_view spaceName(Space space) {
  switch (space) {
    case Space::kScratch: return "scratch";
    case Space::kWeights: return "weights";
    case Space::kKv: return "kv";
    case Space::kSymbol: return "symbol";
    case Space::kCmx: return "cmx";
  }
  return {};
}

std::string entryName(EntryKind kind, uint32_t rows, uint32_t context) {
  switch (kind) {
    case EntryKind::kPrefill: return concat("prefill.", rows, ".", context);
    case EntryKind::kGenerate: return concat("generate.", context);
    case EntryKind::kHead: return concat("head.", rows);
    case EntryKind::kBatch: return concat("batch.", rows, ".", context);
  }
  return {};
}

std::string entryName(const EntryRecord& entry) {
  const std::string name = entryName(entry.kind, entry.rows, entry.context);
  return entry.parts == 1 ? name : concat(name, ".p", entry.part);
}

}  // namespace firn::blob
