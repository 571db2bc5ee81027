#include "blob/plan.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/concat.h"
#include "base/joined.h"
#include "blob/names.h"

namespace firn::blob {
namespace {

/// "input, layers 0 to 3", "layers 4 to 7, output".
std::string contentsOf(const Blob& blob, const EntryRecord& entry) {
  uint32_t first = kNoLayer;
  uint32_t last = 0;
  for (const CallRecord& call : blob.callsOf(entry)) {
    if (call.layer == kNoLayer) continue;
    first = std::min(first, call.layer);
    last = std::max(last, call.layer);
  }
  std::string text;
  const auto add = [&](const std::string& piece) { text += (text.empty() ? "" : ", ") + piece; };
  if (entry.part == 0 && entry.kind != EntryKind::kHead) add("input");
  if (first != kNoLayer) add(first == last ? concat("layer ", first) : concat("layers ", first, " to ", last));
  if (entry.part + 1 == entry.parts && entry.kind != EntryKind::kPrefill) add("output");
  return text;
}

}  // namespace

std::vector<PlanPart> partsOf(const Blob& blob, uint32_t entry) {
  std::vector<PlanPart> parts;
  for (const EntryRecord& part : blob.entries().subspan(entry, blob.entries()[entry].parts)) {
    parts.push_back({part.target, contentsOf(blob, part), blob.string(part.reason)});
  }
  return parts;
}

std::vector<PlanGroup> planOf(const Blob& blob) {
  std::vector<PlanGroup> groups;
  std::map<std::vector<PlanPart>, size_t> numbers;  // of the groups: a hostile blob has as many as entries
  const auto entries = blob.entries();
  for (uint32_t i = 0; i < entries.size(); i += entries[i].parts) {
    std::vector<PlanPart> parts = partsOf(blob, i);
    const auto [known, isNew] = numbers.try_emplace(parts, groups.size());
    if (isNew) groups.push_back({{}, {}, std::move(parts)});
    PlanGroup& group = groups[known->second];
    group.entries.push_back(entryName(entries[i].kind, entries[i].rows, entries[i].context));
    const EntryKind kind = entries[i].kind;
    if (std::ranges::find(group.kinds, kind) == group.kinds.end()) group.kinds.push_back(kind);
  }
  return groups;
}

std::string planText(const Blob& blob) {
  std::string text = concat("targets     ", targetNames(blob.targets()), "\n");
  for (const PlanGroup& group : planOf(blob)) {
    text += concat("\n", joined(group.entries, ", "), "\n");
    for (const PlanPart& part : group.parts) {
      std::string target(targetName(part.target));
      target.resize(std::max<size_t>(target.size(), 10), ' ');
      text += concat("  ", target, " ", part.contents, part.reason.empty() ? "" : ": ", part.reason, "\n");
    }
  }
  return text;
}

}  // namespace firn::blob
