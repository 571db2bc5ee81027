// What the stepping thread of a scheduler does, without the thread: slots with a session each, and rounds of steps over
// them. Not here: the queue and the calls of other threads (scheduler.h).
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "engine/scheduler.h"

namespace firn::engine {

/// A request from submit to its end.
struct Job {
  Request request;
  std::chrono::steady_clock::time_point submitted;
  std::atomic<bool> isCancelled = false;

  // Of whoever has taken the job out of the queue: the stepping thread, or one that drops what was cancelled.
  Response response;
  bool isPromptDone = false;     ///< and `logits` are there
  uint32_t begun = 0;            ///< answers
  uint32_t ended = 0;            ///< answers
  std::vector<float> logits;     ///< behind the prompt, where there are more answers than one
  std::vector<ScoredToken> top;  ///< room for topK

  /// Hands the result to those who wait for it.
  void finish(Result<Response> value);

  mutable std::mutex mutex;  ///< of what follows
  mutable std::condition_variable changed;
  std::optional<Result<Response>> result;
};

/// Slots and what is done in them. One thread at a time.
class SchedulerRounds {
 public:
  static Result<std::unique_ptr<SchedulerRounds>> create(std::shared_ptr<Model> model, const SchedulerOptions& options);

  uint32_t freeSeats() const;
  bool isIdle() const { return freeSeats() == seats_.size(); }
  /// Free seats that fillSeats is going to take.
  uint32_t wantedSeats() const;
  /// Puts a job into a free seat, of which there is one.
  void start(std::shared_ptr<Job> job);
  /// Ends what was cancelled.
  void endCancelled();
  /// Lets answers that wait for a seat have the free ones.
  void fillSeats();
  /// A chunk of one prompt, then a step of all that decode. `waiting`: requests that have no seat.
  void round(uint32_t waiting);
  /// Ends all jobs.
  void cancelAll();

 private:
  enum class State {
    kFree,
    kPrompt,  ///< its prompt is not all in the cache
    kReady,   ///< the prompt is, and the next answer can begin
    kDecode,  ///< `token` is to be appended
  };
  struct Seat {
    std::unique_ptr<Session> session;
    State state = State::kFree;
    std::shared_ptr<Job> job;
    uint32_t answer = 0;
    int32_t token = 0;
    uint32_t promptTokens = 0;  ///< of the last job
    uint64_t lastUse = 0;
  };
  /// What follows the last token of an answer.
  struct Logits {
    std::span<const float> values;
    std::optional<uint32_t> row = std::nullopt;  ///< of the last step, whose logits they are; none: of an earlier one
  };
  using Members = std::array<Seat*, blob::kMaxBatchRows>;

  explicit SchedulerRounds(const SchedulerOptions& options) : options_(options) {}
  Seat& chooseSeat(std::span<const int32_t> prompt);
  /// Gives a free seat to the job, with what any seat or the store has of its prompt. Returns how many tokens.
  Result<uint32_t> take(Seat& seat, const std::shared_ptr<Job>& job);
  /// Answers of the job that have not begun and have no seat.
  uint32_t unseated(const Job& job) const;
  bool hasSeat(const Job& job) const;
  /// Gives a free seat to an answer of a job whose prompt has been computed.
  void lend(Seat& seat, const std::shared_ptr<Job>& job);
  void promptChunk(uint32_t waiting);
  void decodeAll();
  void decode(std::span<Seat* const> members);
  void beginAnswer(Seat& seat, const Logits& logits);
  /// Asks the request of a seat for its next token.
  void takeToken(Seat& seat, const Logits& logits);
  void endAnswer(Seat& seat, StopReason reason);
  void free(Seat& seat);
  /// Frees all seats of the job and finishes it, with its response or a failure.
  void endJob(std::shared_ptr<Job> job, Status status = Status::ok());

  SchedulerOptions options_;
  std::shared_ptr<SlotPool> pool_;
  std::vector<Seat> seats_;
  size_t nextPrompt_ = 0;  ///< the seat whose prompt has the next turn
  uint64_t uses_ = 0;
};

}  // namespace firn::engine
