#include "engine/scheduler.h"

#include <system_error>
#include <utility>

#include "base/concat.h"
#include "engine/scheduler_rounds.h"
#include "engine/token_ids.h"
#include "runtime/signals_blocked.h"

namespace firn::engine {
namespace {

constexpr uint32_t kMaxAnswers = 1024;

}  // namespace

void Ticket::cancel() { job_->isCancelled = true; }

bool Ticket::isDone() const {
  const std::lock_guard lock(job_->mutex);
  return job_->result.has_value();
}

Result<Response> Ticket::wait() const {
  std::unique_lock lock(job_->mutex);
  job_->changed.wait(lock, [&] { return job_->result.has_value(); });
  return *job_->result;
}

Scheduler::Scheduler(std::shared_ptr<Model> model, const SchedulerOptions& options)
    : model_(std::move(model)), options_(options), freeSlots_(options.slots) {}

Result<std::unique_ptr<Scheduler>> Scheduler::create(std::shared_ptr<Model> model, const SchedulerOptions& options) {
  std::unique_ptr<Scheduler> scheduler(new Scheduler(std::move(model), options));
  if (options.prefixes != nullptr && &options.prefixes->model() != scheduler->model_.get()) {
    return invalidArgument("the prefix store is of another model than the scheduler");
  }
  FIRN_ASSIGN_OR_RETURN(scheduler->rounds_, SchedulerRounds::create(scheduler->model_, options));
  const runtime::SignalsBlocked blocked;
  try {
    scheduler->thread_ = std::thread([self = scheduler.get()] { self->run(); });
  } catch (const std::system_error& error) {
    return resourceExhausted(concat("cannot start the stepping thread: ", error.what()));
  }
  return scheduler;
}

Scheduler::~Scheduler() {
  {
    const std::lock_guard lock(mutex_);
    isStopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  if (rounds_ != nullptr) rounds_->cancelAll();
  for (const std::shared_ptr<Job>& job : queue_) job->finish(std::move(job->response));
}

Status Scheduler::checkRequest(const Request& request) const {
  const ModelLimits& limits = model_->limits();
  if (!request.next) return invalidArgument("the request has no function that chooses tokens");
  if (request.maxTokens == 0) return invalidArgument("the request is for no token; ask for at least one");
  if (request.answers == 0 || request.answers > kMaxAnswers) {
    return invalidArgument(concat("the request is for ", request.answers, " answers, expected 1 to ", kMaxAnswers));
  }
  if (request.topK > limits.vocab) {
    return outOfRange(concat("the request is for the best ", request.topK, " tokens, the vocabulary has ", limits.vocab,
                             ": lower topK, or take all from NextTokenInput::logits"));
  }
  return checkPrompt(request.prompt, 0, limits);
}

Result<Ticket> Scheduler::submit(Request request) {
  FIRN_RETURN_IF_ERROR(checkRequest(request));
  auto job = std::make_shared<Job>();
  job->request = std::move(request);
  job->response.answers.resize(job->request.answers);
  job->submitted = std::chrono::steady_clock::now();
  std::vector<std::shared_ptr<Job>> dropped;
  const Status queued = [&]() -> Status {
    const std::lock_guard lock(mutex_);
    dropped = takeCancelled();
    // Those for whom a slot is free do not wait: the thread takes them when it comes round.
    if (queue_.size() >= size_t{freeSlots_} + options_.queueLength) {
      return resourceExhausted(concat("the queue is full: ", queue_.size(), " requests wait, for ", freeSlots_,
                                      " free slots and ", options_.queueLength,
                                      " places in the queue; try again when "
                                      "one has ended, or raise SchedulerOptions::queueLength"));
    }
    queue_.push_back(job);
    changed_.notify_all();
    return Status::ok();
  }();
  for (const std::shared_ptr<Job>& other : dropped) other->finish(std::move(other->response));
  FIRN_RETURN_IF_ERROR(queued);
  return Ticket(std::move(job));
}

SchedulerLoad Scheduler::load() const {
  const std::lock_guard lock(mutex_);
  return {.freeSlots = freeSlots_, .waiting = static_cast<uint32_t>(queue_.size())};
}

std::vector<std::shared_ptr<Job>> Scheduler::takeCancelled() {
  std::vector<std::shared_ptr<Job>> cancelled;
  std::erase_if(queue_, [&](const std::shared_ptr<Job>& job) {
    const bool isCancelled = job->isCancelled;  // read once: it may become true at any time
    if (isCancelled) cancelled.push_back(job);
    return isCancelled;
  });
  return cancelled;
}

std::optional<uint32_t> Scheduler::takeWork() {
  rounds_->endCancelled();
  std::vector<std::shared_ptr<Job>> dropped;
  std::unique_lock lock(mutex_);
  // What ended gave its seats back: whoever waits comes before further answers of those at work.
  freeSlots_ = rounds_->freeSeats();
  changed_.wait(lock, [&] { return isStopping_ || !queue_.empty() || !rounds_->isIdle(); });
  if (isStopping_) return std::nullopt;
  dropped = takeCancelled();
  // Whenever the mutex is free, freeSlots_ are those that no request has and no answer is about to take.
  while (!queue_.empty() && rounds_->freeSeats() > 0) {
    std::shared_ptr<Job> job = std::move(queue_.front());
    queue_.pop_front();
    freeSlots_ = rounds_->freeSeats() - 1;
    lock.unlock();
    rounds_->start(std::move(job));
    lock.lock();
    freeSlots_ = rounds_->freeSeats();
  }
  freeSlots_ -= rounds_->wantedSeats();
  const auto waiting = static_cast<uint32_t>(queue_.size());
  lock.unlock();
  for (const std::shared_ptr<Job>& job : dropped) job->finish(std::move(job->response));
  rounds_->fillSeats();
  return waiting;
}

void Scheduler::run() {
  while (const std::optional<uint32_t> waiting = takeWork()) rounds_->round(*waiting);
}

}  // namespace firn::engine
