#include "blob/plan.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "base/concat.h"
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

std::string partLine(const Blob& blob, const EntryRecord& entry) {
  std::string target(targetName(entry.target));
  target.resize(std::max<size_t>(target.size(), 10), ' ');
  std::string line = concat("  ", target, " ", contentsOf(blob, entry));
  const std::string_view reason = blob.string(entry.reason);
  return reason.empty() ? line : concat(line, ": ", reason);
}

}  // namespace

std::string planText(const Blob& blob) {
  std::vector<std::pair<std::string, std::string>> paragraphs;  // lines of the parts, names of the entries
  const auto entries = blob.entries();
  for (size_t i = 0; i < entries.size(); i += entries[i].parts) {
    const EntryRecord& entry = entries[i];
    std::string lines;
    for (const EntryRecord& part : entries.subspan(i, entry.parts)) lines += concat(partLine(blob, part), "\n");
    const std::string name = entryName(entry.kind, entry.rows, entry.context);
    const auto same = std::ranges::find(paragraphs, lines, &std::pair<std::string, std::string>::first);
    if (same == paragraphs.end()) {
      paragraphs.emplace_back(lines, name);
    } else {
      same->second += concat(", ", name);
    }
  }
  std::string text = concat("targets     ", targetNames(blob.targets()), "\n");
  for (const auto& [lines, names] : paragraphs) text += concat("\n", names, "\n", lines);
  return text;
}

}  // namespace firn::blob
