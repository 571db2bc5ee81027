// One conversation: a KV cache of fixed size and the position in it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/kv_rows.h"
#include "engine/model.h"
#include "engine/prefill_plan.h"
#include "engine/slot_pool.h"
#include "engine/stage_times.h"

namespace firn::engine {

class PrefixStore;

struct SessionOptions {
  /// true: a step into a full cache drops a quarter of the rows and goes on; false: it is refused. A prompt is limited
  /// all the same: with what stands before it, it has at most maxPromptTokens.
  bool contextShift = false;
  uint32_t keepRows = 4;  ///< the first rows, which a shift never drops (attention sinks); below T - T / 4
};

/// Whether sessions of a cache of `kvRows` rows can have these options; invalid_argument says how many rows a shift can
/// keep.
Status checkShift(const SessionOptions& options, uint32_t kvRows);

/// A slot of a pool and what its rows hold; all memory is there at creation, and nothing is allocated by decode().
/// Every step binds the smallest variant that fits to the same memory. Not thread-safe; one session of a model may run
/// at a time. Keeps its model and pool alive.
///
/// Sessions of one pool share its inputs and outputs: logits are valid until the next call of any of them. A session
/// made without a pool has one of its own, of one slot.
///
/// A session knows the id of every token in its cache. A row is *exact* when it is what a fresh session would compute
/// for the same ids, and *derived* when it, or a row it has seen, was computed while it saw tokens that are gone. The
/// derived rows are the last ones: they never stand for a new prompt.
class Session {
 public:
  /// resource_exhausted when the device refuses the memory. With a context shift: invalid_argument (keepRows too
  /// large), unsupported (a model whose keys cannot be turned, see truncate).
  static Result<std::unique_ptr<Session>> create(std::shared_ptr<Model> model, const SessionOptions& options = {});
  /// In a free slot of `pool`; resource_exhausted when there is none.
  static Result<std::unique_ptr<Session>> create(const std::shared_ptr<SlotPool>& pool,
                                                 const SessionOptions& options = {});
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;

  /// Called between chunks with the tokens done so far; false cancels.
  using Progress = std::function<bool(uint32_t done, uint32_t total)>;
  /// Receives the logits f32[count, vocab] of positions first .. first + count - 1; valid during the call.
  using LogitsSink = std::function<Status(uint32_t first, uint32_t count, std::span<const float> logits)>;

  /// The logits of a prompt, and how much of it was in the cache.
  struct Prompted {
    std::span<const float> logits;  ///< f32[vocab], those that follow the last token; valid until the next call
    uint32_t cachedTokens = 0;      ///< tokens of the prompt whose rows were kept; at most n - 1
  };

  struct PromptOptions {
    Progress progress = {};           ///< empty: none
    PrefixStore* prefixes = nullptr;  ///< of the same model; where to look for more than the session has. null: nowhere
  };

  /// Makes `ids` the content of the session, with the longest common prefix of the cached ids and `ids` kept and only
  /// the rest computed; of an identical prompt the last position is. The logits are the same bits as those of a fresh
  /// session. A longer prefix in the store is copied from there. Errors as of prefill, and invalid_argument (a store of
  /// another model), before any work; cancelled: the tokens of the finished chunks stay.
  Result<Prompted> prompt(std::span<const int32_t> ids, const PromptOptions& options);
  Result<Prompted> prompt(std::span<const int32_t> ids) { return prompt(ids, {}); }

  /// Appends `ids` and returns the logits f32[vocab] that follow the last one, valid until the next call.
  /// Before any work: invalid_argument (no ids), out_of_range (more than maxPromptTokens in all, or an id outside the
  /// vocabulary). cancelled: the tokens of the finished chunks stay.
  Result<std::span<const float>> prefill(std::span<const int32_t> ids, const Progress& progress = {});

  /// The first part of prompt(), for a caller that does other work between chunks: the content becomes the longest
  /// common prefix of the cached ids (or the store) and `ids`, and at most all but the last of them. Returns its
  /// length; the rest is for appendChunk. Errors as of prompt.
  Result<uint32_t> reuse(std::span<const int32_t> ids, PrefixStore* prefixes = nullptr);

  /// What appendChunk did.
  struct Chunk {
    uint32_t tokens = 0;              ///< that were appended, at least 1
    std::span<const float> logits{};  ///< f32[vocab] when these were all of them, else empty; valid as those of prefill
  };
  /// Appends the first of `ids` in one submission (and the head when none is left): the first step of the cheapest
  /// cover by chunks that are predicted to take at most `maxPicoseconds` (planPrefill). Errors as of prefill.
  Result<Chunk> appendChunk(std::span<const int32_t> ids, uint64_t maxPicoseconds = UINT64_MAX);

  /// Appends `ids` as prefill does, and gives the logits of every position to `sink`, in order. Errors as of prefill,
  /// and what `sink` gives; then the tokens of the chunk it was given stay, those of later chunks are not there.
  Status evaluate(std::span<const int32_t> ids, const LogitsSink& sink);

  /// Appends one id and returns the logits f32[vocab] that follow it, valid until the next call.
  /// out_of_range: not in the vocabulary; resource_exhausted: all T rows hold tokens, and no context shift was asked
  /// for.
  Result<std::span<const float>> decode(int32_t id);

  /// decode() of several sessions of one pool in one step: ids[i] for sessions[i]. Returns the logits f32[n, vocab],
  /// valid until the next call of any of them; the bits are those of lone steps. As many sessions as the largest batch
  /// of the blob has rows (1 when it has none). Before any work, with the number of the session: invalid_argument (more
  /// than that, or not distinct sessions of one pool with one id each), and what decode refuses. A failure of the
  /// device leaves the sessions as they were, but for context shifts.
  static Result<std::span<const float>> decodeTogether(std::span<Session* const> sessions,
                                                       std::span<const int32_t> ids);

  /// The best tokens of the logits that a call gave last, those of `row` where it gave several rows: in order, as many
  /// as `best` has room for; of equal ones the smaller id, NaN never. Returns how many there are: 0 where there is no
  /// such row, as behind rewind, truncate, fork and load, which give no logits (a prompt() again computes its last
  /// token alone). Valid as long as the logits are, which are those of the pool's last call. Up to
  /// ModelLimits::topTokens they come from the device, above that they cost O(vocabulary log best).
  size_t best(std::span<ScoredToken> best, uint32_t row = 0) const;

  /// Tokens in the cache.
  uint32_t position() const { return position_; }
  /// Their ids, i32[position()]; valid until the next call.
  std::span<const int32_t> ids() const { return ids_; }
  /// The first so many rows are exact, the others derived.
  uint32_t exactTokens() const { return exactTokens_; }
  /// Keeps the first `tokens` tokens; O(rows dropped), no row moves. out_of_range when there are fewer.
  Status rewind(uint32_t tokens);

  /// Drops tokens [first, last). The rows behind them move up, and their keys are turned to their new positions
  /// (rope_turn.h); these rows, and all that come after, are derived. O(rows behind), allocates nothing. out_of_range:
  /// no such tokens; unsupported, before any change: the card does not tell the rope. At the end it is a rewind, which
  /// any model allows.
  Status truncate(uint32_t first, uint32_t last);

  /// A second session with the same content, its rows copied once; each goes its own way from there. It takes a free
  /// slot of the pool (resource_exhausted: there is none), or memory of its own when this one has no pool to share
  /// (resource_exhausted: the device refuses).
  Result<std::unique_ptr<Session>> fork() const;

  /// Makes the first `tokens` tokens of `from` the content of this session; only rows that it lacks are copied.
  /// Allocates nothing. invalid_argument: a session of another model; out_of_range: more than `from` has exact ones.
  Status copyPrefix(const Session& from, uint32_t tokens);

  /// Writes ids, valid rows and what they depend on to `path` (docs/snapshot_format.md), in whole or not at all.
  Status save(const std::string& path) const;
  /// Makes the content of a saved session the content of this one. The whole file is verified first: on any failure the
  /// session is as it was. not_found, io; corrupt; version_mismatch, which names the field that differs (format, model,
  /// arithmetic, layout, KV type, ...).
  Status load(const std::string& path);

  /// The cost and steps that prefill would take for `tokens` more tokens, were it not for maxPromptTokens, which is for
  /// prefill to refuse. invalid_argument: none; out_of_range: more than there are rows left.
  Result<PrefillPlan> plan(uint32_t tokens) const;

  /// The whole cache, as KvLayout says. For snapshots and tests; rows at or beyond position() may hold
  /// anything.
  std::span<std::byte> cache() const { return slot_.cache(); }
  /// Of the last prompt (by prompt() or prefill()) and the steps since; valid until the next call.
  const StageTimes& times() const { return times_; }
  /// The same, and all times start from zero again.
  StageTimes takeTimes() { return std::exchange(times_, {}); }
  const SessionOptions& options() const { return options_; }
  const Model& model() const { return *model_; }

 private:
  Session(KvSlot slot, const SessionOptions& options);
  Status checkOptions() const;
  Status checkTurns() const;
  /// Chooses the pages of the cache before rows up to `rows` are written.
  void preparePages(uint32_t rows);
  /// The rows of the first ids.size() tokens are in the cache: makes mask, position and ids say so.
  void adopt(std::span<const int32_t> ids, uint32_t exactTokens);
  Result<std::span<const float>> append(std::span<const int32_t> ids, const Progress& progress);
  /// Rows of the store behind the first `cached` ones, where they are more. Returns how many tokens are there then.
  uint32_t restore(std::span<const int32_t> ids, uint32_t cached, PrefixStore& prefixes);
  /// runStep, with its time.
  Status runChunk(const PlanStep& step, std::span<const int32_t> ids);
  /// The logits of the last token of a prompt, which `step` appended.
  Result<std::span<const float>> lastLogits(const PlanStep& step);
  Status runStep(const PlanStep& step, std::span<const int32_t> ids);
  /// The batch step of `sessions`, by this one, which is one of them; none has advanced yet.
  Status runTogether(const Variant& variant, std::span<Session* const> sessions, std::span<const int32_t> ids);
  /// May it take `id` in a common step with `before`? Changes nothing.
  Status checkMember(std::span<Session* const> before, int32_t id) const;
  /// Drops what a shift drops when the cache is full.
  Status makeRoom();
  /// resource_exhausted.
  Status fullCache() const;
  /// The rows of `ids` have been written behind the others by a step that read `weightBytes` for this session.
  void advance(std::span<const int32_t> ids, uint64_t weightBytes);
  /// Logits of the hidden rows from `firstRow` on, as many as the head has: a head always computes all its rows.
  Status runHead(const Variant& head, uint32_t firstRow);
  Status headOfRows(uint32_t rows, uint32_t firstPosition, const LogitsSink& sink);
  Status submit(uint32_t entry, const runtime::Bindings& bindings);
  StepIo& io() const { return slot_.pool()->io(); }

  std::shared_ptr<Model> model_;
  SessionOptions options_;
  KvSlot slot_;
  std::span<std::byte> cache_;
  std::span<uint8_t> mask_;
  bool sharesPool_ = true;
  bool hasSmallPages_ = false;  ///< of the cache
  RopeTurn turn_;
  KvLayout layout_;
  StageTimes times_;
  uint32_t position_ = 0;
  uint32_t exactTokens_ = 0;
  bool hasLogits_ = false;  ///< those behind the last token are in the pool's StepIo, unless another session ran since
  std::vector<int32_t> ids_;  ///< position_ of them, room for T
};

}  // namespace firn::engine
