#include "runtime/cts/device_cases.h"

#include <utility>

#include "kernels/cpu/kernels.h"

namespace firn::runtime::cts {

std::vector<DeviceCase> deviceCases() {
  const TinyOptions reference{.target = blob::Target::kReference};
  const TinyOptions oneLane{.target = blob::Target::kCpu, .lanes = 1};
  const TinyOptions npu{.target = blob::Target::kNpu};
  const TinyOptions npuGroups{.target = blob::Target::kNpu, .weights = DType::kQ8_0, .keyBias = true};
  const TinyOptions twoLanes{.target = blob::Target::kCpu, .lanes = 2, .weights = DType::kQ8_0, .activationPlanes = 2};
  std::vector<DeviceCase> cases = {
      {.name = "null", .device = "null", .options = {}, .program = reference},
      {.name = "null_on_cpu_program", .device = "null", .options = {}, .program = twoLanes},
      {.name = "reference", .device = "reference", .options = {}, .program = reference},
      {.name = "cpu_1_lane_f32", .device = "cpu", .options = {}, .program = oneLane},
      {.name = "cpu_2_lanes_q8_0", .device = "cpu", .options = {}, .program = twoLanes},
      {.name = "npu", .device = "npu", .options = {}, .program = npu},
      {.name = "npu_q8_0_key_bias", .device = "npu", .options = {}, .program = npuGroups},
      {.name = "npu_checked",
       .device = "npu",
       .options = {.simulation = SimulationMode::kChecked},
       .program = npuGroups},
  };
  for (const auto& [device, program] : {std::pair{"reference", reference}, {"cpu", twoLanes}}) {
    for (const DType kvType : {DType::kF32, DType::kF16, DType::kI8}) {
      if (kvType == program.cacheType()) continue;
      TinyOptions other = program;
      other.kvType = kvType;
      const std::string name = std::string(device) + "_kv_" + std::string(dtypeInfo(kvType)->name);
      cases.push_back({.name = name, .device = device, .options = {}, .program = other});
      if (kvType != DType::kI8) continue;
      other.keyBias = true;
      cases.push_back({.name = name + "_key_bias", .device = device, .options = {}, .program = other});
    }
  }
  for (const auto isa : {cpu::InstructionSet::kPortable, cpu::InstructionSet::kAvx2, cpu::InstructionSet::kAvx512}) {
    if (!cpu::isSupported(isa)) continue;
    const std::string name(cpu::instructionSetName(isa));
    cases.push_back({.name = "cpu_" + name,
                     .device = "cpu",
                     .options = {.instructionSet = name, .pinThreads = false},
                     .program = twoLanes});
  }
  return cases;
}

const std::vector<DeviceException>& deviceExceptions() {
  static const std::vector<DeviceException> kExceptions = {
      {"null", "ValuesTest.OnlyTheRowsOfTheTokensAreWritten", "it computes nothing, so it writes no cache"},
      {"null", "BatchTest.OnlyTheRowOfEachTokenIsWritten", "it computes nothing, so it writes no cache"},
      {"null", "ValuesTest.LogitsDependOnEarlierTokens", "its logits depend on the position alone"},
      {"null", "LifecycleTest.ProfileCountsTasks", "it runs no tasks"},
      {"npu", "BatchTest.*", "it has no batches: a cache for each row is nothing a static program can name"},
      {"npu", "TopTest.ListsOfBatchesAreThoseOfTheirLogits", "it has no batches"},
      {"npu", "LoadTest.CallsAreBounded", "it has no batches, which alone make the addresses of calls many"},
  };
  return kExceptions;
}

void DeviceTest::SetUp() {
  const testing::TestInfo& test = *testing::UnitTest::GetInstance()->current_test_info();
  // "Devices/ValuesTest" and "Name/case"
  const std::string suite = test.test_suite_name();
  const std::string name = test.name();
  const std::string ownSuite = suite.substr(suite.find('/') + 1);
  const std::string full = ownSuite + "." + name.substr(0, name.find('/'));
  for (const DeviceException& exception : deviceExceptions()) {
    const bool isMeant = exception.test == full || exception.test == ownSuite + ".*";
    if (exception.device == GetParam().device && isMeant) GTEST_SKIP() << exception.reason;
  }
}

void RigTest::SetUp() {
  DeviceTest::SetUp();
  if (IsSkipped()) return;
  rig = Rig::open(GetParam());
  ASSERT_NE(rig, nullptr);
}

std::string caseName(const testing::TestParamInfo<DeviceCase>& info) { return info.param.name; }

}  // namespace firn::runtime::cts
