// Rounds without the thread of a scheduler.
#include "engine/scheduler_rounds.h"

#include <gtest/gtest.h>

#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

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
