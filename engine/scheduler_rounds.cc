#include "engine/scheduler_rounds.h"

#include <algorithm>
#include <utility>

#include "base/concat.h"

namespace firn::engine {
namespace {

size_t commonPrefix(std::span<const int32_t> a, std::span<const int32_t> b) {
  return static_cast<size_t>(std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first - a.begin());
}

/// Tokens of `prompt` whose rows the session has.
size_t reusable(const Session& session, std::span<const int32_t> prompt) {
  return commonPrefix(prompt, session.ids().first(session.exactTokens()));
}

}  // namespace

void Job::finish(Result<Response> value) {
  const std::lock_guard lock(mutex);
  result.emplace(std::move(value));
  changed.notify_all();
}

size_t bestTokens(std::span<const float> logits, std::span<ScoredToken> best) {
  size_t count = 0;
  for (size_t id = 0; id < logits.size(); ++id) {
    const float logit = logits[id];
    if (!(logit == logit)) continue;
    if (count == best.size() && (count == 0 || logit <= best[count - 1].logit)) continue;
    if (count < best.size()) ++count;
    size_t at = count - 1;
    for (; at > 0 && best[at - 1].logit < logit; --at) best[at] = best[at - 1];
    best[at] = {static_cast<int32_t>(id), logit};
  }
  return count;
}

Result<std::unique_ptr<SchedulerRounds>> SchedulerRounds::create(std::shared_ptr<Model> model,
                                                                 const SchedulerOptions& options) {
  std::unique_ptr<SchedulerRounds> rounds(new SchedulerRounds(options));
  FIRN_ASSIGN_OR_RETURN(rounds->pool_, SlotPool::create(std::move(model), options.slots));
  rounds->seats_.resize(options.slots);
  for (Seat& seat : rounds->seats_) {
    FIRN_ASSIGN_OR_RETURN(seat.session, Session::create(rounds->pool_));
  }
  return rounds;
}

uint32_t SchedulerRounds::freeSeats() const {
  return static_cast<uint32_t>(std::ranges::count(seats_, State::kFree, &Seat::state));
}

SchedulerRounds::Seat& SchedulerRounds::chooseSeat(std::span<const int32_t> prompt) {
  Seat* best = nullptr;
  size_t bestPrefix = 0;
  for (Seat& seat : seats_) {
    if (seat.state != State::kFree) continue;
    const size_t prefix = reusable(*seat.session, prompt);
    const bool isBetter =
        best == nullptr || prefix > bestPrefix || (prefix == bestPrefix && seat.lastUse < best->lastUse);
    if (!isBetter) continue;
    best = &seat;
    bestPrefix = prefix;
  }
  return *best;
}

void SchedulerRounds::start(std::shared_ptr<Job> job) {
  const auto queued = std::chrono::steady_clock::now() - job->submitted;
  job->response.queuedNanoseconds = static_cast<uint64_t>(queued / std::chrono::nanoseconds(1));
  job->top.resize(std::min<size_t>(job->request.topK, pool_->model()->limits().vocab));
  Seat& seat = chooseSeat(job->request.prompt);
  seat.state = State::kPrompt;
  seat.job = std::move(job);
  const auto cached = seat.session->reuse(seat.job->request.prompt);
  if (!cached) return endJob(seat.job, cached.status());
  seat.job->response.cachedTokens = *cached;
}

SchedulerRounds::Seat* SchedulerRounds::ownerOf(const Job& job) {
  const auto found = std::ranges::find_if(seats_, [&](const Seat& seat) { return seat.job.get() == &job; });
  return found == seats_.end() ? nullptr : &*found;
}

Status SchedulerRounds::lend(Seat& seat, const std::shared_ptr<Job>& job) {
  const auto& prompt = job->request.prompt;
  if (reusable(*seat.session, prompt) < prompt.size()) {
    seat.session.reset();  // its slot is the one that the fork takes
    auto copy = ownerOf(*job)->session->fork();
    if (!copy) {
      FIRN_ASSIGN_OR_RETURN(seat.session, Session::create(pool_));
      return copy.status();
    }
    seat.session = *std::move(copy);
  }
  FIRN_RETURN_IF_ERROR(seat.session->rewind(static_cast<uint32_t>(prompt.size())));
  seat.job = job;
  seat.state = State::kReady;
  return Status::ok();
}

void SchedulerRounds::fillSeats() {
  for (Seat& seat : seats_) {
    if (seat.job != nullptr && seat.job->isCancelled) endJob(seat.job, std::move(seat.job->response));
  }
  for (size_t i = 0; i < seats_.size() && freeSeats() > 0; ++i) {
    const std::shared_ptr<Job> job = seats_[i].job;
    if (job == nullptr || seats_[i].state == State::kPrompt) continue;
    uint32_t promised = static_cast<uint32_t>(std::ranges::count_if(
        seats_, [&](const Seat& seat) { return seat.job == job && seat.state == State::kReady; }));
    for (; job->begun + promised < job->request.answers && freeSeats() > 0; ++promised) {
      if (Status status = lend(chooseSeat(job->request.prompt), job); !status.isOk()) {
        endJob(job, std::move(status));
        break;
      }
    }
  }
}

void SchedulerRounds::round(uint32_t waiting) {
  for (Seat& seat : seats_) {
    if (seat.state == State::kReady) beginAnswer(seat, seat.job->logits);
  }
  promptChunk(waiting);
  decodeAll();
}

void SchedulerRounds::promptChunk(uint32_t waiting) {
  Seat* seat = nullptr;
  for (size_t i = 0; i < seats_.size() && seat == nullptr; ++i) {
    const size_t at = (nextPrompt_ + i) % seats_.size();
    if (seats_[at].state != State::kPrompt) continue;
    seat = &seats_[at];
    nextPrompt_ = at + 1;
  }
  if (seat == nullptr) return;
  Job& job = *seat->job;
  const std::span<const int32_t> prompt = job.request.prompt;
  const uint32_t done = seat->session->position();
  if (job.request.progress) job.request.progress(done, static_cast<uint32_t>(prompt.size()));
  if (job.isCancelled) return;  // fillSeats ends it
  const bool isAlone = waiting == 0 && freeSeats() + 1 == seats_.size();
  const auto chunk =
      seat->session->appendChunk(prompt.subspan(done), isAlone ? UINT64_MAX : options_.sharedChunkPicoseconds);
  if (!chunk) return endJob(seat->job, chunk.status());
  if (chunk->logits.empty()) return;
  job.response.promptTimes = seat->session->takeTimes();
  if (job.request.answers > 1) job.logits.assign(chunk->logits.begin(), chunk->logits.end());
  beginAnswer(*seat, chunk->logits);
}

void SchedulerRounds::decodeAll() {
  const auto& batches = pool_->model()->variants().batches();
  const size_t most = batches.empty() ? 1 : batches.back();
  Members members{};
  size_t count = 0;
  for (size_t i = 0; i < seats_.size(); ++i) {
    if (seats_[i].state == State::kDecode) members[count++] = &seats_[i];
    if (count == 0 || (count < most && i + 1 < seats_.size())) continue;
    decode(std::span(members).first(count));
    count = 0;
  }
}

void SchedulerRounds::decode(std::span<Seat* const> members) {
  std::array<Session*, blob::kMaxBatchRows> sessions{};
  std::array<int32_t, blob::kMaxBatchRows> tokens{};
  std::array<const Job*, blob::kMaxBatchRows> jobs{};
  for (size_t i = 0; i < members.size(); ++i) {
    sessions[i] = members[i]->session.get();
    tokens[i] = members[i]->token;
    jobs[i] = members[i]->job.get();
  }
  const auto logits =
      Session::decodeTogether(std::span(sessions).first(members.size()), std::span(tokens).first(members.size()));
  const size_t vocab = pool_->model()->limits().vocab;
  for (size_t i = 0; i < members.size(); ++i) {
    Seat& seat = *members[i];
    if (seat.job.get() != jobs[i]) continue;  // it ended with another seat of its job
    if (logits) {
      takeToken(seat, logits->subspan(i * vocab, vocab));
    } else {
      endJob(seat.job, logits.status());
    }
  }
}

void SchedulerRounds::beginAnswer(Seat& seat, std::span<const float> logits) {
  Job& job = *seat.job;
  const ModelLimits& limits = pool_->model()->limits();
  seat.answer = job.begun++;
  const uint32_t room = limits.kvRows - seat.session->position() + 1;
  job.response.answers[seat.answer].tokens.reserve(std::min(job.request.maxTokens, room));
  seat.session->takeTimes();
  takeToken(seat, logits);
}

void SchedulerRounds::takeToken(Seat& seat, std::span<const float> logits) {
  Job& job = *seat.job;
  std::vector<int32_t>& tokens = job.response.answers[seat.answer].tokens;
  const size_t best = bestTokens(logits, job.top);
  const std::optional<int32_t> token = job.request.next(
      {.answer = seat.answer, .tokens = tokens, .logits = logits, .top = std::span(job.top).first(best)});
  if (!token) return endAnswer(seat, StopReason::kStop);
  const ModelLimits& limits = pool_->model()->limits();
  if (*token < 0 || static_cast<uint32_t>(*token) >= limits.vocab) {
    return endJob(seat.job, outOfRange(concat("the request chose token ", *token, "; the vocabulary has ids 0 to ",
                                              limits.vocab - 1)));
  }
  tokens.push_back(*token);
  if (tokens.size() >= job.request.maxTokens || seat.session->position() == limits.kvRows) {
    return endAnswer(seat, StopReason::kLength);
  }
  seat.token = *token;
  seat.state = State::kDecode;
}

void SchedulerRounds::endAnswer(Seat& seat, StopReason reason) {
  const std::shared_ptr<Job> job = seat.job;
  Answer& answer = job->response.answers[seat.answer];
  answer.reason = reason;
  answer.times = seat.session->takeTimes();
  if (++job->ended == job->request.answers) return endJob(job, std::move(job->response));
  free(seat);
  // The last seat of a job keeps the prompt for the answers to come; others go to whoever waits longest.
  if (ownerOf(*job) != nullptr) return;
  if (Status status = lend(seat, job); !status.isOk()) endJob(job, std::move(status));
}

void SchedulerRounds::free(Seat& seat) {
  seat.job = nullptr;
  seat.state = State::kFree;
  seat.lastUse = ++uses_;
}

void SchedulerRounds::endJob(std::shared_ptr<Job> job, Result<Response> result) {
  for (Seat& seat : seats_) {
    if (seat.job == job) free(seat);
  }
  job->finish(std::move(result));
}

void SchedulerRounds::cancelAll() {
  for (Seat& seat : seats_) {
    if (seat.job != nullptr) endJob(seat.job, std::move(seat.job->response));
  }
}

}  // namespace firn::engine
