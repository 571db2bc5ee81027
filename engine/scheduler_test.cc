// Many requests at once: each gets the tokens that it would get alone, and none waits longer than it must.
#include "engine/scheduler.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <map>
#include <random>
#include <thread>

#include "engine/scheduler_rounds.h"
#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

using Ids = std::vector<int32_t>;
using testing::ElementsAre;

constexpr auto kGreedy = [](const NextTokenInput& input) -> std::optional<int32_t> { return input.top[0].id; };

Request greedy(Ids prompt, uint32_t maxTokens) {
  return {
      .prompt = std::move(prompt), .next = kGreedy, .progress = {}, .maxTokens = maxTokens, .answers = 1, .topK = 1};
}

class SchedulerTest : public SessionTest {
 protected:
  std::unique_ptr<Scheduler> start(const SchedulerOptions& options, const Ladders& ladders = {}) {
    auto scheduler = Scheduler::create(openTiny(GetParam(), ladders), options);
    EXPECT_TRUE(scheduler.isOk()) << scheduler.status().toString();
    return *std::move(scheduler);
  }

  static Ticket need(Result<Ticket> ticket) {
    EXPECT_TRUE(ticket.isOk()) << ticket.status().toString();
    return *ticket;
  }
  static Response responseOf(const Ticket& ticket) {
    auto result = ticket.wait();
    EXPECT_TRUE(result.isOk()) << result.status().toString();
    return *std::move(result);
  }

  /// The greedy tokens behind `prompt` of a session alone, the first of them `first` where it is not negative.
  static Ids alone(Session& session, const Ids& prompt, uint32_t count, int32_t first = -1) {
    EXPECT_TRUE(session.rewind(0).isOk());
    auto logits = session.prefill(prompt);
    Ids tokens;
    while (logits.isOk()) {
      ScoredToken best;
      bestTokens(*logits, {&best, 1});
      tokens.push_back(tokens.empty() && first >= 0 ? first : best.id);
      if (tokens.size() == count || session.position() == cts::kKvRows) break;
      logits = session.decode(tokens.back());
    }
    EXPECT_TRUE(logits.isOk()) << logits.status().toString();
    return tokens;
  }
};

Ids randomPrompt(std::mt19937& random) {
  Ids ids(1 + random() % kMaxPrompt);
  for (int32_t& id : ids) id = static_cast<int32_t>(random() % 3);  // few, so that prefixes meet
  return ids;
}

/// What became of one of many requests.
struct Outcome {
  Ids prompt;
  uint32_t maxTokens = 0;
  bool mayBeCancelled = false;
  std::optional<Response> response;
};

void submitMany(Scheduler& scheduler, uint32_t seed, std::span<Outcome> outcomes) {
  std::mt19937 random(seed);
  std::vector<std::pair<Outcome*, Ticket>> open;
  const auto collect = [&](size_t keep) {
    while (open.size() > keep) {
      auto result = open.front().second.wait();
      if (result.isOk()) open.front().first->response = *std::move(result);
      open.erase(open.begin());
    }
  };
  for (Outcome& outcome : outcomes) {
    outcome = {.prompt = randomPrompt(random), .maxTokens = 1 + static_cast<uint32_t>(random() % 40), .response = {}};
    const uint32_t fate = random() % 4;
    outcome.mayBeCancelled = fate == 0;
    for (;;) {
      auto ticket = scheduler.submit(greedy(outcome.prompt, outcome.maxTokens));
      if (!ticket.isOk()) {
        ASSERT_EQ(ticket.status().code(), Code::kResourceExhausted) << ticket.status().toString();
        collect(0);
        continue;
      }
      open.emplace_back(&outcome, *ticket);
      break;
    }
    if (fate == 0) open[random() % open.size()].first->mayBeCancelled = true;
    for (auto& [other, ticket] : open) {
      if (fate == 0 && other->mayBeCancelled) ticket.cancel();
    }
    if (random() % 8 == 0) collect(random() % 4);
  }
  collect(0);
}

TEST_P(SchedulerTest, AThousandRequestsGetTheTokensOfLoneRuns) {
  constexpr uint32_t kThreads = 4;
  std::vector<Outcome> outcomes(1000);
  const auto scheduler = start({.slots = 8, .queueLength = 12});
  {
    std::vector<std::thread> threads;
    const size_t each = outcomes.size() / kThreads;
    for (uint32_t t = 0; t < kThreads; ++t) {
      threads.emplace_back([&, t] { submitMany(*scheduler, t, std::span(outcomes).subspan(t * each, each)); });
    }
    for (std::thread& thread : threads) thread.join();
  }
  const auto oracle = open();
  size_t cancelled = 0;
  for (const Outcome& outcome : outcomes) {
    ASSERT_TRUE(outcome.response.has_value());
    const Answer& answer = outcome.response->answers[0];
    const Ids expected = alone(*oracle, outcome.prompt, outcome.maxTokens);
    if (answer.reason == StopReason::kCancelled) {
      ASSERT_TRUE(outcome.mayBeCancelled);
      ++cancelled;
      ASSERT_LE(answer.tokens.size(), expected.size());
      ASSERT_TRUE(std::equal(answer.tokens.begin(), answer.tokens.end(), expected.begin()));
    } else {
      ASSERT_EQ(answer.tokens, expected);
    }
  }
  EXPECT_GT(cancelled, 10U);
  EXPECT_LT(cancelled, 900U);
  EXPECT_EQ(responseOf(need(scheduler->submit(greedy({1}, 3)))).answers[0].tokens, alone(*oracle, {1}, 3));
  while (scheduler->load().freeSlots < 8) std::this_thread::yield();  // the thread counts them at its next round
  EXPECT_EQ(scheduler->load().waiting, 0U);
}

TEST_P(SchedulerTest, ManyAnswersComeFromOnePrompt) {
  const Ids prompt = cts::someIds(37);
  const auto oracle = open();
  for (const uint32_t slots : {1U, 2U, 4U}) {
    const auto scheduler = start({.slots = slots});
    Request request = greedy(prompt, 10);
    request.answers = 7;
    request.next = [](const NextTokenInput& input) -> std::optional<int32_t> {
      if (input.answer == 3 && input.tokens.size() == 2) return std::nullopt;
      return input.tokens.empty() ? static_cast<int32_t>(input.answer) : input.top[0].id;
    };
    const Ticket ticket = need(scheduler->submit(request));
    const Ticket beside = need(scheduler->submit(greedy({5, 6}, 20)));
    const Response response = responseOf(ticket);
    ASSERT_EQ(response.answers.size(), 7U);
    for (uint32_t i = 0; i < 7; ++i) {
      const uint32_t count = i == 3 ? 2 : 10;
      EXPECT_EQ(response.answers[i].tokens, alone(*oracle, prompt, count, static_cast<int32_t>(i))) << i;
      EXPECT_EQ(response.answers[i].reason, i == 3 ? StopReason::kStop : StopReason::kLength);
      EXPECT_EQ(response.answers[i].times.decodeSteps, i == 3 ? 2U : 9U);
      EXPECT_TRUE(response.answers[i].times.chunks.empty()) << "only the prompt has chunks";
    }
    uint32_t tokens = 0;
    for (const ChunkTime& chunk : response.promptTimes.chunks) tokens += chunk.valid;
    EXPECT_EQ(tokens, prompt.size()) << "the prompt is computed once";
    EXPECT_EQ(responseOf(beside).answers[0].tokens, alone(*oracle, {5, 6}, 20));
  }
}

TEST_P(SchedulerTest, ARequestTakesTheSlotWithItsPrefixElseTheOldest) {
  const auto scheduler = start({.slots = 3});
  const auto run = [&](Ids prompt) {
    return responseOf(need(scheduler->submit(greedy(std::move(prompt), 1)))).cachedTokens;
  };
  EXPECT_EQ(run({1, 2, 3, 4}), 0U);
  EXPECT_EQ(run({5, 6, 7, 8}), 0U);
  EXPECT_EQ(run({9, 10, 11, 12}), 0U);
  EXPECT_EQ(run({5, 6, 7, 20}), 3U);
  EXPECT_EQ(run({1, 2, 3, 4}), 3U) << "all but the last";
  EXPECT_EQ(run({30, 31}), 0U);  // in the place of 9, 10, ..., which was used least recently
  EXPECT_EQ(run({9, 10, 11, 12}), 0U);
  EXPECT_EQ(run({1, 2, 3, 4, 5}), 4U);
}

TEST_P(SchedulerTest, TheQueueHasAnEndAndAnOrder) {
  const auto scheduler = start({.slots = 1, .queueLength = 2});
  std::promise<void> gate;
  std::shared_future<void> opened = gate.get_future().share();
  std::atomic<bool> isRunning = false;
  std::vector<int> order;
  Request first = greedy({1}, 2);
  first.next = [&, opened](const NextTokenInput& input) -> std::optional<int32_t> {
    isRunning = true;
    opened.wait();
    return input.top[0].id;
  };
  const auto numbered = [&](int number) {
    Request request = greedy({number}, 1);
    request.next = [&order, number](const NextTokenInput&) -> std::optional<int32_t> {
      order.push_back(number);
      return std::nullopt;
    };
    return request;
  };
  const Ticket running = need(scheduler->submit(first));
  while (!isRunning) std::this_thread::yield();
  Ticket second = need(scheduler->submit(numbered(2)));
  const Ticket third = need(scheduler->submit(numbered(3)));
  const auto refused = scheduler->submit(numbered(4));
  EXPECT_EQ(refused.status().code(), Code::kResourceExhausted);
  EXPECT_NE(refused.status().message().find("2 requests wait already, the queue has room for 2"), std::string::npos);
  second.cancel();
  const Ticket fourth = need(scheduler->submit(numbered(4)));  // the cancelled one has left the queue
  EXPECT_TRUE(second.isDone());
  EXPECT_EQ(responseOf(second).answers[0].reason, StopReason::kCancelled);
  EXPECT_FALSE(third.isDone());
  gate.set_value();
  responseOf(third);
  responseOf(fourth);
  responseOf(running);
  EXPECT_THAT(order, ElementsAre(3, 4));
}

TEST_P(SchedulerTest, CancelTakesEffectBeforeTheNextChunk) {
  const auto scheduler = start({.slots = 1}, {.prefillChunks = {16}, .contexts = {}});
  for (const uint32_t chunks : {0U, 1U, 2U}) {
    Request request = greedy(cts::someIds(60, chunks), 5);
    std::promise<Ticket> promise;
    auto future = promise.get_future();
    std::optional<Ticket> self;
    uint32_t calls = 0;
    request.progress = [&](uint32_t, uint32_t total) {
      EXPECT_EQ(total, 60U);
      if (!self) self = future.get();
      if (calls++ == chunks) self->cancel();
    };
    const Ticket ticket = need(scheduler->submit(request));
    promise.set_value(ticket);
    const Response response = responseOf(ticket);
    EXPECT_EQ(response.answers[0].reason, StopReason::kCancelled);
    EXPECT_TRUE(response.answers[0].tokens.empty());
    EXPECT_EQ(calls, chunks + 1) << "no chunk began after the cancel";
    const Ids prompt = cts::someIds(20, 50);
    EXPECT_EQ(responseOf(need(scheduler->submit(greedy(prompt, 4)))).answers[0].tokens, alone(*open(), prompt, 4));
  }
}

// Costs of the tiny programs: 1000 a row, plus the context.
TEST_P(SchedulerTest, ADecodingSessionWaitsForOneSmallChunkAtATime) {
  const auto scheduler = start({.slots = 3, .sharedChunkPicoseconds = 18000});
  std::vector<char> events;  // of the stepping thread
  std::promise<void> isDecoding;
  std::promise<void> othersWait;
  Request talker = greedy({1, 2}, 60);
  talker.next = [&](const NextTokenInput& input) -> std::optional<int32_t> {
    if (input.tokens.size() == 2) {
      isDecoding.set_value();
      othersWait.get_future().wait();
    }
    events.push_back('t');
    return input.top[0].id;
  };
  const Ticket talking = need(scheduler->submit(talker));
  isDecoding.get_future().wait();
  std::vector<Ticket> readers;
  for (uint32_t i = 0; i < 2; ++i) {
    Request reader = greedy(cts::someIds(60, 20 * i), 1);
    reader.progress = [&](uint32_t, uint32_t) { events.push_back('c'); };
    readers.push_back(need(scheduler->submit(reader)));
  }
  othersWait.set_value();
  responseOf(talking);
  for (const Ticket& ticket : readers) {
    const Response response = responseOf(ticket);
    EXPECT_GE(response.promptTimes.chunks.size(), 4U);
    for (const ChunkTime& chunk : response.promptTimes.chunks) EXPECT_LE(chunk.predictedPicoseconds, 18000U);
  }
  EXPECT_EQ(std::ranges::count(events, 't'), 60);
  EXPECT_GE(std::ranges::count(events, 'c'), 8);
  for (size_t i = 1; i < events.size(); ++i) EXPECT_FALSE(events[i] == 'c' && events[i - 1] == 'c') << i;
  const Response lone = responseOf(need(scheduler->submit(greedy(cts::someIds(64, 70), 1))));
  EXPECT_GT(lone.promptTimes.chunks[0].predictedPicoseconds, 18000U) << "alone, the largest chunk is the best";
}

TEST_P(SchedulerTest, RefusesWhatCannotRun) {
  const auto scheduler = start({.slots = 1});
  const auto codeOf = [&](const Request& request) { return scheduler->submit(request).status().code(); };
  EXPECT_EQ(codeOf(greedy({}, 1)), Code::kInvalidArgument);
  EXPECT_EQ(codeOf(greedy({1}, 0)), Code::kInvalidArgument);
  EXPECT_EQ(codeOf({.prompt = {1}, .next = {}}), Code::kInvalidArgument);
  for (const uint32_t answers : {0U, 1025U, UINT32_MAX}) {
    Request request = greedy({1}, 1);
    request.answers = answers;
    EXPECT_EQ(codeOf(request), Code::kInvalidArgument);
  }
  EXPECT_EQ(codeOf(greedy(cts::someIds(kMaxPrompt + 1), 1)), Code::kOutOfRange);
  for (const int32_t bad : {-1, static_cast<int32_t>(cts::kVocab), INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(codeOf(greedy({1, bad}, 1)), Code::kOutOfRange);
    Request request = greedy({1}, 5);
    request.next = [=](const NextTokenInput&) { return std::optional<int32_t>(bad); };
    EXPECT_EQ(need(scheduler->submit(request)).wait().status().code(), Code::kOutOfRange);
  }
  EXPECT_EQ(responseOf(need(scheduler->submit(greedy({1}, 5)))).answers[0].tokens.size(), 5U) << "the slot is free";
  EXPECT_EQ(Scheduler::create(openTiny(GetParam()), {.slots = 0}).status().code(), Code::kInvalidArgument);
}

TEST_P(SchedulerTest, AnAnswerEndsWithTheCache) {
  const auto scheduler = start({.slots = 2});
  const Answer answer = responseOf(need(scheduler->submit(greedy(cts::someIds(64), UINT32_MAX)))).answers[0];
  EXPECT_EQ(answer.reason, StopReason::kLength);
  EXPECT_EQ(answer.tokens.size(), cts::kKvRows - 64 + 1);
}

TEST_P(SchedulerTest, TheEndOfASchedulerCancelsWhatIsLeft) {
  auto scheduler = start({.slots = 1});
  Request endless = greedy({1}, UINT32_MAX);
  std::promise<void> begun;
  endless.next = [&, isFirst = true](const NextTokenInput& input) mutable -> std::optional<int32_t> {
    if (std::exchange(isFirst, false)) begun.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    return input.top[0].id;
  };
  const Ticket running = need(scheduler->submit(endless));
  const Ticket waiting = need(scheduler->submit(greedy({2}, 1)));
  begun.get_future().wait();
  scheduler.reset();
  EXPECT_EQ(responseOf(running).answers[0].reason, StopReason::kCancelled);
  EXPECT_FALSE(responseOf(running).answers[0].tokens.empty()) << "what was there stays";
  EXPECT_EQ(responseOf(waiting).answers[0].reason, StopReason::kCancelled);
}

INSTANTIATE_TEST_SUITE_P(Devices, SchedulerTest, testing::ValuesIn(kSessionCases), sessionCaseName);

TEST(BestTokensTest, AreInOrderAndWithoutNaN) {
  const float logits[] = {1, __builtin_nanf(""), 3, 3, -__builtin_inff(), 7, 2};
  std::vector<ScoredToken> best(3);
  EXPECT_EQ(bestTokens(logits, best), 3U);
  EXPECT_THAT((Ids{best[0].id, best[1].id, best[2].id}), ElementsAre(5, 2, 3));
  best.resize(7);
  EXPECT_EQ(bestTokens(logits, best), 6U);
  EXPECT_EQ(best[5].id, 4);
  EXPECT_EQ(bestTokens(logits, {}), 0U);
}

}  // namespace
}  // namespace firn::engine
