// load, unload, query, openDevice.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
  TinyOptions other = GetParam().program;
  other.lanes = 1;
  const bool isCpu = other.target == blob::Target::kCpu;
  other.target = isCpu ? blob::Target::kReference : blob::Target::kCpu;
  const Status status = loadStatus(GetParam(), other, 0);
  EXPECT_EQ(status.code(), Code::kVersionMismatch);
  EXPECT_THAT(status.message(), testing::AllOf(HasSubstr("reference"), HasSubstr("cpu")));
}

TEST_P(LoadTest, MoreThreadsThanLanesAreRefusedWithBothNumbers) {
  const Status status = loadStatus(GetParam(), GetParam().program, 17);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("17 threads"));
  EXPECT_THAT(status.message(), HasSubstr(std::to_string(GetParam().program.lanes)));
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

FIRN_ON_EVERY_DEVICE(LoadTest);

TEST(OpenDevice, UnknownNameListsTheKnownOnes) {
  const Status status = openDevice("gpu").status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_THAT(status.message(), testing::AllOf(HasSubstr("\"gpu\""), HasSubstr("cpu, null, reference")));
}

TEST(OpenDevice, InstructionSetsAreChecked) {
  EXPECT_EQ(openDevice("cpu", {.instructionSet = "mmx"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(openDevice("reference", {.instructionSet = "avx2"}).status().code(), Code::kUnsupported);
  EXPECT_EQ(openDevice("null", {.instructionSet = "avx2"}).status().code(), Code::kUnsupported);
  EXPECT_TRUE(openDevice("cpu", {.instructionSet = "portable"}));
}

}  // namespace
}  // namespace firn::runtime::cts
