// Dropping tokens from the middle of a session.
#include <algorithm>
#include <cstring>

#include "base/concat.h"
#include "engine/session.h"
#include "runtime/floating_point.h"

namespace firn::engine {

Status Session::checkOptions() const {
  if (!options_.contextShift) return Status::ok();
  const uint32_t rows = model_->limits().kvRows;
  if (rows < 4)
    return invalidArgument(concat("a context shift drops a quarter of the cache, which has ", rows, " rows"));
  if (options_.keepRows >= rows - rows / 4) {
    return invalidArgument(concat("a context shift cannot keep ", options_.keepRows, " rows: of ", rows, " it drops ",
                                  rows / 4, ", so at most ", rows - rows / 4 - 1, " can be kept"));
  }
  return checkTurns();
}

Status Session::checkTurns() const {
  if (model_->ropes().empty()) {
    return unsupported(
        "rows cannot be dropped from the middle: the blob does not tell the rope of its keys; compile it again");
  }
  return Status::ok();
}

Status Session::truncate(uint32_t first, uint32_t last) {
  if (first > last || last > position_) {
    return outOfRange(concat("cannot drop tokens ", first, " to ", last, ": the session holds ", position_));
  }
  if (last == position_) return rewind(first);
  if (first == last) return Status::ok();
  FIRN_RETURN_IF_ERROR(checkTurns());
  const runtime::DefaultFloatingPoint defaults;  // rows are the same bits whatever the caller's rounding is
  const blob::ProgramHeader& header = model_->blob().header();
  const uint32_t moved = position_ - last;
  const uint32_t kvHeads = header.kvHeads;
  auto rope = model_->ropes().begin();
  for (uint32_t head = 0; head < layout_.heads; ++head) {
    layout_.move(cache_, head, last, first, moved);
    const bool isKey = head / kvHeads % 2 == 0;
    if (!isKey) continue;
    const uint32_t layer = head / kvHeads / 2;
    if (layer == rope->firstLayer + rope->layers) ++rope;
    if (layer == rope->firstLayer && head % kvHeads == 0) turn_.set(*rope, last - first);
    turn_.apply(*rope, {.type = header.kvType,
                        .headDim = header.headDim,
                        .count = moved,
                        .data = cache_.data() + layout_.offset(head, first),
                        .scales = reinterpret_cast<float*>(cache_.data() + layout_.scaleOffset(head, first))});
  }
  ids_.erase(ids_.begin() + first, ids_.begin() + last);
  exactTokens_ = std::min(exactTokens_, first);
  std::memset(&mask_[first + moved], 0, last - first);
  position_ = first + moved;
  return Status::ok();
}

}  // namespace firn::engine
