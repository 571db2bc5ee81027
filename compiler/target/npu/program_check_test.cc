#include "compiler/target/npu/program_check.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>

#include "base/concat.h"
#include "compiler/target/npu/execution_for_test.h"
#include "compiler/target/npu/happens_before.h"

namespace firn::target {
namespace {

CheckRegion region(uint32_t value, uint64_t address, bool isWrite) {
  return {.memory = 0, .value = value, .place = 0, .address = address, .bytes = 64, .dims = {}, .isWrite = isWrite};
}

/// make writes x, copy reads it and writes y, use reads y; each on a queue of its own.
CheckProgram chain() {
  CheckProgram program;
  program.memories = {{"memory", 256, false}};
  program.values = {{"x", 64}, {"y", 64}};
  program.tasks = {{"make", {region(0, 0, true)}, {}, {0}},
                   {"copy", {region(0, 0, false), region(1, 64, true)}, {{0, 1}}, {1}},
                   {"use", {region(1, 64, false)}, {{1, 1}}, {}}};
  program.queues = {{0}, {1}, {2}};
  program.barriers = 4;
  return program;
}

TEST(ProgramCheckTest, TakesAGoodProgram) { EXPECT_EQ(checkProgram(chain()).message(), ""); }

TEST(ProgramCheckTest, NamesWhatIsWrong) {
  struct Case {
    std::function<void(CheckProgram&)> spoil;
    std::string message;
  };
  const std::vector<Case> cases = {
      {[](CheckProgram& p) { p.queues[1].clear(); }, "task 'copy' stands in no queue"},
      {[](CheckProgram& p) { p.queues[1].push_back(0); }, "task 'make' stands in the queues twice"},
      {[](CheckProgram& p) { p.tasks[1].signals = {4}; }, "task 'copy': has a barrier above the machine's 4"},
      {[](CheckProgram& p) { p.tasks[1].regions[1].address = 193; },
       "task 'copy': writes 'y' at byte 193 of memory for 64 bytes, but that has 256"},
      {[](CheckProgram& p) { p.tasks[1].regions[1].bytes = 65; },
       "task 'copy': writes 'y' from byte 0 on for 65 bytes, but it has 64"},
      {[](CheckProgram& p) { p.tasks[2].regions[0].address = 128; },
       "task 'use' reads byte 0 of 'y' at byte 128 of memory, but by task 'copy' that lies at byte 64"},
      {[](CheckProgram& p) { p.tasks[1].waits[0].count = 2; },
       "task 'copy' waits for 2 signals of barrier 0, but the body has 1, the last of a queue from 'make'"},
      {[](CheckProgram& p) { p.tasks[0].waits = {{1, 1}}; },
       "deadlock: task 'make' waits for 1 signals of barrier 1, one of which must come from 'copy'; task 'copy' waits "
       "for "
       "1 signals of barrier 0, one of which must come from 'make'"},
      {[](CheckProgram& p) { p.tasks[2].waits.clear(); },
       "task 'use' reads byte 64 of memory ('y'), which task 'copy' touches too; no queue and no barrier says which "
       "comes "
       "first"},
      {[](CheckProgram& p) { p.tasks[0].regions.clear(); },
       "task 'copy' reads byte 0 of memory ('x'), which no task has written before"},
      {[](CheckProgram& p) { p.tasks[1].regions = {region(1, 0, true)}, p.tasks[2].regions = {region(0, 0, false)}; },
       "task 'use' reads byte 0 of memory ('x'), where task 'copy' has written 'y' last"},
      {[](CheckProgram& p) { p.tasks[1].regions[1].address = 32, p.tasks[2].regions.clear(); },
       "task 'copy' writes byte 32 of memory ('y'), which it reads as 'x'"},
      {[](CheckProgram& p) { std::swap(p.tasks[1], p.tasks[2]), p.queues = {{0}, {2}, {1}}; },
       "task 'use' reads byte 64 of memory ('y'), which task 'copy' touches too; it comes first in the program, but "
       "the "
       "other runs first"},
  };
  for (const Case& each : cases) {
    CheckProgram program = chain();
    each.spoil(program);
    const Status status = checkProgram(program);
    EXPECT_EQ(status.message(), each.message);
    EXPECT_EQ(status.code(), Code::kInternal);
  }
}

TEST(ProgramCheckTest, AWriteMustWaitForReaders) {
  CheckProgram program = chain();
  program.tasks.push_back({"next", {region(0, 0, true)}, {{0, 1}}, {}});  // behind make, beside copy
  program.queues.push_back({3});
  EXPECT_EQ(
      checkProgram(program).message(),
      "task 'next' writes byte 0 of memory ('x'), which task 'copy' touches too; no queue and no barrier says which "
      "comes first");
  program.tasks[3].waits = {{1, 1}};
  EXPECT_EQ(checkProgram(program).message(), "");
}

TEST(ProgramCheckTest, StridedRegionsMeetOnlyInTheirBytes) {
  CheckProgram program;
  program.memories = {{"memory", 4096, false}};
  program.values = {{"sheet", 4096}};
  const auto column = [](uint64_t first, uint64_t bytes, bool isWrite) {
    return CheckRegion{.memory = 0,
                       .value = 0,
                       .place = first,
                       .address = first,
                       .bytes = bytes,
                       .dims = {{2, 2048}, {8, 256}},
                       .isWrite = isWrite};
  };
  program.tasks = {{"left", {column(0, 100, true)}, {}, {}}, {"right", {column(100, 156, true)}, {}, {}}};
  program.queues = {{0}, {1}};
  EXPECT_EQ(checkProgram(program).message(), "");
  program.tasks[1].regions = {column(99, 156, true)};
  EXPECT_EQ(
      checkProgram(program).message(),
      "task 'right' writes byte 99 of memory ('sheet'), which task 'left' touches too; no queue and no barrier says "
      "which comes first");
}

/// A barrier may count other signals once all earlier ones have certainly come.
TEST(ProgramCheckTest, ABarrierIsUsedAgainOnlyWhenItsFirstUseIsOver) {
  CheckProgram program;
  program.barriers = 2;
  program.tasks = {{"a", {}, {}, {0}}, {"b", {}, {{0, 1}}, {1}}, {"c", {}, {{1, 1}}, {0}}, {"d", {}, {{0, 2}}, {}}};
  program.queues = {{0}, {1}, {2}, {3}};
  EXPECT_EQ(checkProgram(program).message(), "");
  program.tasks[2].waits.clear();
  EXPECT_EQ(
      checkProgram(program).message(),
      "task 'b' waits for 1 signals of barrier 0, of which 0 are certain; the next may come from any of 'a', 'c'");
}

/// Tasks with random waits and signals, on barriers that several queues share.
CheckProgram randomProgram(std::mt19937& random) {
  CheckProgram program;
  program.barriers = 3;
  program.queues.resize(4);
  for (uint32_t task = 0; task < 11; ++task) {
    CheckTask made{concat("t", task), {}, {}, {}};
    if (random() % 3 == 0) {
      made.waits.push_back({static_cast<uint16_t>(random() % 3), static_cast<uint32_t>(1 + random() % 3)});
    }
    for (uint64_t i = random() % 3; i > 0; --i) made.signals.push_back(static_cast<uint16_t>(random() % 3));
    program.tasks.push_back(made);
    program.queues[random() % 4].push_back(task);
  }
  return program;
}

TEST(HappensBeforeTest, ClaimsNothingThatAnExecutionBreaks) {
  std::mt19937 random(5);
  size_t claimed = 0;
  size_t certain = 0;
  size_t refused = 0;
  for (int i = 0; i < 150; ++i) {
    const CheckProgram program = randomProgram(random);
    const auto truth = certainOrder(program);
    const auto order = HappensBefore::of(program);
    if (!truth) {
      ASSERT_FALSE(order.isOk()) << "a deadlock was not found";
      ++refused;
      continue;
    }
    if (!order) continue;  // it is open for which signals a task waits
    for (uint32_t a = 0; a < program.tasks.size(); ++a) {
      for (uint32_t b = 0; b < program.tasks.size(); ++b) {
        if (a == b) continue;
        if (order->holds(a, b)) ASSERT_TRUE((*truth)[a][b]) << a << " before " << b << " in program " << i;
        claimed += order->holds(a, b) ? 1 : 0;
        certain += (*truth)[a][b] ? 1 : 0;
      }
    }
  }
  EXPECT_GT(refused, 5U);
  EXPECT_GT(certain, 500U);
  EXPECT_EQ(claimed, certain) << "something certain was not proved";
}

}  // namespace
}  // namespace firn::target
