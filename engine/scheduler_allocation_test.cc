// Steady decoding of several sessions allocates nothing: this program counts every allocation it makes.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/allocation_counter_for_test.h"
#include "engine/scheduler.h"
#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

class SchedulerAllocationTest : public SessionTest {};

TEST_P(SchedulerAllocationTest, StepsAllocateNothing) {
  const auto scheduler = Scheduler::create(openTiny(GetParam()), {.slots = 3});
  ASSERT_TRUE(scheduler.isOk());
  std::vector<uint64_t> counts(3 * cts::kKvRows);  // of the stepping thread
  size_t calls = 0;
  std::vector<Ticket> tickets;
  for (int32_t i = 0; i < 3; ++i) {
    const auto next = [&](const NextTokenInput& input) -> std::optional<int32_t> {
      counts[calls++] = allocationCount();
      return input.top[0].id;
    };
    const auto ticket =
        (*scheduler)->submit({.prompt = {i}, .next = next, .progress = {}, .maxTokens = 100, .answers = 1, .topK = 5});
    ASSERT_TRUE(ticket.isOk());
    tickets.push_back(*ticket);
  }
  for (const Ticket& ticket : tickets) ASSERT_TRUE(ticket.wait().isOk());
  ASSERT_EQ(calls, 300U);
  // The prompts and the first steps of all are behind, and no answer has ended.
  EXPECT_EQ(counts[30], counts[280]);
}

INSTANTIATE_TEST_SUITE_P(Devices, SchedulerAllocationTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
