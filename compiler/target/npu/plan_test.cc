#include "compiler/target/npu/plan.h"

#include <gtest/gtest.h>

#include <functional>

#include "compiler/target/npu/plans_for_test.h"

namespace firn::target {
namespace {

Plan smallPlan() {
  Plan plan;
  plan.buffers = {{"x", 256, 1, false}, {"kv", 1024, 0, true}};
  plan.tasks = {
      {"load",
       machine::Engine::kDma,
       0,
       {1000, 0, 0},
       {{.buffer = 0, .isWrite = true, .tiles = 1, .rows = 4, .rowBytes = 64, .firstByte = 16, .bytes = 48}}}};
  return plan;
}

TEST(PlanTest, TakesRectanglesThatJustFit) { EXPECT_EQ(checkPlan(smallPlan(), smallMachine(2)).message(), ""); }

TEST(PlanTest, SaysWhichTaskContradictsItsBuffers) {
  struct Case {
    std::function<void(Plan&)> spoil;
    std::string message;
  };
  const std::vector<Case> cases = {
      {[](Plan& p) { p.tasks[0].accesses[0].buffer = 2; }, "task 'load': buffer 2 of 2 does not exist"},
      {[](Plan& p) { p.tasks[0].accesses[0].tiles = 2; },
       "task 'load': buffer 'x' of 256 bytes: tiles 2 are not among its tiles 1"},
      {[](Plan& p) { p.tasks[0].accesses[0].tiles = 0; },
       "task 'load': buffer 'x' of 256 bytes: tiles 0 are not among its tiles 1"},
      {[](Plan& p) { p.tasks[0].accesses[0].rows = 5; },
       "task 'load': buffer 'x' of 256 bytes: rows 0 + 5 of 64 bytes, of each bytes 16 + 48, leave it"},
      {[](Plan& p) { p.tasks[0].accesses[0].firstRow = UINT64_MAX; },
       "task 'load': buffer 'x' of 256 bytes: rows 18446744073709551615 + 4 of 64 bytes, of each bytes 16 + 48, leave "
       "it"},
      {[](Plan& p) { p.tasks[0].accesses[0].bytes = 49; },
       "task 'load': buffer 'x' of 256 bytes: bytes 16 + 49 leave a row of 64 bytes"},
      {[](Plan& p) { p.tasks[0].accesses[0].bytes = 0; },
       "task 'load': buffer 'x' of 256 bytes: an access without bytes"},
      {[](Plan& p) { p.tasks[0].engine = machine::Engine::kDpu, p.tasks[0].tile = 2; },
       "task 'load': tile 2 of 2 does not exist"},
      {[](Plan& p) { p.buffers[0].tiles = 4; }, "buffer 'x': its tiles 4 (a bit mask) go beyond the 2 tiles of small"},
      {[](Plan& p) { p.buffers[0].bytes = 0; }, "buffer 'x' has no bytes"},
      {[](Plan& p) { p.buffers[0].isFixed = true; }, "buffer 'x' is fixed and in CMX, where nothing outlives a body"},
  };
  for (const Case& each : cases) {
    Plan plan = smallPlan();
    each.spoil(plan);
    const Status status = checkPlan(plan, smallMachine(2));
    EXPECT_EQ(status.code(), Code::kInternal);
    EXPECT_EQ(status.message(), each.message);
  }
}

}  // namespace
}  // namespace firn::target
