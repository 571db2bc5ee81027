// Sessions that share a pool of slots, and steps that they take together.
#include "engine/slot_pool.h"

#include <algorithm>
#include <array>
#include <map>

#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

using Bits = std::vector<uint32_t>;

class SlotPoolTest : public SessionTest {
 protected:
  std::shared_ptr<SlotPool> openPool(uint32_t slots) {
    auto pool = SlotPool::create(openTiny(GetParam()), slots);
    EXPECT_TRUE(pool.isOk()) << pool.status().toString();
    return *std::move(pool);
  }
  static std::unique_ptr<Session> draw(const std::shared_ptr<SlotPool>& pool, const SessionOptions& options = {}) {
    auto session = Session::create(pool, options);
    EXPECT_TRUE(session.isOk()) << session.status().toString();
    return *std::move(session);
  }
  static Bits bitsOfRow(std::span<const float> logits, size_t row) {
    return cts::bitsOf(logits.subspan(row * cts::kVocab, cts::kVocab));
  }
};

TEST_P(SlotPoolTest, SessionsDrawSlotsAndGiveThemBack) {
  const auto pool = openPool(2);
  auto first = draw(pool);
  ASSERT_TRUE(first->prefill(cts::someIds(20)).isOk());
  auto second = first->fork();
  ASSERT_TRUE(second.isOk()) << second.status().toString();
  EXPECT_EQ(pool->freeSlots(), 0U);
  EXPECT_EQ(Session::create(pool).status().code(), Code::kResourceExhausted);
  EXPECT_EQ((*second)->fork().status().code(), Code::kResourceExhausted);
  first.reset();
  EXPECT_EQ(pool->freeSlots(), 1U);
  EXPECT_TRUE((*second)->fork().isOk());
  EXPECT_EQ(pool->freeSlots(), 1U) << "the fork died at once";
  EXPECT_EQ(SlotPool::create(openTiny(GetParam()), 0).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(SlotPool::create(openTiny(GetParam()), UINT32_MAX).status().code(), Code::kResourceExhausted);
}

TEST_P(SlotPoolTest, ASlotsLastOwnerLeavesNothing) {
  const auto ids = cts::someIds(30);
  const auto expected = stepByStep(ids);
  const auto pool = openPool(1);
  ASSERT_TRUE(draw(pool)->prefill(cts::someIds(50, 7)).isOk());
  const auto session = draw(pool);
  for (size_t i = 0; i < ids.size(); ++i) {
    const auto logits = session->decode(ids[i]);
    ASSERT_TRUE(logits.isOk());
    ASSERT_EQ(cts::bitsOf(*logits), expected[i]) << i;
  }
}

TEST_P(SlotPoolTest, CommonStepsGiveTheBitsOfLoneOnes) {
  constexpr uint32_t kSessions = 8;
  const auto pool = openPool(kSessions);
  std::vector<std::unique_ptr<Session>> sessions;
  std::vector<std::vector<int32_t>> ids;
  std::vector<std::vector<Bits>> expected;
  for (uint32_t i = 0; i < kSessions; ++i) {
    const uint32_t length = std::array{1U, 63U, 17U, 40U, 64U, 16U, 2U, 33U}[i];
    ids.push_back(cts::someIds(cts::kKvRows, 13 * i));
    expected.push_back(stepByStep(ids[i]));
    sessions.push_back(draw(pool));
    ASSERT_TRUE(sessions[i]->prefill(std::span(ids[i]).first(length)).isOk());
  }
  for (uint32_t step = 0; step < 140; ++step) {
    // Every number of members, whichever; those whose cache is full stay away.
    std::vector<Session*> members;
    std::vector<int32_t> tokens;
    std::vector<uint32_t> numbers;
    for (uint32_t k = 0; k < kSessions && members.size() < step % kSessions + 1; ++k) {
      const uint32_t number = (k * 3 + step) % kSessions;
      if (sessions[number]->position() == cts::kKvRows) continue;
      members.push_back(sessions[number].get());
      tokens.push_back(ids[number][sessions[number]->position()]);
      numbers.push_back(number);
    }
    if (members.empty()) break;
    const auto logits = Session::decodeTogether(members, tokens);
    ASSERT_TRUE(logits.isOk()) << logits.status().toString();
    ASSERT_EQ(logits->size(), members.size() * cts::kVocab);
    for (size_t i = 0; i < members.size(); ++i) {
      ASSERT_EQ(bitsOfRow(*logits, i), expected[numbers[i]][members[i]->position() - 1]) << "step " << step;
    }
  }
}

TEST_P(SlotPoolTest, CommonStepsShiftEachSessionAsLoneOnesDo) {
  const SessionOptions shifting{.contextShift = true};
  const auto pool = openPool(4), lonePool = openPool(4);
  std::vector<std::unique_ptr<Session>> sessions, lone;
  std::vector<Session*> members;
  for (const uint32_t length : {64U, 60U, 64U, 1U}) {
    sessions.push_back(draw(pool, shifting));
    lone.push_back(draw(lonePool, shifting));
    for (Session* each : {sessions.back().get(), lone.back().get()}) {
      ASSERT_TRUE(each->prefill(cts::someIds(length, length)).isOk());
    }
    members.push_back(sessions.back().get());
  }
  for (uint32_t step = 0; step < 250; ++step) {
    const auto tokens = cts::someIds(4, step);
    const auto logits = Session::decodeTogether(members, tokens);
    ASSERT_TRUE(logits.isOk()) << logits.status().toString();
    for (size_t i = 0; i < members.size(); ++i) {
      const auto expected = lone[i]->decode(tokens[i]);
      ASSERT_TRUE(expected.isOk());
      ASSERT_EQ(bitsOfRow(*logits, i), cts::bitsOf(*expected)) << "session " << i << ", step " << step;
      ASSERT_EQ(members[i]->position(), lone[i]->position());
    }
  }
}

TEST_P(SlotPoolTest, ACopiedPrefixIsAsGoodAsAComputedOne) {
  const auto pool = openPool(3);
  const auto from = draw(pool), to = draw(pool), derived = draw(pool);
  const auto ids = cts::someIds(40);
  ASSERT_TRUE(from->prefill(ids).isOk());
  const KvLayout layout = KvLayout::of(pool->model()->blob().header());
  for (const uint32_t common : {0U, 10U, 30U}) {
    std::vector<int32_t> other(ids.begin(), ids.begin() + common);
    other.insert(other.end(), {79, 78, 77});
    ASSERT_TRUE(to->prompt(other).isOk());
    to->takeTimes();
    ASSERT_TRUE(to->copyPrefix(*from, 30).isOk());
    EXPECT_EQ(to->times().bytesCopied, layout.packedBytes(30 - common));
    EXPECT_EQ(to->exactTokens(), 30U);
    std::vector<int32_t> now(ids.begin(), ids.begin() + 30);
    EXPECT_EQ(std::vector<int32_t>(to->ids().begin(), to->ids().end()), now);
    now.push_back(5);
    const auto logits = to->decode(5);
    ASSERT_TRUE(logits.isOk());
    EXPECT_EQ(cts::bitsOf(*logits), fresh(now));
  }
  EXPECT_EQ(to->copyPrefix(*from, 41).code(), Code::kOutOfRange);
  EXPECT_EQ(to->copyPrefix(*open(), 0).code(), Code::kInvalidArgument);
  ASSERT_TRUE(derived->prefill(ids).isOk());
  ASSERT_TRUE(derived->truncate(10, 20).isOk());
  EXPECT_EQ(to->copyPrefix(*derived, 11).code(), Code::kOutOfRange);
  EXPECT_EQ(to->position(), 31U) << "a refused copy changes nothing";
  ASSERT_TRUE(derived->copyPrefix(*derived, 7).isOk());
  EXPECT_EQ(derived->position(), 7U);
}

TEST_P(SlotPoolTest, GapsAroundSlotsStayUntouched) {
  const auto pool = openPool(3);
  std::vector<std::unique_ptr<Session>> sessions;
  for (int i = 0; i < 3; ++i) sessions.push_back(draw(pool));
  const uint64_t kvBytes = sessions[0]->cache().size();
  const auto memory = pool->memory();
  std::vector<std::span<std::byte>> gaps;
  for (uint32_t slot = 0; slot < 3; ++slot) {
    gaps.push_back(memory.subspan(pool->cacheOffset(slot) - SlotPool::kGapBytes, SlotPool::kGapBytes));
    gaps.push_back(memory.subspan(pool->cacheOffset(slot) + kvBytes, SlotPool::kGapBytes));
  }
  gaps.push_back(memory.last(SlotPool::kGapBytes));
  for (const auto gap : gaps) std::ranges::fill(gap, cts::kCanary);
  for (const uint32_t length : {64U, 50U, 1U}) {
    for (auto& session : sessions) {
      ASSERT_TRUE(session->rewind(0).isOk());
      ASSERT_TRUE(session->prefill(cts::someIds(length)).isOk());
    }
    Session* members[] = {sessions[2].get(), sessions[0].get(), sessions[1].get()};
    for (uint32_t row = length; row < cts::kKvRows; ++row) {
      ASSERT_TRUE(Session::decodeTogether(members, cts::someIds(3)).isOk());
    }
    for (const auto gap : gaps) {
      EXPECT_TRUE(std::ranges::all_of(gap, [](std::byte b) { return b == cts::kCanary; }));
    }
  }
}

TEST_P(SlotPoolTest, CommonStepsRefuseBeforeAnyWork) {
  const auto pool = openPool(3);
  const auto a = draw(pool), b = draw(pool), full = draw(pool);
  const auto stranger = open();
  ASSERT_TRUE(a->prefill(cts::someIds(5)).isOk());
  ASSERT_TRUE(full->prefill(cts::someIds(64)).isOk());
  while (full->position() < cts::kKvRows) ASSERT_TRUE(full->decode(1).isOk());
  const auto refusal = [](std::vector<Session*> members, std::vector<int32_t> ids) {
    return Session::decodeTogether(members, ids).status();
  };
  EXPECT_EQ(refusal({}, {}).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal({a.get(), b.get()}, {1}).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal({a.get(), a.get()}, {1, 2}).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal({a.get(), stranger.get()}, {1, 2}).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal(std::vector<Session*>(9, a.get()), std::vector<int32_t>(9)).code(), Code::kInvalidArgument);
  EXPECT_EQ(refusal({a.get(), b.get()}, {1, static_cast<int32_t>(cts::kVocab)}).code(), Code::kOutOfRange);
  const Status status = refusal({a.get(), full.get()}, {1, 2});
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_NE(status.toString().find("session 1"), std::string::npos) << status.toString();
  EXPECT_EQ(a->position(), 5U);
  EXPECT_EQ(b->position(), 0U);
  const auto messageOf = [&](std::vector<Session*> members) { return refusal(std::move(members), {1, 2}).toString(); };
  EXPECT_NE(messageOf({a.get(), a.get()}).find("session 1 of a common step: it is there twice"), std::string::npos);
  EXPECT_NE(messageOf({a.get(), stranger.get()}).find("of another pool than session 0"), std::string::npos);
}

// One that may shift is no different from others, however full it is.
TEST_P(SlotPoolTest, ARefusedCommonStepShiftsNothing) {
  const auto pool = openPool(3);
  const auto shifting = draw(pool, {.contextShift = true}), full = draw(pool), other = draw(pool);
  for (Session* each : {shifting.get(), full.get()}) {
    ASSERT_TRUE(each->prefill(cts::someIds(64)).isOk());
    while (each->position() < cts::kKvRows) ASSERT_TRUE(each->decode(1).isOk());
  }
  Session* const withFull[] = {shifting.get(), full.get()};
  Session* const withOther[] = {shifting.get(), other.get()};
  Session* const twice[] = {shifting.get(), other.get(), shifting.get()};
  EXPECT_FALSE(Session::decodeTogether(withFull, std::array{1, 2}).isOk());
  EXPECT_FALSE(Session::decodeTogether(withOther, std::array{1, -2}).isOk());
  EXPECT_FALSE(Session::decodeTogether(twice, std::array{1, 2, 3}).isOk());
  EXPECT_EQ(shifting->position(), cts::kKvRows);
  EXPECT_EQ(shifting->exactTokens(), cts::kKvRows);
  EXPECT_TRUE(Session::decodeTogether(withOther, std::array{1, 2}).isOk());
  EXPECT_EQ(shifting->position(), cts::kKvRows - cts::kKvRows / 4 + 1);
}

INSTANTIATE_TEST_SUITE_P(Devices, SlotPoolTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
