// Saved prefixes (a system prompt) that every session of a model may start from, under a memory limit.
// Not on disk: a snapshot (session.h) is.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "base/page_buffer.h"
#include "base/status.h"
#include "engine/kv_rows.h"

namespace firn::engine {

class Model;
class Session;

/// Copies of cache rows with the ids they belong to, found by ids (not by a hash of them). The least recently used
/// prefix goes when room is needed. Holds exact rows only. Used by one thread at a time, that of the sessions. Keeps
/// its model alive.
class PrefixStore {
 public:
  /// `limitBytes`: of rows and ids in all.
  PrefixStore(std::shared_ptr<Model> model, uint64_t limitBytes);

  /// Copies the rows of the first `tokens` tokens of `session`. A stored prefix of them is replaced; when they are a
  /// prefix of a stored one, that is used instead. invalid_argument: no tokens, or a session of another model;
  /// out_of_range: more than the session has, or than it has exact ones; resource_exhausted: more than the limit
  /// allows.
  Status save(const Session& session, uint32_t tokens);

  /// What the store knows of the beginning of a prompt.
  struct Match {
    uint32_t tokens = 0;              ///< the longest common prefix of the prompt and any stored one
    uint32_t stored = 0;              ///< rows of each head in `rows`
    std::span<const std::byte> rows;  ///< packed; valid until the next save
  };
  /// Counts as a use of what it finds.
  Match find(std::span<const int32_t> ids);

  const Model& model() const { return *model_; }
  /// Stored prefixes, and their bytes.
  uint32_t size() const { return static_cast<uint32_t>(prefixes_.size()); }
  uint64_t bytes() const { return bytes_; }

 private:
  struct Prefix {
    std::vector<int32_t> ids;
    PageBuffer rows;
    uint64_t bytes = 0;
  };
  using Place = std::list<Prefix>::iterator;

  void drop(Place place);

  std::shared_ptr<Model> model_;
  KvLayout layout_;
  uint64_t limitBytes_;
  uint64_t bytes_ = 0;
  std::list<Prefix> prefixes_;  ///< the last used first
};

}  // namespace firn::engine
