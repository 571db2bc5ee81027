#include "engine/session.h"

#include <cstring>

#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

TEST_P(SessionTest, EveryChunkingGivesTheSameBits) {
  const auto ids = cts::someIds(kMaxPrompt);
  const auto expected = stepByStep(ids);
  const std::vector<Ladders> ladders = {{}, {{16}, {}}, {{64}, {128}}, {{16, 64}, {64}}, {{16}, {128}}};
  for (const Ladders& ladder : ladders) {
    const auto session = open(ladder);
    for (const uint32_t n : {1U, 2U, 15U, 16U, 17U, 31U, 33U, 63U, 64U}) {
      ASSERT_TRUE(session->rewind(0).isOk());
      const auto logits = session->prefill(std::span(ids).first(n));
      ASSERT_TRUE(logits.isOk()) << logits.status().toString();
      EXPECT_EQ(session->position(), n);
      EXPECT_EQ(cts::bitsOf(*logits), expected[n - 1]) << n << " tokens";
    }
  }
}

TEST_P(SessionTest, EvaluateGivesEveryPosition) {
  const auto ids = cts::someIds(37);
  const auto expected = stepByStep(ids);
  const auto session = open();
  uint32_t next = 0;
  const Status status = session->evaluate(ids, [&](uint32_t first, uint32_t count, std::span<const float> logits) {
    EXPECT_EQ(first, next);
    for (uint32_t i = 0; i < count; ++i) {
      EXPECT_EQ(cts::bitsOf(logits.subspan(i * cts::kVocab, cts::kVocab)), expected[first + i]) << first + i;
    }
    next = first + count;
    return Status::ok();
  });
  EXPECT_TRUE(status.isOk()) << status.toString();
  EXPECT_EQ(next, ids.size());
}

TEST_P(SessionTest, PoisonInUnusedRowsChangesNothing) {
  const auto ids = cts::someIds(100);
  const auto expected = stepByStep(ids);
  for (const unsigned poison : {0xFFU, 0x7CU}) {  // NaN, and a large number or Inf, in f16 and f32
    const auto session = open();
    for (uint32_t i = 0; i < ids.size(); ++i) {
      fillRowsFrom(*session, i, static_cast<std::byte>(poison));
      const auto logits = session->decode(ids[i]);
      ASSERT_TRUE(logits.isOk());
      ASSERT_EQ(cts::bitsOf(*logits), expected[i]) << "step " << i;
    }
  }
}

TEST_P(SessionTest, RewindIsAsIfTheTailHadNeverBeen) {
  const auto ids = cts::someIds(60);
  const auto expected = stepByStep(ids);
  const auto session = open();
  ASSERT_TRUE(session->prefill(ids).isOk());
  ASSERT_TRUE(session->rewind(20).isOk());
  ASSERT_TRUE(session->decode(cts::someIds(1, 7)[0]).isOk());  // another 21st token
  ASSERT_TRUE(session->rewind(20).isOk());
  const auto logits = session->prefill(std::span(ids).subspan(20, 30));
  ASSERT_TRUE(logits.isOk()) << logits.status().toString();
  EXPECT_EQ(cts::bitsOf(*logits), expected[49]);
  EXPECT_EQ(session->rewind(51).code(), Code::kOutOfRange);
}

TEST_P(SessionTest, RefusesBeforeAnyWork) {
  const auto session = open();
  EXPECT_EQ(session->prefill({}).status().code(), Code::kInvalidArgument);
  const auto tooLong = session->prefill(cts::someIds(kMaxPrompt + 1)).status();
  EXPECT_EQ(tooLong.code(), Code::kOutOfRange);
  EXPECT_NE(tooLong.message().find("65 tokens, the limit is 64"), std::string::npos) << tooLong.message();
  for (const int32_t bad : {-1, static_cast<int32_t>(cts::kVocab), INT32_MAX, INT32_MIN}) {
    const std::vector<int32_t> ids = {1, 2, bad};
    EXPECT_EQ(session->prefill(ids).status().code(), Code::kOutOfRange) << bad;
    EXPECT_EQ(session->decode(bad).status().code(), Code::kOutOfRange) << bad;
  }
  EXPECT_EQ(session->position(), 0U);
}

TEST_P(SessionTest, AFullCacheStopsWithAStatus) {
  const auto session = open();
  ASSERT_TRUE(session->prefill(cts::someIds(60)).isOk());
  for (uint32_t i = 60; i < cts::kKvRows; ++i) ASSERT_TRUE(session->decode(1).isOk()) << i;
  const auto full = session->decode(1);
  EXPECT_EQ(full.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(session->position(), cts::kKvRows);
  ASSERT_TRUE(session->rewind(10).isOk());
  EXPECT_TRUE(session->decode(1).isOk());
}

TEST_P(SessionTest, CancelKeepsTheFinishedChunks) {
  const auto ids = cts::someIds(50);
  const auto expected = stepByStep(ids);
  const auto session = open({.prefillChunks = {16}, .contexts = {}});
  const auto plan = session->plan(50);
  ASSERT_TRUE(plan.isOk());
  ASSERT_GT(plan->steps.size(), 2U);
  const uint32_t kept = plan->steps[2].row0;  // cancelled before the third chunk
  int calls = 0;
  const auto cancelled = session->prefill(ids, [&](uint32_t, uint32_t) { return ++calls < 3; });
  EXPECT_EQ(cancelled.status().code(), Code::kCancelled);
  ASSERT_EQ(session->position(), kept);
  const auto logits = session->prefill(std::span(ids).subspan(kept));
  ASSERT_TRUE(logits.isOk());
  EXPECT_EQ(cts::bitsOf(*logits), expected[49]);
}

INSTANTIATE_TEST_SUITE_P(Devices, SessionTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
