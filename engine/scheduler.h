// Many requests on one model: a queue, a fixed number of slots, and one thread that takes the steps of all of them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <thread>
#include <vector>

#include "base/status.h"
#include "engine/best_tokens.h"
#include "engine/model.h"
#include "engine/prefix_store.h"
#include "engine/session.h"

namespace firn::engine {

struct SchedulerOptions {
  uint32_t slots = 4;         ///< sessions at work at one time; memory for so many caches is taken at once
  uint32_t queueLength = 32;  ///< requests that may wait for a slot; 0: none waits
  /// While another request decodes or waits, a prompt uses only chunks that are predicted to take at most this, in
  /// picoseconds (200 ms), and the smallest ones of the blob, whatever they take.
  uint64_t sharedChunkPicoseconds = 200'000'000'000;
  SessionOptions session = {};  ///< of every slot; with a context shift an answer goes on behind the end of the cache
  /// Where prompts look for rows that no slot has; of the same model. Used by the stepping thread alone while the
  /// scheduler lives: what it is to hold is saved before. null: nowhere.
  std::shared_ptr<PrefixStore> prefixes = nullptr;
};

/// What a request sees when it is asked for a token. Valid during the call.
struct NextTokenInput {
  uint32_t answer = 0;              ///< number of the answer, below Request::answers
  std::span<const int32_t> tokens;  ///< of this answer so far
  std::span<const float> logits;    ///< f32[vocab]
  /// The Request::topK best, the best first, of equal ones the smaller id; fewer where logits are NaN.
  std::span<const ScoredToken> top;
};

/// What to compute. The functions are called by the stepping thread, one at a time, between steps: every session waits
/// for them. They may call submit and cancel, but not wait; they throw nothing. They may be called until
/// Ticket::isDone, so once more behind a cancel that meets a call, and of a ticket that was thrown away too: that
/// request runs on. They are destroyed by whoever lets go of the request last: the stepping thread, one that submits,
/// or one that throws a ticket away.
struct Request {
  std::vector<int32_t> prompt;
  /// The next token; nullopt ends the answer. A token outside the vocabulary fails the request.
  std::function<std::optional<int32_t>(const NextTokenInput&)> next;
  /// Between chunks of the prompt, with the tokens that are in the cache. Empty: none.
  std::function<void(uint32_t done, uint32_t total)> progress = {};
  uint32_t maxTokens = UINT32_MAX;  ///< of an answer; 1 and more. Without a context shift also what fits in the cache
  /// 1..1024, from one computation of the prompt; more than there are free slots take turns. The prompt is computed
  /// again, with `progress`, where a context shift dropped its rows from every slot.
  uint32_t answers = 1;
  /// 0..vocabulary; 0: NextTokenInput::top is empty. Up to ModelLimits::topTokens the device has them at hand; above,
  /// and for the first token of the second and further answers, they cost O(vocabulary log topK).
  uint32_t topK = 0;
};

enum class StopReason {
  kStop,       ///< the request said so
  kLength,     ///< maxTokens, or the cache is full and no context shift was asked for
  kCancelled,  ///< before its end
};

struct Answer {
  std::vector<int32_t> tokens;
  StopReason reason = StopReason::kCancelled;
  StageTimes times;  ///< of its steps; of a common step nanoseconds count in full for each session, weights in parts
};

struct Response {
  std::vector<Answer> answers;
  StageTimes promptTimes;          ///< also of a prompt that was cancelled
  uint32_t cachedTokens = 0;       ///< of the prompt, whose rows were in a slot or the prefix store
  uint64_t queuedNanoseconds = 0;  ///< until a slot was free; 0: never was
};

// Of the implementation: scheduler_rounds.h.
struct Job;
class SchedulerRounds;

/// A request that was accepted. All calls from any thread.
class Ticket {
 public:
  /// Ends it: its slots are free when the running chunk or step has ended. No effect on a finished one.
  void cancel();
  bool isDone() const;
  /// Waits for the end, and gives a copy. A cancelled request has the tokens that were there. Errors: those of the
  /// device, out_of_range (Request::next gave no token of the vocabulary). Not for the functions of a request: the
  /// thread that is waited for is the one that calls them.
  Result<Response> wait() const;

 private:
  friend class Scheduler;
  explicit Ticket(std::shared_ptr<Job> job) : job_(std::move(job)) {}
  std::shared_ptr<Job> job_;
};

/// How busy a scheduler is, as of the beginning of the running round.
struct SchedulerLoad {
  uint32_t freeSlots = 0;  ///< that a new request may have: none that a further answer is about to take
  uint32_t waiting = 0;    ///< requests without a slot, cancelled ones included; at most freeSlots + queueLength
};

/// Owns the stepping thread, which alone uses model, device and sessions: nobody else may while the scheduler lives.
/// submit and load from any thread. Requests wait in order. A request goes on in the free slot whose conversation it
/// continues: the whole last prompt of the slot is a prefix of the new one, and at least half of the rows serve; of
/// several the one with the longest prefix. Else it takes an empty slot, or the one used least recently, and the rows
/// of its longest prefix in any slot, a busy one too, are copied there. A round of the thread is a chunk of one prompt
/// (the prompts take turns), then a step of every session that decodes, as many at once as the largest batch of the
/// blob has rows. A decode step allocates nothing, until an answer has more tokens than the cache has rows. The tokens
/// of a request do not depend on the others. The thread takes no signals of the process.
class Scheduler {
 public:
  /// invalid_argument: no slots, a prefix store of another model; those of Session::create; resource_exhausted: the
  /// device refuses the memory, or the system a thread.
  static Result<std::unique_ptr<Scheduler>> create(std::shared_ptr<Model> model, const SchedulerOptions& options = {});
  /// Cancels all requests and joins the thread.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Before any work: invalid_argument (no tokens, no `next`, maxTokens 0, answers not in 1..1024), out_of_range (a
  /// prompt above maxPromptTokens, an id outside the vocabulary, topK above it), resource_exhausted (the queue is
  /// full).
  Result<Ticket> submit(Request request);

  SchedulerLoad load() const;

 private:
  Scheduler(std::shared_ptr<Model> model, const SchedulerOptions& options);
  Status checkRequest(const Request& request) const;
  void run();
  /// Waits for work and starts what can start; the requests that wait then, or nullopt when the thread is to end.
  std::optional<uint32_t> takeWork();
  /// The cancelled requests of the queue, which leave it. The mutex is held: to be finished without it, since the
  /// functions of a request may die then.
  std::vector<std::shared_ptr<Job>> takeCancelled();

  std::shared_ptr<Model> model_;
  SchedulerOptions options_;
  mutable std::mutex mutex_;  ///< of what follows
  std::condition_variable changed_;
  std::deque<std::shared_ptr<Job>> queue_;
  uint32_t freeSlots_ = 0;
  bool isStopping_ = false;
  std::unique_ptr<SchedulerRounds> rounds_;  ///< of the stepping thread alone
  std::thread thread_;
};

}  // namespace firn::engine
