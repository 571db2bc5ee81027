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
  static std::unique_ptr<Session> draw(const std::shared_ptr<SlotPool>& pool) {
    auto session = Session::create(pool);
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
}

INSTANTIATE_TEST_SUITE_P(Devices, SlotPoolTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
