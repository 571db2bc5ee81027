// load, unload, query, openDevice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "blob/names.h"
#include "runtime/cts/device_cases.h"

namespace firn::runtime::cts {
namespace {

using testing::HasSubstr;

Status loadStatus(const DeviceCase& testCase, const TinyOptions& program, uint32_t threads) {
  FIRN_ASSIGN_OR_RETURN(const blob::Blob blob, makeTinyBlob(program));
  FIRN_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, openDevice(testCase.device, testCase.options));
  return device->load(blob, {.threads = threads}).status();
}

class LoadTest : public DeviceTest {};

TEST_P(LoadTest, QueryNamesTheDevice) {
  Result<std::unique_ptr<Device>> device = openDevice(GetParam().device, GetParam().options);
  ASSERT_TRUE(device);
  const DeviceInfo info = (*device)->query();
  EXPECT_EQ(info.name, GetParam().device);
  EXPECT_GE(info.maxThreads, 1U);
  if (!GetParam().options.instructionSet.empty()) EXPECT_EQ(info.instructionSet, GetParam().options.instructionSet);
}

TEST_P(LoadTest, LoadsAndUnloads) {
  std::unique_ptr<Rig> rig = Rig::open(GetParam());
  ASSERT_NE(rig, nullptr);
  EXPECT_TRUE(rig->device().unload(rig->program()));
  EXPECT_EQ(rig->device().unload(rig->program()).code(), Code::kInvalidArgument);
  EXPECT_EQ(rig->device().unload(ProgramId{1234}).code(), Code::kInvalidArgument);
  EXPECT_EQ(rig->device().submit(rig->program(), 0).code(), Code::kInvalidArgument);
}

TEST_P(LoadTest, WrongTargetIsRefusedWithBothNames) {
  if (GetParam().device == "null") GTEST_SKIP() << "takes every target";
  for (const blob::Target target : {blob::Target::kReference, blob::Target::kCpu, blob::Target::kNpu}) {
    if (blob::targetName(target) == GetParam().device) continue;
    const Status status = loadStatus(GetParam(), {.target = target}, 0);
    EXPECT_EQ(status.code(), Code::kVersionMismatch);
    EXPECT_THAT(status.message(),
                testing::AllOf(HasSubstr(std::string(blob::targetName(target))), HasSubstr(GetParam().device)));
  }
}

/// How a device says how many threads it takes.
std::string mostThreads(const DeviceCase& testCase) {
  if (testCase.device == "reference" || testCase.device == "npu") return "device " + testCase.device + " runs on 1";
  return "its program has " + std::to_string(testCase.program.lanes) + " lanes";
}

TEST_P(LoadTest, MoreThreadsThanLanesAreRefusedWithBothNumbers) {
  const Status status = loadStatus(GetParam(), GetParam().program, 17);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("17 threads"));
  EXPECT_THAT(status.message(), HasSubstr(mostThreads(GetParam())));
}

TEST_P(LoadTest, OtherArithmeticIsRefusedWithBothNumbers) {
  if (GetParam().device != "cpu") GTEST_SKIP() << "only the cpu target has an arithmetic of its own";
  TinyOptions other = GetParam().program;
  other.arithmeticId = 4321;
  const Status status = loadStatus(GetParam(), other, 0);
  EXPECT_EQ(status.code(), Code::kVersionMismatch);
  EXPECT_THAT(status.message(), testing::AllOf(HasSubstr("4321"), HasSubstr("arithmetic 1")));
}

TEST_P(LoadTest, WhatTheKernelsCannotTakeIsRefused) {
  if (GetParam().device != "cpu") GTEST_SKIP() << "only cpu kernels ask for more than the blob format does";
  TinyOptions faulty = GetParam().program;
  faulty.smallWorkspace = true;
  const Status status = loadStatus(GetParam(), faulty, 0);
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_THAT(status.message(), testing::AllOf(HasSubstr("attention (cpu.attention)"), HasSubstr("workspace")));
}

/// Calls of an empty body, as many as `count`, in the first batch of 8.
void addEmptyCalls(blob::Program& program, uint32_t count) {
  const uint32_t empty = program.beginBody("empty");
  const auto batch = std::ranges::find_if(program.entries, [](const blob::EntryRecord& entry) {
    return entry.kind == blob::EntryKind::kBatch && entry.rows == 8;
  });
  ASSERT_NE(batch, program.entries.end());
  const uint32_t at = batch->firstCall + batch->callCount;
  const uint32_t arg =
      at < program.calls.size() ? program.calls[at].firstArg : static_cast<uint32_t>(program.callArgs.size());
  program.calls.insert(program.calls.begin() + at, count,
                       {.body = empty, .layer = blob::kNoLayer, .firstArg = arg, .argCount = 0});
  batch->callCount += count;
  for (auto later = batch + 1; later != program.entries.end(); ++later) later->firstCall += count;
}

// A call takes 16 bytes in a file, and seventy times as many in the memory of a batch of 8.
TEST_P(LoadTest, CallsAreBounded) {
  if (GetParam().device == "null") GTEST_SKIP() << "resolves no calls";
  TinyOptions hostile = GetParam().program;
  for (const uint32_t count : {1000U, 300'000U}) {
    hostile.edit = [=](blob::Program& program) { addEmptyCalls(program, count); };
    const Status status = loadStatus(GetParam(), hostile, 0);
    if (count == 1000) {
      EXPECT_TRUE(status.isOk()) << status.toString();
      continue;
    }
    EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.toString();
    EXPECT_THAT(status.message(),
                testing::AllOf(HasSubstr("the limit is 268435456"), HasSubstr(std::to_string(count / 1000))));
  }
}

FIRN_ON_EVERY_DEVICE(LoadTest);

TEST(OpenDeviceTest, UnknownNameListsTheKnownOnes) {
  const Status status = openDevice("gpu").status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), testing::AllOf(HasSubstr("\"gpu\""), HasSubstr("cpu, npu, null, reference")));
}

TEST(OpenDeviceTest, InstructionSetsAreChecked) {
  EXPECT_EQ(openDevice("cpu", {.instructionSet = "mmx"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(openDevice("reference", {.instructionSet = "avx2"}).status().code(), Code::kUnsupported);
  EXPECT_EQ(openDevice("null", {.instructionSet = "avx2"}).status().code(), Code::kUnsupported);
  EXPECT_TRUE(openDevice("cpu", {.instructionSet = "portable"}));
}

}  // namespace
}  // namespace firn::runtime::cts
