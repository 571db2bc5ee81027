// The best tokens of a row of logits, out of all logits and out of the lists that come from devices.
#include "engine/best_tokens.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

using testing::ElementsAre;
using Ids = std::vector<int32_t>;

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

// Every length against a sorted copy, with ties, infinities and NaN.
TEST(BestTokensTest, AreTheFirstOfASortedCopy) {
  std::mt19937 random(5);
  for (uint32_t round = 0; round < 50; ++round) {
    std::vector<float> logits(random() % 40);
    std::vector<ScoredToken> sorted;
    for (size_t id = 0; id < logits.size(); ++id) {
      const uint32_t kind = random() % 20;
      logits[id] = kind == 0 ? NAN : kind == 1 ? INFINITY : kind == 2 ? -INFINITY : static_cast<float>(random() % 7);
      if (!std::isnan(logits[id])) sorted.push_back({static_cast<int32_t>(id), logits[id]});
    }
    std::ranges::sort(sorted, [](const ScoredToken& a, const ScoredToken& b) {
      return std::pair(-a.logit, a.id) < std::pair(-b.logit, b.id);
    });
    for (size_t room = 0; room <= logits.size() + 1; ++room) {
      std::vector<ScoredToken> best(room);
      const size_t count = bestTokens(logits, best);
      ASSERT_EQ(count, std::min(room, sorted.size()));
      for (size_t i = 0; i < count; ++i) ASSERT_EQ(best[i].id, sorted[i].id) << room << ", " << i;
    }
  }
}

TEST(BestTokensTest, OfAListAreItsFirstUpToAnIdThatIsNone) {
  const float logits[] = {5, 4, 4, -__builtin_inff(), 3};
  for (const int32_t end : {-1, 80, INT32_MAX, INT32_MIN}) {
    const int32_t ids[] = {79, 2, 3, end, 4};
    std::vector<ScoredToken> best(5);
    EXPECT_EQ(bestTokens({logits, ids}, 80, best), 3U) << end;
    EXPECT_THAT(best, testing::Contains(ScoredToken{2, 4}));
    EXPECT_EQ(bestTokens({logits, ids}, 80, std::span(best).first(2)), 2U);
    EXPECT_EQ(bestTokens({logits, ids}, 80, {}), 0U);
    EXPECT_EQ(bestTokens({{}, {}}, 80, best), 0U);
  }
}

class SessionBestTest : public SessionTest {
 protected:
  /// However many are asked for, they are those of the logits.
  static void expectBest(const Session& session, std::span<const float> logits, uint32_t row, const char* what) {
    for (uint32_t room = 0; room <= cts::kVocab; ++room) {
      std::vector<ScoredToken> expected(room);
      std::vector<ScoredToken> found(room);
      expected.resize(bestTokens(logits, expected));
      found.resize(session.best(found, row));
      ASSERT_EQ(found, expected) << what << ", the best " << room << " of row " << row;
    }
  }
};

TEST_P(SessionBestTest, TokensOfDevicesAreThoseOfTheLogits) {
  for (const uint8_t topTokens : {uint8_t{0}, uint8_t{1}, uint8_t{cts::kTopTokens}, uint8_t{cts::kVocab}}) {
    SessionCase testCase = GetParam();
    testCase.blob.topTokens = topTokens;
    const auto pool = SlotPool::create(openTiny(testCase), 3);
    ASSERT_TRUE(pool.isOk()) << pool.status().toString();
    std::vector<std::unique_ptr<Session>> sessions;
    std::vector<Session*> members;
    for (uint32_t i = 0; i < 3; ++i) {
      auto session = Session::create(*pool);
      ASSERT_TRUE(session.isOk());
      const auto logits = (*session)->prefill(cts::someIds(3 + 7 * i));
      ASSERT_TRUE(logits.isOk()) << logits.status().toString();
      expectBest(**session, *logits, 0, "prompt");
      members.push_back(session->get());
      sessions.push_back(*std::move(session));
    }
    const auto alone = members[0]->decode(9);
    ASSERT_TRUE(alone.isOk());
    expectBest(*members[0], *alone, 0, "step");
    const auto together = Session::decodeTogether(members, Ids{5, 6, 7});
    ASSERT_TRUE(together.isOk()) << together.status().toString();
    for (uint32_t i = 0; i < 3; ++i) {
      expectBest(*members[i], together->subspan(size_t{i} * cts::kVocab, cts::kVocab), i, "common step");
    }
    const Status status = members[0]->evaluate(cts::someIds(20), [&](uint32_t, uint32_t count, auto logits) {
      for (uint32_t i = 0; i < count; ++i) {
        expectBest(*members[0], logits.subspan(size_t{i} * cts::kVocab, cts::kVocab), i, "evaluation");
      }
      return Status::ok();
    });
    EXPECT_TRUE(status.isOk()) << status.toString();
  }
}

TEST_P(SessionBestTest, ThereAreNoneWithoutLogits) {
  const auto session = open();
  std::vector<ScoredToken> best(2);
  EXPECT_EQ(session->best(best), 0U) << "new";
  ASSERT_TRUE(session->prefill(cts::someIds(20)).isOk());
  EXPECT_EQ(session->best(best), 2U);
  for (const uint32_t row : {1U, 7U, UINT32_MAX}) EXPECT_EQ(session->best(best, row), 0U) << "row " << row;
  const auto copy = session->fork();
  ASSERT_TRUE(copy.isOk()) << copy.status().toString();
  EXPECT_EQ((*copy)->best(best), 0U) << "a fork";
  ASSERT_TRUE(session->rewind(20).isOk());
  EXPECT_EQ(session->best(best), 2U) << "nothing was dropped";
  ASSERT_TRUE(session->rewind(19).isOk());
  EXPECT_EQ(session->best(best), 0U) << "rewound";
  ASSERT_TRUE(session->decode(5).isOk());
  EXPECT_EQ(session->best(best), 2U);
}

INSTANTIATE_TEST_SUITE_P(Devices, SessionBestTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
