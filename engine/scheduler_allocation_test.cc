// Steady decoding of several sessions allocates nothing: this program counts every allocation it makes.
#include <gtest/gtest.h>

#include <algorithm>
#include <future>

#include "base/allocation_counter_for_test.h"
#include "engine/scheduler.h"
#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

class SchedulerAllocationTest : public SessionTest {};

TEST_P(SchedulerAllocationTest, StepsAllocateNothing) {
  for (const bool contextShift : {false, true}) {
    const auto scheduler =
        Scheduler::create(openTiny(GetParam()), {.slots = 3, .session = {.contextShift = contextShift}});
    ASSERT_TRUE(scheduler.isOk());
    std::vector<uint64_t> counts(3 * cts::kKvRows);  // of the process, whose other threads wait
    size_t calls = 0;
    std::promise<void> gate;
    const std::shared_future<void> opened = gate.get_future().share();
    std::vector<Ticket> tickets;
    for (int32_t i = 0; i < 3; ++i) {
      const auto next = [&, opened](const NextTokenInput& input) -> std::optional<int32_t> {
        opened.wait();
        counts[calls++] = allocationCount();
        return input.top[0].id;
      };
      // Behind the long prompt, rows are dropped and the answer grows beyond what the cache had room for.
      const Request request{.prompt = contextShift ? cts::someIds(kMaxPrompt, i) : std::vector<int32_t>{i},
                            .next = next,
                            .progress = {},
                            .maxTokens = 100,
                            .answers = 1,
                            .topK = 5};
      const auto ticket = (*scheduler)->submit(request);
      ASSERT_TRUE(ticket.isOk());
      tickets.push_back(*ticket);
    }
    gate.set_value();
    for (const Ticket& ticket : tickets) ASSERT_TRUE(ticket.wait().isOk());
    ASSERT_EQ(calls, 300U);
    // The prompts and the first steps of all are behind, and no answer has ended.
    EXPECT_EQ(counts[30], counts[280]) << contextShift;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, SchedulerAllocationTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
