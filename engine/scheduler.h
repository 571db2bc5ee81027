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
#include "engine/model.h"
#include "engine/session.h"

namespace firn::engine {

struct SchedulerOptions {
  uint32_t slots = 4;         ///< sessions at work at one time; memory for so many caches is taken at once
  uint32_t queueLength = 32;  ///< requests that may wait for a slot; 0: none waits
  /// While another request decodes or waits, a prompt uses only chunks that are predicted to take at most this, in
  /// picoseconds (200 ms): nobody waits longer for another's prompt.
  uint64_t sharedChunkPicoseconds = 200'000'000'000;
};

struct ScoredToken {
  int32_t id = 0;
  float logit = 0;
};

/// What a request sees when it is asked for a token. Valid during the call.
struct NextTokenInput {
  uint32_t answer = 0;               ///< number of the answer, below Request::answers
  std::span<const int32_t> tokens;   ///< of this answer so far
  std::span<const float> logits;     ///< f32[vocab]
  std::span<const ScoredToken> top;  ///< the Request::topK best, the best first, of equal ones the smaller id
};

/// What to compute. The functions are called by the stepping thread, one at a time, between steps: every session waits
/// for them. They may call submit and cancel, but not wait; they throw nothing.
struct Request {
  std::vector<int32_t> prompt;
  /// The next token; nullopt ends the answer. A token outside the vocabulary fails the request.
  std::function<std::optional<int32_t>(const NextTokenInput&)> next;
  /// Between chunks of the prompt, with the tokens that are in the cache. Empty: none.
  std::function<void(uint32_t done, uint32_t total)> progress = {};
  uint32_t maxTokens = UINT32_MAX;  ///< of an answer; 1 and more. What fits in the cache is the limit in any case
  uint32_t answers = 1;  ///< 1..1024, from one computation of the prompt; more than there are free slots take turns
  uint32_t topK = 0;     ///< 0: NextTokenInput::top is empty
};

enum class StopReason {
  kStop,       ///< the request said so
  kLength,     ///< maxTokens, or the cache is full
  kCancelled,  ///< before its end
};

struct Answer {
  std::vector<int32_t> tokens;
  StopReason reason = StopReason::kCancelled;
  StageTimes times;  ///< of its steps; a step counts in full for each session that took part
};

struct Response {
  std::vector<Answer> answers;
  StageTimes promptTimes;
  uint32_t cachedTokens = 0;       ///< of the prompt, which were in the slot
  uint64_t queuedNanoseconds = 0;  ///< until a slot was free
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

/// How busy a scheduler is.
struct SchedulerLoad {
  uint32_t freeSlots = 0;
  uint32_t waiting = 0;
};

/// Owns the stepping thread, which alone uses model, device and sessions: nobody else may while the scheduler lives.
/// submit and load from any thread. Requests wait in order. A request takes the free slot that holds the longest common
/// prefix of its prompt, of equal ones the one that was used least recently. A round of the thread is a chunk of one
/// prompt (the prompts take turns), then a step of every session that decodes, as many at once as the largest batch of
/// the blob has rows. A decode step allocates nothing. The tokens of a request do not depend on the others.
class Scheduler {
 public:
  /// invalid_argument: no slots; resource_exhausted: the device refuses the memory, or the system a thread.
  static Result<std::unique_ptr<Scheduler>> create(std::shared_ptr<Model> model, const SchedulerOptions& options = {});
  /// Cancels all requests and joins the thread.
  ~Scheduler();
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;

  /// Before any work: invalid_argument (no tokens, no `next`, maxTokens 0, answers not in 1..1024), out_of_range (a
  /// prompt above maxPromptTokens, an id outside the vocabulary), resource_exhausted (the queue is full).
  Result<Ticket> submit(Request request);

  SchedulerLoad load() const;

 private:
  Scheduler(std::shared_ptr<Model> model, const SchedulerOptions& options);
  Status checkRequest(const Request& request) const;
  void run();
  /// Waits for work and starts what can start; the requests that wait then, or nullopt when the thread is to end.
  std::optional<uint32_t> takeWork();
  /// Ends the cancelled requests of the queue. The mutex is held.
  void dropCancelled();

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
