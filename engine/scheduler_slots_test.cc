// Which slot a request gets, and which rows it finds there.
#include <future>

#include "engine/scheduler_cases_for_test.h"

namespace firn::engine {
namespace {

class SchedulerSlotsTest : public SchedulerTest {};

// Both end in one step, the other one first: its seat was used less recently than the one that holds the prompt.
TEST_P(SchedulerSlotsTest, TheNextAnswerLeavesWhatAnotherRequestHasFinished) {
  const auto oracle = open();
  for (const bool isSamePrompt : {false, true}) {
    const auto scheduler = start({.slots = 2});
    const Ids talked = cts::someIds(12), prompt = isSamePrompt ? talked : Ids{70};
    std::promise<void> begun, gate;
    size_t answered = 0;
    Request other = greedy(talked, 60);
    other.next = [&, opened = gate.get_future().share()](const NextTokenInput& input) -> std::optional<int32_t> {
      if (input.tokens.empty()) {
        begun.set_value();
        opened.wait();
      }
      return answered < 4 ? std::optional(input.top[0].id) : std::nullopt;
    };
    Request request = greedy(prompt, 5);
    request.answers = 2;
    request.next = [&](const NextTokenInput& input) -> std::optional<int32_t> {
      if (input.answer == 0) answered = input.tokens.size() + 1;
      return input.tokens.empty() ? static_cast<int32_t>(input.answer) : input.top[0].id;
    };
    const Ticket finished = need(scheduler->submit(other));
    begun.get_future().wait();
    const Ticket ticket = need(scheduler->submit(request));
    gate.set_value();
    const Ids conversation = joined(talked, responseOf(finished).answers[0].tokens);
    const Response response = responseOf(ticket);
    EXPECT_LE(computed(response), prompt.size()) << "once for all answers";
    for (uint32_t i = 0; i < 2; ++i) {
      EXPECT_EQ(response.answers[i].tokens, alone(*oracle, prompt, 5, static_cast<int32_t>(i))) << i;
    }
    const Response more = responseOf(need(scheduler->submit(greedy(joined(conversation, {7}), 2))));
    EXPECT_GE(more.cachedTokens + 1, conversation.size()) << isSamePrompt;
  }
}

// Chats that begin with one system prompt, in turn: each finds all that it left, and a new one finds the head.
TEST_P(SchedulerSlotsTest, ConversationsWithOneHeadKeepTheirSlots) {
  const auto oracle = open();
  const Ids head = cts::someIds(20);
  for (const uint32_t headTokens : {1U, 20U}) {
    for (const uint32_t count : {2U, 4U}) {
      const auto scheduler = start({.slots = 4});
      std::vector<Ids> chats;
      for (uint32_t c = 0; c < count; ++c) {
        chats.push_back(joined({head.begin(), head.begin() + headTokens}, {static_cast<int32_t>(70 + c), 1, 2}));
      }
      for (uint32_t turn = 0; turn < 4; ++turn) {
        for (uint32_t c = 0; c < count; ++c) {
          Ids& chat = chats[c];
          const Response response = responseOf(need(scheduler->submit(greedy(chat, 3))));
          const uint32_t expected = turn > 0 ? static_cast<uint32_t>(chat.size()) - 3 : c > 0 ? headTokens : 0;
          EXPECT_EQ(response.cachedTokens, expected) << "chat " << c << ", turn " << turn;
          EXPECT_EQ(computed(response), chat.size() - expected);
          ASSERT_EQ(response.answers[0].tokens, alone(*oracle, chat, 3));
          chat = joined(joined(chat, response.answers[0].tokens), {3, 4});
        }
      }
    }
  }
}

TEST_P(SchedulerSlotsTest, WithoutAnEmptySlotTheOldestConversationGoes) {
  const auto scheduler = start({.slots = 2});
  const Ids head = cts::someIds(20);
  const auto cached = [&](const Ids& tail) {
    return responseOf(need(scheduler->submit(greedy(joined(head, tail), 1)))).cachedTokens;
  };
  EXPECT_EQ(cached({1, 10, 11}), 0U);
  EXPECT_EQ(cached({2, 10, 11}), 20U);
  EXPECT_EQ(cached({3, 10, 11}), 20U);  // in the place of 1
  EXPECT_EQ(cached({2, 10, 11, 5}), 23U);
  EXPECT_EQ(cached({1, 10, 11, 5}), 20U);  // in the place of 3
  EXPECT_EQ(cached({2, 10, 11, 5, 6}), 24U);
}

TEST_P(SchedulerSlotsTest, ALongAnswerIsNotLostToAShortPrompt) {
  const auto scheduler = start({.slots = 2});
  const Ids answer = responseOf(need(scheduler->submit(greedy({1}, 40)))).answers[0].tokens;
  EXPECT_EQ(responseOf(need(scheduler->submit(greedy({1, 70, 71}, 1)))).cachedTokens, 1U);
  EXPECT_EQ(responseOf(need(scheduler->submit(greedy(joined(joined({1}, answer), {5}), 1)))).cachedTokens, 40U);
}

TEST_P(SchedulerSlotsTest, APromptOnceMoreTakesTheSameSlot) {
  const auto scheduler = start({.slots = 2});
  const Ids a = cts::someIds(30, 5), b = cts::someIds(30, 45);
  for (const Ids& prompt : {a, b}) EXPECT_EQ(responseOf(need(scheduler->submit(greedy(prompt, 6)))).cachedTokens, 0U);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(responseOf(need(scheduler->submit(greedy(b, 6)))).cachedTokens, 29U);
  EXPECT_EQ(responseOf(need(scheduler->submit(greedy(a, 6)))).cachedTokens, 29U) << "the other one is still there";
}

TEST_P(SchedulerSlotsTest, ABusySlotLendsItsPrefix) {
  const auto scheduler = start({.slots = 2});
  const Ids head = cts::someIds(40);
  std::optional<Ticket> reader;
  Request talker = greedy(joined(head, {1}), 50);
  talker.next = [&](const NextTokenInput& input) -> std::optional<int32_t> {
    if (input.tokens.size() == 2) reader = need(scheduler->submit(greedy(joined(head, {2}), 8)));
    return input.top[0].id;
  };
  const Response talked = responseOf(need(scheduler->submit(talker)));
  const Response read = responseOf(*reader);
  EXPECT_EQ(read.cachedTokens, 40U);
  EXPECT_EQ(computed(read), 1U);
  EXPECT_EQ(read.promptTimes.bytesCopied, KvLayout::of(cts::makeTinyBlob(GetParam().blob)->header()).packedBytes(40));
  const auto oracle = open();
  EXPECT_EQ(talked.answers[0].tokens, alone(*oracle, joined(head, {1}), 50));
  EXPECT_EQ(read.answers[0].tokens, alone(*oracle, joined(head, {2}), 8));
}

TEST_P(SchedulerSlotsTest, SavedPrefixesServeEverySlot) {
  const auto model = openTiny(GetParam());
  const auto store = std::make_shared<PrefixStore>(model, 1 << 20);
  const Ids head = cts::someIds(40);
  {
    const auto session = sessionOf(model);
    ASSERT_TRUE(session->prompt(head).isOk());
    ASSERT_TRUE(store->save(*session, 40).isOk());
  }
  const auto scheduler = Scheduler::create(model, {.slots = 2, .prefixes = store});
  ASSERT_TRUE(scheduler.isOk()) << scheduler.status().toString();
  const Response response = responseOf(need((*scheduler)->submit(greedy(joined(head, {1, 2}), 5))));
  EXPECT_EQ(response.cachedTokens, 40U);
  EXPECT_EQ(computed(response), 2U);
  EXPECT_EQ(response.promptTimes.bytesCopied, KvLayout::of(model->blob().header()).packedBytes(40));
  EXPECT_EQ(response.answers[0].tokens, alone(*open(), joined(head, {1, 2}), 5));
  EXPECT_EQ(Scheduler::create(openTiny(GetParam()), {.prefixes = store}).status().code(), Code::kInvalidArgument);
}

// An answer behind the end of the cache drops rows of the prompt, which other answers may still need.
TEST_P(SchedulerSlotsTest, AnswersGoOnBehindTheEndOfTheCache) {
  const SessionOptions shifting{.contextShift = true};
  const Ids prompt = cts::someIds(40);
  const auto oracle = Session::create(openTiny(GetParam()), shifting);
  ASSERT_TRUE(oracle.isOk());
  for (const uint32_t slots : {1U, 3U}) {
    const auto scheduler = start({.slots = slots, .session = shifting});
    Request request = greedy(prompt, 130);
    request.answers = 4;
    request.next = [](const NextTokenInput& input) -> std::optional<int32_t> {
      return input.tokens.empty() ? static_cast<int32_t>(input.answer) : input.top[0].id;
    };
    const Ticket beside = need(scheduler->submit(greedy({5, 6}, 150)));
    const Response response = responseOf(need(scheduler->submit(request)));
    for (uint32_t i = 0; i < 4; ++i) {
      ASSERT_EQ(response.answers[i].tokens, alone(**oracle, prompt, 130, static_cast<int32_t>(i))) << i;
      EXPECT_EQ(response.answers[i].reason, StopReason::kLength);
      EXPECT_EQ(response.answers[i].times.decodeSteps, 129U);
    }
    EXPECT_EQ(responseOf(beside).answers[0].tokens, alone(**oracle, {5, 6}, 150));
  }
  const SessionOptions impossible{.contextShift = true, .keepRows = cts::kKvRows};
  EXPECT_EQ(Scheduler::create(openTiny(GetParam()), {.session = impossible}).status().code(), Code::kInvalidArgument);
}

INSTANTIATE_TEST_SUITE_P(Devices, SchedulerSlotsTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
