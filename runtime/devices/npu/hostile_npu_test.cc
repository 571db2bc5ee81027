// Programs with random faults: each is refused or runs, in every mode; a sanitizer sees what it touches.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <string>

#include "blob/extent.h"
#include "runtime/cts/rig.h"

namespace firn::runtime {
namespace {

class FaultMaker {
 public:
  FaultMaker(uint32_t seed, blob::Program& program) : numbers_(seed), program_(program) {}

  void makeOne() {
    blob::TaskRecord& task = program_.tasks[below(program_.tasks.size())];
    blob::OperandRecord& operand = program_.operands[task.firstOperand + below(task.operandCount)];
    switch (below(7)) {
      case 0: operand.offset = below(kCmxBytes / 4) * 4; break;
      case 1: operand.base ^= 1; break;
      case 2: changeAttr(task); break;
      case 3: changeWait(task); break;
      case 4: operand.strides[0] += static_cast<uint32_t>(below(64)); break;
      case 5: changeDim(task, operand.dims[0], 1 + static_cast<uint32_t>(below(32))); break;
      default: program_.callArgs[below(program_.callArgs.size())] = below(1 << 12) * blob::kTensorAlignment;
    }
    operand.bytes = blob::operandBytes(operand).value_or(0);
  }

 private:
  static constexpr uint64_t kCmxBytes = 1 << 20;

  uint64_t below(uint64_t end) { return numbers_() % end; }

  void changeAttr(const blob::TaskRecord& task) {
    if (task.attrCount == 0) return;
    uint64_t& attr = program_.attrs[task.firstAttr + below(task.attrCount)];
    attr = below(2) == 0 ? below(8) : (uint64_t{1} << below(33)) - below(2);
  }
  void changeWait(const blob::TaskRecord& task) {
    if (task.waitCount == 0) return;
    auto* const waits = reinterpret_cast<blob::BarrierUse*>(&program_.attrs[task.firstAttr + task.attrCount]);
    waits[below(task.waitCount)] = {.barrier = static_cast<uint32_t>(below(6)),
                                    .count = 1 + static_cast<uint32_t>(below(40))};
  }
  /// Wherever the task has it, so that dims still agree.
  void changeDim(const blob::TaskRecord& task, uint32_t from, uint32_t to) {
    for (uint32_t i = 0; i < task.operandCount; ++i) {
      blob::OperandRecord& operand = program_.operands[task.firstOperand + i];
      std::ranges::replace(operand.dims, from, to);
      operand.bytes = blob::operandBytes(operand).value_or(0);
    }
  }

  std::mt19937 numbers_;
  blob::Program& program_;
};

/// Every entry once, with 20 rows in the cache.
void runAll(const cts::DeviceCase& testCase, std::map<std::string, int>& outcomes) {
  const std::unique_ptr<cts::Rig> rig = cts::Rig::open(testCase);
  ASSERT_NE(rig, nullptr);
  for (const char* entry : {"generate.64", "prefill.16.128", "prefill.64.128", "head.16"}) {
    const Status status = rig->run(entry, {.ids = {7}, .row0 = 20});
    EXPECT_TRUE(status.isOk() || status.code() == Code::kInternal) << status.toString();
    ++outcomes[std::string(codeName(status.code()))];
    EXPECT_TRUE(rig->marginsIntact()) << entry;
  }
}

TEST(HostileNpuTest, FaultyProgramsAreRefusedOrRun) {
  std::map<std::string, int> outcomes;
  constexpr uint32_t kPrograms = 40;
  for (uint32_t seed = 0; seed < kPrograms; ++seed) {
    cts::DeviceCase testCase = {.name = "npu", .device = "npu", .options = {}, .program = {}};
    testCase.options.simulation = seed % 4 == 0 ? SimulationMode::kChecked : SimulationMode::kFunctional;
    testCase.program.target = blob::Target::kNpu;
    testCase.program.weights = seed % 2 == 0 ? DType::kF32 : DType::kQ8_0;
    testCase.program.edit = [seed](blob::Program& program) { FaultMaker(seed, program).makeOne(); };
    const Result<blob::Blob> blob = makeTinyBlob(testCase.program);
    if (!blob) {
      ++outcomes["refused"];
      continue;
    }
    const auto device = openDevice("npu", testCase.options);
    ASSERT_TRUE(device);
    if (const Status loaded = (*device)->load(*blob, {}).status(); loaded.isOk()) {
      runAll(testCase, outcomes);
    } else {
      EXPECT_EQ(loaded.code(), Code::kCorrupt) << loaded.toString();
      ++outcomes["deadlock"];
    }
  }
  for (const char* outcome : {"refused", "deadlock", "ok"}) EXPECT_GT(outcomes[outcome], 0) << outcome;
}

}  // namespace
}  // namespace firn::runtime
