// What is the npu's own: simulated time, its modes, the faults it finds. Values: runtime/cts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <string>

#include "blob/task_op.h"
#include "runtime/cts/rig.h"
#include "runtime/devices/npu/entry_timeline_for_test.h"

namespace firn::runtime {
namespace {

using blob::TaskOp;
using cts::Rig;
using cts::someIds;
using testing::AllOf;
using testing::HasSubstr;

cts::DeviceCase npuCase(SimulationMode mode, SimulatedTime* time, std::function<void(blob::Program&)> edit = {}) {
  return {.name = "npu",
          .device = "npu",
          .options = {.simulation = mode, .simulated = time},
          .program = {.target = blob::Target::kNpu, .edit = std::move(edit)}};
}

/// The first task of that name and op in the program, which is in a body of one row; or the last, in one of 64.
blob::TaskRecord& taskOf(blob::Program& program, std::string_view name, TaskOp op, bool isLast = false) {
  blob::TaskRecord* found = nullptr;
  for (blob::TaskRecord& task : program.tasks) {
    if (task.op != static_cast<uint16_t>(op) || program.strings.data() + task.name != name) continue;
    if (found == nullptr || isLast) found = &task;
  }
  EXPECT_NE(found, nullptr) << name;
  return found != nullptr ? *found : program.tasks.front();
}

blob::BarrierUse* waitsOf(blob::Program& program, const blob::TaskRecord& task) {
  return reinterpret_cast<blob::BarrierUse*>(&program.attrs[task.firstAttr + task.attrCount]);
}

TEST(NpuDeviceTest, EveryModeTakesTheTimeOfTheTimeline) {
  std::vector<SimulatedTime> times;
  for (const auto mode :
       {SimulationMode::kFunctional, SimulationMode::kFunctional, SimulationMode::kTiming, SimulationMode::kChecked}) {
    SimulatedTime time;
    const std::unique_ptr<Rig> rig = Rig::open(npuCase(mode, &time));
    ASSERT_NE(rig, nullptr);
    ASSERT_TRUE(rig->run("prefill.64.128", {.ids = someIds(50), .row0 = 0}));
    ASSERT_TRUE(rig->run("generate.128", {.ids = {9}, .row0 = 50}));
    EXPECT_EQ(time.runs, 2U);
    const Result<EntryTimeline> prefill = timelineOf(rig->blob(), rig->entry("prefill.64.128"));
    const Result<EntryTimeline> generate = timelineOf(rig->blob(), rig->entry("generate.128"));
    ASSERT_TRUE(prefill && generate);
    EXPECT_GT(prefill->run.picoseconds, generate->run.picoseconds);
    EXPECT_EQ(time.last.picoseconds, generate->run.picoseconds);
    EXPECT_EQ(time.last.macs, generate->run.macs);
    EXPECT_EQ(time.total.picoseconds, prefill->run.picoseconds + generate->run.picoseconds);
    EXPECT_EQ(time.total.ddrBytes, prefill->run.ddrBytes + generate->run.ddrBytes);
    EXPECT_EQ(time.total.engines[1].busy, prefill->run.engines[1].busy + generate->run.engines[1].busy);
  }
}

TEST(NpuDeviceTest, TimingComputesNothing) {
  SimulatedTime time;
  const std::unique_ptr<Rig> rig = Rig::open(npuCase(SimulationMode::kTiming, &time));
  ASSERT_NE(rig, nullptr);
  std::ranges::fill(rig->cache(), cts::kCanary);
  std::ranges::fill(rig->logits(1), 7.0F);
  ASSERT_TRUE(rig->run("generate.64", {.ids = {3}, .row0 = 0}));
  EXPECT_TRUE(std::ranges::all_of(rig->cache(), [](std::byte b) { return b == cts::kCanary; }));
  EXPECT_TRUE(std::ranges::all_of(rig->logits(1), [](float x) { return x == 7.0F; }));
  EXPECT_GT(time.total.picoseconds, 0U);
}

TEST(NpuDeviceTest, ProfilesHoldSimulatedTime) {
  const std::unique_ptr<Rig> rig = Rig::open(npuCase(SimulationMode::kTiming, nullptr));
  ASSERT_NE(rig, nullptr);
  rig->device().profile();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(rig->run("generate.64", {.ids = {3}, .row0 = 0}));
  const std::vector<ProfileRow> rows = rig->device().profile();
  const auto embed = std::ranges::find(rows, "embed (npu.embed)", &ProfileRow::name);
  ASSERT_NE(embed, rows.end());
  EXPECT_EQ(embed->count, 3U);
  EXPECT_EQ(embed->nanoseconds, 3 * 1108U) << "entry_timeline_test.cc computes it";
}

Status loadStatus(const std::function<void(blob::Program&)>& edit) {
  const cts::DeviceCase testCase = npuCase(SimulationMode::kTiming, nullptr, edit);
  FIRN_ASSIGN_OR_RETURN(const blob::Blob blob, makeTinyBlob(testCase.program));
  FIRN_ASSIGN_OR_RETURN(const std::unique_ptr<Device> device, openDevice("npu", testCase.options));
  return device->load(blob, {}).status();
}

/// Whatever a blob says, a device takes no memory that this computer lacks: not for the scratch, nor to watch over it.
TEST(NpuDeviceTest, ScratchBeyondTheMemoryIsRefusedInEveryMode) {
  for (const auto mode : {SimulationMode::kFunctional, SimulationMode::kTiming, SimulationMode::kChecked}) {
    for (const uint64_t bytes : {uint64_t{1} << 45, uint64_t{1} << 62, uint64_t{1} << 63, UINT64_MAX}) {
      const cts::DeviceCase testCase =
          npuCase(mode, nullptr, [&](blob::Program& program) { program.entries.front().scratchBytes = bytes; });
      const Result<blob::Blob> blob = makeTinyBlob(testCase.program);
      ASSERT_TRUE(blob) << blob.status().toString();
      const auto device = openDevice("npu", testCase.options);
      ASSERT_TRUE(device);
      const Status status = (*device)->load(*blob, {}).status();
      EXPECT_EQ(status.code(), Code::kResourceExhausted) << bytes << ": " << status.toString();
    }
  }
}

TEST(NpuDeviceTest, ADeadlockIsRefusedWithTheTasksThatWait) {
  const Status status = loadStatus(
      [](blob::Program& program) { waitsOf(program, taskOf(program, "embed", TaskOp::kNpuEmbed))[0].count = 1000; });
  EXPECT_EQ(status.code(), Code::kCorrupt);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("body embed never ends"), HasSubstr("embed (npu.embed, shave 0) waits"),
                                      HasSubstr("to reach 1000, it stays at 1"),
                                      HasSubstr("embed (npu.copy, dma 1) waits for barrier 4 to reach 1")));
}

TEST(NpuDeviceTest, BatchesAreRefused) {
  const Status status = loadStatus([](blob::Program& program) {
    const blob::EntryRecord generate = program.entries.front();
    const uint32_t body = program.calls[generate.firstCall].body;
    program.beginEntry(blob::EntryKind::kBatch, 2, 64);
    program.placeEntry(blob::Target::kNpu, 0, 1, "");
    program.entries.back().scratchBytes = generate.scratchBytes;
    program.addStandardSymbols();
    program.addCall(body, blob::kNoLayer, {});
  });
  EXPECT_EQ(status.code(), Code::kUnsupported) << status.toString();
  EXPECT_THAT(status.message(), HasSubstr("batch.2.64"));
}

/// What a checked run says of a program with that fault.
Status checkedRun(const std::string& entry, const std::function<void(blob::Program&)>& edit) {
  const std::unique_ptr<Rig> rig = Rig::open(npuCase(SimulationMode::kChecked, nullptr, edit));
  if (rig == nullptr) return Status::ok();
  const Status status = rig->run(entry, {.ids = {9}, .row0 = 0});
  EXPECT_EQ(rig->device().wait().code(), Code::kInvalidArgument) << "nothing is in flight";
  EXPECT_TRUE(rig->run("head.16")) << "another entry runs as before";
  return status;
}

void expectFinding(const Status& status, std::string_view finding) {
  EXPECT_EQ(status.code(), Code::kInternal) << status.toString();
  EXPECT_THAT(status.message(), HasSubstr(std::string(finding)));
}

TEST(NpuDeviceTest, AMissingWaitIsFound) {
  // It waits for its weights only, and not for the x that is copied meanwhile.
  expectFinding(checkedRun("prefill.64.128",
                           [](blob::Program& program) {
                             const blob::TaskRecord& norm = taskOf(program, "attn_norm", TaskOp::kNpuRmsNorm, true);
                             ASSERT_EQ(norm.waitCount, 2);
                             blob::BarrierUse* const waits = waitsOf(program, norm);
                             waits[0] = waits[1] = {.barrier = 1, .count = 1};
                           }),
                "entry prefill.64.128: attn_norm (npu.rms_norm, shave 1) reads byte 0 of cmx of tile 1, which residual "
                "(npu.copy, dma 0) writes at the same time");
}

TEST(NpuDeviceTest, AShiftedAddressIsFound) {
  expectFinding(checkedRun("generate.64",
                           [](blob::Program& program) {
                             const blob::TaskRecord& copy = taskOf(program, "attn_norm", TaskOp::kNpuCopy);
                             program.operands[copy.firstOperand + 1].offset =
                                 128;  // into x, which comes on the other engine
                           }),
                "attn_norm (npu.copy, dma 1) writes byte 128 of cmx of tile 0, which residual (npu.copy, dma 0) writes "
                "at the same time");
}

TEST(NpuDeviceTest, ReadsOfWhatNobodyWroteAreFound) {
  expectFinding(checkedRun("generate.64",
                           [](blob::Program& program) {
                             const blob::TaskRecord& norm = taskOf(program, "attn_norm", TaskOp::kNpuRmsNorm);
                             program.operands[norm.firstOperand + 1].offset = 1 << 19;
                           }),
                "attn_norm (npu.rms_norm, shave 0) reads byte 524288 of cmx of tile 0, which no task has written");
}

TEST(NpuDeviceTest, WhatACallDoesNotLeaveInScratchIsFoundInTheNext) {
  expectFinding(checkedRun("generate.64",
                           [](blob::Program& program) {
                             const blob::TaskRecord& copy = taskOf(program, "embed", TaskOp::kNpuCopy);
                             for (uint32_t i = 0; i < 2; ++i) {
                               blob::OperandRecord& operand = program.operands[copy.firstOperand + i];
                               operand.dims[1] -= 1;
                               operand.bytes -= sizeof(float);
                             }
                           }),
                "residual (npu.copy, dma 0) reads byte 252 of scratch, which no task has written");
}

}  // namespace
}  // namespace firn::runtime
