// The best tokens of a row of logits; rounds without the thread of a scheduler.
#include "engine/scheduler_rounds.h"

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

// A cancel may come at any time, so also between the look at all requests and the chunk of one.
TEST(SchedulerRoundsTest, NoProgressIsToldBehindACancel) {
  for (const uint32_t chunks : {0U, 1U, 2U}) {
    const auto model = openTiny(kSessionCases[0], {.prefillChunks = {16}, .contexts = {}});
    const auto rounds = SchedulerRounds::create(model, {.slots = 1});
    ASSERT_TRUE(rounds.isOk()) << rounds.status().toString();
    const auto job = std::make_shared<Job>();
    uint32_t told = 0;
    job->request = {.prompt = cts::someIds(60),
                    .next = [](const NextTokenInput&) { return std::nullopt; },
                    .progress = [&](uint32_t, uint32_t) { ++told; }};
    job->response.answers.resize(1);
    (*rounds)->start(job);
    for (uint32_t i = 0; i < chunks; ++i) (*rounds)->round(0);
    job->isCancelled = true;
    (*rounds)->round(0);
    EXPECT_EQ(told, chunks);
    EXPECT_TRUE((*rounds)->isIdle());
    ASSERT_TRUE(job->result.has_value());
    ASSERT_TRUE(job->result->isOk());
    EXPECT_EQ((**job->result).promptTimes.chunks.size(), chunks);
  }
}

}  // namespace
}  // namespace firn::engine
