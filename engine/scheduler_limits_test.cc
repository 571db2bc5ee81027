// What a scheduler refuses, cancels and survives.
#include <gmock/gmock.h>
#include <pthread.h>
#include <signal.h>

#include <atomic>
#include <future>
#include <thread>
#include <utility>

#include "engine/scheduler_cases_for_test.h"

namespace firn::engine {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

class SchedulerLimitsTest : public SchedulerTest {};

TEST_P(SchedulerLimitsTest, TheQueueHasAnEndAndAnOrder) {
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
  EXPECT_THAT(refused.status().message(), HasSubstr("2 requests wait, for 0 free slots and 2 places in the queue"));
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

TEST_P(SchedulerLimitsTest, CancelTakesEffectBeforeTheNextChunk) {
  const auto scheduler = start({.slots = 1}, {.prefillChunks = {16}, .contexts = {}});
  for (const uint32_t chunks : {0U, 1U, 2U}) {
    Request request = greedy(cts::someIds(60, chunks), 5);
    std::promise<Ticket> promise;
    auto future = promise.get_future();
    std::optional<Ticket> self;
    uint32_t calls = 0, reached = 0;
    request.progress = [&](uint32_t done, uint32_t total) {
      reached = done;
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
    EXPECT_EQ(computed(response), reached) << "what was done is reported";
    const Ids prompt = cts::someIds(20, 50);
    EXPECT_EQ(responseOf(need(scheduler->submit(greedy(prompt, 4)))).answers[0].tokens, alone(*open(), prompt, 4));
  }
}

TEST_P(SchedulerLimitsTest, RefusesWhatCannotRun) {
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
  for (const uint32_t topK : {cts::kVocab + 1, UINT32_MAX}) {
    Request request = greedy({1}, 1);
    request.topK = topK;
    EXPECT_EQ(codeOf(request), Code::kOutOfRange);
  }
  Request whole = greedy({1}, 1);
  whole.topK = cts::kVocab;
  whole.next = [](const NextTokenInput& input) {
    EXPECT_EQ(input.top.size(), cts::kVocab);
    return std::optional(input.top[0].id);
  };
  EXPECT_EQ(responseOf(need(scheduler->submit(whole))).answers[0].tokens, alone(*open(), {1}, 1));
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

TEST_P(SchedulerLimitsTest, TheEndOfASchedulerCancelsWhatIsLeft) {
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

TEST_P(SchedulerLimitsTest, ACancelEndsAllAnswersAndKeepsTheirTimes) {
  const auto scheduler = start({.slots = 3});
  const Ids prompt = cts::someIds(37);
  std::promise<Ticket> promise;
  auto future = promise.get_future();
  Request request = greedy(prompt, 30);
  request.answers = 5;
  request.next = [&](const NextTokenInput& input) -> std::optional<int32_t> {
    if (input.answer == 0 && input.tokens.size() == 20) return std::nullopt;
    if (input.answer == 2 && input.tokens.size() == 25) future.get().cancel();
    return input.tokens.empty() ? static_cast<int32_t>(input.answer) : input.top[0].id;
  };
  const Ticket ticket = need(scheduler->submit(request));
  promise.set_value(ticket);
  const Response response = responseOf(ticket);
  EXPECT_EQ(computed(response), prompt.size());
  const auto oracle = open();
  for (uint32_t i = 0; i < 5; ++i) {
    const Answer& answer = response.answers[i];
    EXPECT_EQ(answer.reason, i == 0 ? StopReason::kStop : StopReason::kCancelled);
    const auto steps = static_cast<uint32_t>(answer.tokens.size());
    if (steps == 0) continue;
    EXPECT_EQ(answer.tokens, alone(*oracle, prompt, steps, static_cast<int32_t>(i)));
    EXPECT_GE(answer.times.decodeSteps, steps - 1) << i;
    EXPECT_LE(answer.times.decodeSteps, steps) << i;
    EXPECT_GT(answer.times.decodeNanoseconds, 0U) << i;
  }
  EXPECT_GE(response.answers[2].tokens.size(), 25U);
  EXPECT_FALSE(response.answers[1].tokens.empty());
}

// Both take every step together, the one that cancels first.
TEST_P(SchedulerLimitsTest, NothingIsAskedBehindACancel) {
  const auto scheduler = start({.slots = 2});
  std::promise<Ticket> promise;
  auto future = promise.get_future();
  std::promise<void> gate;
  bool isCancelled = false;
  Request first = greedy({1}, 60);
  first.next = [&, opened = gate.get_future().share()](const NextTokenInput& input) -> std::optional<int32_t> {
    opened.wait();
    if (input.tokens.size() == 30) {
      future.get().cancel();
      isCancelled = true;
    }
    return input.top[0].id;
  };
  Request second = greedy({2}, 100);
  second.next = [&](const NextTokenInput& input) -> std::optional<int32_t> {
    EXPECT_FALSE(isCancelled);
    return input.top[0].id;
  };
  const Ticket cancelling = need(scheduler->submit(first));
  const Ticket ticket = need(scheduler->submit(second));
  promise.set_value(ticket);
  gate.set_value();
  EXPECT_EQ(responseOf(cancelling).answers[0].tokens.size(), 60U);
  const Response response = responseOf(ticket);
  EXPECT_EQ(response.answers[0].reason, StopReason::kCancelled);
  EXPECT_NEAR(static_cast<double>(response.answers[0].tokens.size()), 30, 2) << "they did step together";
}

// Without its program the device refuses every step.
TEST_P(SchedulerLimitsTest, AFailureOfTheDeviceEndsTheRequestsAlone) {
  for (const bool inPrompt : {true, false}) {
    const auto model = openTiny(GetParam(), {.prefillChunks = {16}, .contexts = {}});
    const auto scheduler = Scheduler::create(model, {.slots = 3});
    ASSERT_TRUE(scheduler.isOk());
    const auto fail = [&] { EXPECT_TRUE(model->device().unload(model->program()).isOk()); };
    std::vector<Ticket> tickets;
    for (int32_t i = 0; i < 2; ++i) {
      Request other = greedy({i}, UINT32_MAX);
      other.answers = 2;  // one of the four waits for a slot
      tickets.push_back(need((*scheduler)->submit(other)));
    }
    bool hasFailed = false;
    Request failing = greedy(cts::someIds(50), 60);
    failing.progress = [&](uint32_t done, uint32_t) {
      if (inPrompt && done >= 16 && !std::exchange(hasFailed, true)) fail();
    };
    failing.next = [&](const NextTokenInput& input) -> std::optional<int32_t> {
      if (!inPrompt && input.tokens.size() == 10) fail();
      return input.top[0].id;
    };
    tickets.push_back(need((*scheduler)->submit(failing)));
    tickets.push_back(need((*scheduler)->submit(greedy({7}, UINT32_MAX))));
    EXPECT_EQ(tickets[2].wait().status().code(), Code::kInvalidArgument);
    EXPECT_EQ(tickets[3].wait().status().code(), Code::kInvalidArgument);
    EXPECT_EQ(need((*scheduler)->submit(greedy({8}, 3))).wait().status().code(), Code::kInvalidArgument);
    while ((*scheduler)->load().freeSlots < 3) std::this_thread::yield();
  }
}

// What submit may count on is true whenever it can ask: never more than the free slots and the queue hold.
TEST_P(SchedulerLimitsTest, NoMoreAreAdmittedThanHaveAPlace) {
  for (const uint32_t queueLength : {0U, 1U}) {
    const auto scheduler = start({.slots = 3, .queueLength = queueLength});
    std::atomic<bool> isDone = false;
    std::atomic<uint32_t> overfull = 0;
    std::vector<std::thread> threads;
    for (int32_t t = 0; t < 2; ++t) {
      threads.emplace_back([&, t] {
        while (!isDone) {
          Request request = greedy({t, 1}, 1);
          request.answers = t == 0 ? 1 : 3;
          static_cast<void>(scheduler->submit(request));
          const SchedulerLoad load = scheduler->load();
          if (load.waiting > load.freeSlots + queueLength) ++overfull;
        }
      });
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    isDone = true;
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(overfull, 0U) << queueLength;
  }
}

// The functions of a request may own anything, such as what asks the scheduler when it dies.
TEST_P(SchedulerLimitsTest, FunctionsDieWithoutTheSchedulersMutex) {
  const auto scheduler = start({.slots = 1, .queueLength = 3});
  std::atomic<int> deaths = 0;
  const auto request = [&] {
    const std::shared_ptr<void> owned(nullptr, [&](void*) {
      scheduler->load();
      ++deaths;
    });
    Request made = greedy({1}, 20);
    made.next = [owned](const NextTokenInput& input) { return std::optional(input.top[0].id); };
    return made;
  };
  std::promise<void> gate;
  Request first = greedy({1}, 2);
  first.next = [opened = gate.get_future().share()](const NextTokenInput& input) {
    opened.wait();
    return std::optional(input.top[0].id);
  };
  const Ticket running = need(scheduler->submit(first));
  need(scheduler->submit(request())).cancel();
  const Ticket last = need(scheduler->submit(request()));  // it drops the cancelled one
  gate.set_value();
  responseOf(last);
  need(scheduler->submit(request())).cancel();  // the stepping thread drops it, or ends it
  responseOf(need(scheduler->submit(greedy({1}, 1))));
  while (deaths < 2) std::this_thread::yield();  // that of `last` lives
  EXPECT_EQ(deaths, 2);
}

TEST_P(SchedulerLimitsTest, ItsThreadTakesNoSignals) {
  sigset_t mask;
  Request request = greedy({1}, 1);
  request.next = [&](const NextTokenInput& input) {
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    return std::optional(input.top[0].id);
  };
  const auto scheduler = start({.slots = 1});
  responseOf(need(scheduler->submit(request)));
  for (const int sent : {SIGINT, SIGTERM, SIGHUP, SIGALRM, SIGCHLD}) EXPECT_EQ(sigismember(&mask, sent), 1) << sent;
  for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL}) EXPECT_EQ(sigismember(&mask, fault), 0) << fault;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  EXPECT_EQ(sigismember(&mask, SIGINT), 0) << "the program's own thread does";
}

INSTANTIATE_TEST_SUITE_P(Devices, SchedulerLimitsTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
