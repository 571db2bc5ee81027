// Many requests at once: each gets the tokens that it would get alone, and none waits longer than it must.
#include "engine/scheduler.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <future>
#include <map>
#include <random>
#include <thread>

#include "engine/scheduler_cases_for_test.h"

namespace firn::engine {
namespace {

using Ids = std::vector<int32_t>;

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

/// A thousand where FIRN_REQUESTS does not say otherwise.
size_t requestCount() {
  const char* text = std::getenv("FIRN_REQUESTS");
  return text == nullptr ? 1000 : std::strtoul(text, nullptr, 10);
}

TEST_P(SchedulerTest, ManyRequestsGetTheTokensOfLoneRuns) {
  constexpr uint32_t kThreads = 4;
  std::vector<Outcome> outcomes(requestCount());
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
  EXPECT_GT(cancelled, outcomes.size() / 100);
  EXPECT_LT(cancelled, outcomes.size() * 9 / 10);
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

TEST_P(SchedulerTest, AnAnswerEndsWithTheCache) {
  const auto scheduler = start({.slots = 2});
  const Answer answer = responseOf(need(scheduler->submit(greedy(cts::someIds(64), UINT32_MAX)))).answers[0];
  EXPECT_EQ(answer.reason, StopReason::kLength);
  EXPECT_EQ(answer.tokens.size(), cts::kKvRows - 64 + 1);
}

INSTANTIATE_TEST_SUITE_P(Devices, SchedulerTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
