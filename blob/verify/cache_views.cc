#include "blob/verify/cache_views.h"

#include "base/concat.h"
#include "blob/kv_part.h"

namespace firn::blob {

namespace {

constexpr std::string_view kScalesName = "the scales of the cache";
constexpr std::string_view kRowsName = "rows of the cache";

/// The first head of a view whose heads lie `headBytes` apart from byte `start` of the part.
Result<uint64_t> firstHead(const OperandRecord& view, uint64_t start, uint64_t headBytes, uint64_t kvHeads,
                           std::string_view what) {
  if (view.base == kNoBase) return corrupt(concat(what, " have no param: a call names the part of the cache"));
  if (view.offset < start || (view.offset - start) % headBytes != 0) {
    return corrupt(concat(what, " start at byte ", view.offset, " of their part, expected ", start,
                          " and a multiple of ", headBytes, ", the bytes of a head"));
  }
  const uint64_t first = (view.offset - start) / headBytes;
  if (first < kvHeads && view.dims[0] <= kvHeads - first) return first;
  return corrupt(concat(what, " are those of ", view.dims[0], " heads from head ", first, ", the model has ", kvHeads));
}

}  // namespace

Status verifyCacheViews(const ProgramHeader& header, std::span<const OperandRecord* const> rows,
                        std::span<const OperandRecord* const> scales) {
  if (rows.empty()) return Status::ok();
  const auto part = KvPart::of(header);
  if (!part) return corrupt("the cache has no size");
  uint64_t taskFirst = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    FIRN_ASSIGN_OR_RETURN(const uint64_t first,
                          firstHead(*rows[i], 0, part->rowsBytes / header.kvHeads, header.kvHeads, kRowsName));
    if (i == 0) taskFirst = first;
    if (first != taskFirst) return corrupt(concat("K starts at head ", taskFirst, ", V at head ", first));
    if (scales.empty()) continue;
    if (scales[i]->base != rows[i]->base) {
      return corrupt(concat(kScalesName, " lie in the part of param ", scales[i]->base,
                            ", their rows in that of param ", rows[i]->base));
    }
    FIRN_ASSIGN_OR_RETURN(
        const uint64_t scalesFirst,
        firstHead(*scales[i], part->rowsBytes, part->scalesBytes / header.kvHeads, header.kvHeads, kScalesName));
    if (scalesFirst != first) {
      return corrupt(concat(kScalesName, " start at head ", scalesFirst, ", their rows at head ", first));
    }
  }
  return Status::ok();
}

}  // namespace firn::blob
