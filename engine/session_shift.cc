// Dropping tokens from the middle of a session.
#include <algorithm>
#include <cstring>

#include "base/concat.h"
#include "engine/session.h"
#include "runtime/floating_point.h"

namespace firn::engine {

Status checkShift(const SessionOptions& options, uint32_t kvRows) {
  if (!options.contextShift) return Status::ok();
  if (kvRows < 4) {
    return invalidArgument(concat("a context shift drops a quarter of the cache, which has ", kvRows, " rows"));
  }
  if (options.keepRows < kvRows - kvRows / 4) return Status::ok();
  return invalidArgument(concat("a context shift cannot keep ", options.keepRows, " rows: of ", kvRows, " it drops ",
                                kvRows / 4, ", so at most ", kvRows - kvRows / 4 - 1, " can be kept"));
}

Status Session::checkOptions() const {
  FIRN_RETURN_IF_ERROR(checkShift(options_, model_->limits().kvRows));
  return options_.contextShift ? checkTurns() : Status::ok();
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
