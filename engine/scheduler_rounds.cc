#include "engine/scheduler_rounds.h"

#include <algorithm>
#include <utility>

#include "base/concat.h"
#include "engine/token_ids.h"

namespace firn::engine {
namespace {

/// Tokens of `prompt` whose rows the session has.
uint32_t reusable(const Session& session, std::span<const int32_t> prompt) {
  return commonPrefix(prompt, session.ids().first(session.exactTokens()));
}

}  // namespace

void Job::finish(Result<Response> value) {
  const std::lock_guard lock(mutex);
  result.emplace(std::move(value));
  changed.notify_all();
}

Result<std::unique_ptr<SchedulerRounds>> SchedulerRounds::create(std::shared_ptr<Model> model,
                                                                 const SchedulerOptions& options) {
  std::unique_ptr<SchedulerRounds> rounds(new SchedulerRounds(options));
  FIRN_ASSIGN_OR_RETURN(rounds->pool_, SlotPool::create(std::move(model), options.slots));
  rounds->seats_.resize(options.slots);
  for (Seat& seat : rounds->seats_) {
    FIRN_ASSIGN_OR_RETURN(seat.session, Session::create(rounds->pool_, options.session));
  }
  return rounds;
}

uint32_t SchedulerRounds::freeSeats() const {
  return static_cast<uint32_t>(std::ranges::count(seats_, State::kFree, &Seat::state));
}

uint32_t SchedulerRounds::unseated(const Job& job) const {
  const auto seated = static_cast<uint32_t>(std::ranges::count_if(
      seats_, [&](const Seat& seat) { return seat.job.get() == &job && seat.state != State::kDecode; }));
  return job.request.answers - job.begun - seated;
}

uint32_t SchedulerRounds::wantedSeats() const {
  uint64_t wanted = 0;
  for (size_t i = 0; i < seats_.size(); ++i) {
    const Job* job = seats_[i].job.get();
    const auto before = std::span(seats_).first(i);
    if (job == nullptr || !job->isPromptDone || std::ranges::count(before, seats_[i].job, &Seat::job) > 0) continue;
    wanted += unseated(*job);
  }
  return static_cast<uint32_t>(std::min<uint64_t>(wanted, freeSeats()));
}

SchedulerRounds::Seat& SchedulerRounds::chooseSeat(std::span<const int32_t> prompt) {
  Seat* own = nullptr;  // whose conversation the prompt continues
  uint32_t ownPrefix = 0;
  Seat* other = nullptr;  // an empty one, or the one used least recently
  const auto isOlder = [](const Seat& a, const Seat& b) {
    const bool isEmpty = a.session->position() == 0;
    return isEmpty != (b.session->position() == 0) ? isEmpty : a.lastUse < b.lastUse;
  };
  for (Seat& seat : seats_) {
    if (seat.state != State::kFree) continue;
    const uint32_t prefix = reusable(*seat.session, prompt);
    const uint32_t rows = seat.session->position();
    if (other == nullptr || isOlder(seat, *other)) other = &seat;
    // A head that many prompts share is no conversation, however long it is; nor is a prompt of one token.
    const bool goesOn = prefix > 0 && prefix >= std::min(seat.promptTokens, rows) && prefix >= rows - prefix;
    if (!goesOn || prefix < ownPrefix || (prefix == ownPrefix && seat.lastUse > own->lastUse)) continue;
    own = &seat;
    ownPrefix = prefix;
  }
  return own != nullptr ? *own : *other;
}

Result<uint32_t> SchedulerRounds::take(Seat& seat, const std::shared_ptr<Job>& job) {
  const std::span<const int32_t> prompt = job->request.prompt;
  seat.job = job;
  seat.state = State::kPrompt;
  seat.promptTokens = static_cast<uint32_t>(prompt.size());
  const auto prefixOf = [&](const Seat& each) { return reusable(*each.session, prompt); };
  const Seat& source = *std::ranges::max_element(seats_, {}, prefixOf);
  const uint32_t prefix = prefixOf(source);
  if (prefix > prefixOf(seat)) FIRN_RETURN_IF_ERROR(seat.session->copyPrefix(*source.session, prefix));
  if (job->isPromptDone && prefix == prompt.size()) {
    FIRN_RETURN_IF_ERROR(seat.session->rewind(prefix));
    seat.state = State::kReady;
    return prefix;
  }
  job->response.promptTimes.add(seat.session->takeTimes());
  return seat.session->reuse(prompt, options_.prefixes.get());
}

void SchedulerRounds::start(std::shared_ptr<Job> job) {
  job->response.queuedNanoseconds = nanosecondsSince(job->submitted);
  job->top.resize(job->request.topK);
  const auto cached = take(chooseSeat(job->request.prompt), job);
  if (!cached) return endJob(job, cached.status());
  job->response.cachedTokens = *cached;
}

bool SchedulerRounds::hasSeat(const Job& job) const {
  return std::ranges::any_of(seats_, [&](const Seat& seat) { return seat.job.get() == &job; });
}

void SchedulerRounds::lend(Seat& seat, const std::shared_ptr<Job>& job) {
  const auto cached = take(seat, job);
  if (!cached) endJob(job, cached.status());
}

void SchedulerRounds::endCancelled() {
  for (Seat& seat : seats_) {
    if (seat.job != nullptr && seat.job->isCancelled) endJob(seat.job);
  }
}

void SchedulerRounds::fillSeats() {
  for (size_t i = 0; i < seats_.size() && freeSeats() > 0; ++i) {
    const std::shared_ptr<Job> job = seats_[i].job;
    if (job == nullptr || !job->isPromptDone) continue;
    while (hasSeat(*job) && unseated(*job) > 0 && freeSeats() > 0) {
      lend(chooseSeat(job->request.prompt), job);
    }
  }
}

void SchedulerRounds::round(uint32_t waiting) {
  for (Seat& seat : seats_) {
    if (seat.state == State::kReady) beginAnswer(seat, {.values = seat.job->logits});
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
  if (!job.isCancelled && job.request.progress) job.request.progress(done, static_cast<uint32_t>(prompt.size()));
  if (job.isCancelled) return endJob(seat->job);  // before, or by the request itself
  const bool isAlone = waiting == 0 && freeSeats() + 1 == seats_.size();
  const auto chunk =
      seat->session->appendChunk(prompt.subspan(done), isAlone ? UINT64_MAX : options_.sharedChunkPicoseconds);
  if (!chunk) return endJob(seat->job, chunk.status());
  if (chunk->logits.empty()) return;
  job.isPromptDone = true;
  job.response.promptTimes.add(seat->session->takeTimes());
  if (job.request.answers > 1) job.logits.assign(chunk->logits.begin(), chunk->logits.end());
  beginAnswer(*seat, {.values = chunk->logits, .row = 0});
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
      takeToken(seat, {.values = logits->subspan(i * vocab, vocab), .row = static_cast<uint32_t>(i)});
    } else {
      endJob(seat.job, logits.status());
    }
  }
}

void SchedulerRounds::beginAnswer(Seat& seat, const Logits& logits) {
  Job& job = *seat.job;
  seat.answer = job.begun++;
  seat.state = State::kDecode;
  // Behind a context shift only the end of an answer is in the cache, so that it may have as many tokens and more.
  const uint32_t kept = options_.session.contextShift ? 0 : seat.session->position();
  const uint32_t room = pool_->model()->limits().kvRows - kept + 1;
  job.response.answers[seat.answer].tokens.reserve(std::min(job.request.maxTokens, room));
  takeToken(seat, logits);
}

void SchedulerRounds::takeToken(Seat& seat, const Logits& logits) {
  Job& job = *seat.job;
  if (job.isCancelled) return endJob(seat.job);
  std::vector<int32_t>& tokens = job.response.answers[seat.answer].tokens;
  const size_t best = logits.row ? seat.session->best(job.top, *logits.row) : bestTokens(logits.values, job.top);
  const std::optional<int32_t> token = job.request.next(
      {.answer = seat.answer, .tokens = tokens, .logits = logits.values, .top = std::span(job.top).first(best)});
  if (!token) return endAnswer(seat, StopReason::kStop);
  const ModelLimits& limits = pool_->model()->limits();
  if (!isInVocabulary(*token, limits.vocab)) {
    return endJob(seat.job, outOfRange(concat("the request chose token ", *token, "; the vocabulary has ids 0 to ",
                                              limits.vocab - 1)));
  }
  tokens.push_back(*token);
  const bool isFull = !options_.session.contextShift && seat.session->position() == limits.kvRows;
  if (isFull || tokens.size() >= job.request.maxTokens) return endAnswer(seat, StopReason::kLength);
  seat.token = *token;
}

void SchedulerRounds::endAnswer(Seat& seat, StopReason reason) {
  const std::shared_ptr<Job> job = seat.job;
  Answer& answer = job->response.answers[seat.answer];
  answer.reason = reason;
  answer.times = seat.session->takeTimes();
  if (++job->ended == job->request.answers) return endJob(job);
  free(seat);
  // The last seat of a job keeps the prompt for the answers to come; others go to whoever waits longest.
  if (!hasSeat(*job)) lend(seat, job);
}

void SchedulerRounds::free(Seat& seat) {
  seat.job = nullptr;
  seat.state = State::kFree;
  seat.lastUse = ++uses_;
}

void SchedulerRounds::endJob(std::shared_ptr<Job> job, Status status) {
  Response& response = job->response;
  for (Seat& seat : seats_) {
    if (seat.job != job) continue;
    const bool answers = seat.state == State::kDecode;
    (answers ? response.answers[seat.answer].times : response.promptTimes).add(seat.session->takeTimes());
    free(seat);
  }
  job->finish(status.isOk() ? Result<Response>(std::move(response)) : std::move(status));
}

void SchedulerRounds::cancelAll() {
  for (Seat& seat : seats_) {
    if (seat.job != nullptr) endJob(seat.job);
  }
}

}  // namespace firn::engine
