#include "engine/prefix_store.h"

#include <iterator>
#include <utility>

#include "base/concat.h"
#include "engine/session.h"
#include "engine/token_ids.h"

namespace firn::engine {

PrefixStore::PrefixStore(std::shared_ptr<Model> model, uint64_t limitBytes)
    : model_(std::move(model)), layout_(KvLayout::of(model_->blob().header())), limitBytes_(limitBytes) {}

void PrefixStore::drop(Place place) {
  bytes_ -= place->bytes;
  prefixes_.erase(place);
}

Status PrefixStore::save(const Session& session, uint32_t tokens) {
  if (&session.model() != model_.get()) return invalidArgument("the session is of another model than the prefix store");
  if (tokens == 0) return invalidArgument("a prefix has at least one token");
  if (tokens > session.position()) {
    return outOfRange(concat("a prefix of ", tokens, " tokens of a session that holds ", session.position()));
  }
  if (tokens > session.exactTokens()) {
    return outOfRange(concat("a prefix of ", tokens, " tokens would hold derived rows: the first ",
                             session.exactTokens(), " of the session are exact"));
  }
  const auto ids = session.ids().first(tokens);
  for (Place place = prefixes_.begin(); place != prefixes_.end(); ++place) {
    if (commonPrefix(ids, place->ids) == tokens) {
      prefixes_.splice(prefixes_.begin(), prefixes_, place);
      return Status::ok();
    }
  }
  const uint64_t rowBytes = layout_.packedBytes(tokens);
  const uint64_t bytes = rowBytes + ids.size_bytes();
  if (bytes > limitBytes_) {
    return resourceExhausted(concat("a prefix of ", tokens, " tokens takes ", bytes, " bytes; the prefix store has ",
                                    limitBytes_, " in all"));
  }
  FIRN_ASSIGN_OR_RETURN(PageBuffer rows, PageBuffer::allocate(rowBytes));
  for (Place place = prefixes_.begin(); place != prefixes_.end();) {
    const Place next = std::next(place);
    if (commonPrefix(ids, place->ids) == place->ids.size()) drop(place);
    place = next;
  }
  while (bytes_ + bytes > limitBytes_) drop(std::prev(prefixes_.end()));
  layout_.pack(session.cache(), tokens, rows.bytes());
  prefixes_.push_front({.ids = {ids.begin(), ids.end()}, .rows = std::move(rows), .bytes = bytes});
  bytes_ += bytes;
  return Status::ok();
}

PrefixStore::Match PrefixStore::find(std::span<const int32_t> ids) {
  Place best = prefixes_.end();
  uint32_t tokens = 0;
  for (Place place = prefixes_.begin(); place != prefixes_.end(); ++place) {
    const uint32_t common = commonPrefix(ids, place->ids);
    if (common > tokens) {
      best = place;
      tokens = common;
    }
  }
  if (best == prefixes_.end()) return {};
  prefixes_.splice(prefixes_.begin(), prefixes_, best);
  return {
      .tokens = tokens, .stored = static_cast<uint32_t>(best->ids.size()), .rows = std::as_const(best->rows).bytes()};
}

}  // namespace firn::engine
