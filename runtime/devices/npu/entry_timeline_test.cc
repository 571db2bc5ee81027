// Times that can be computed by hand, and what holds for every timeline.
#include "runtime/devices/npu/entry_timeline.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime/cts/tiny_model.h"
#include "runtime/devices/npu/entry_timeline_for_test.h"

namespace firn::runtime {
namespace {

using cts::makeTinyBlob;
using testing::HasSubstr;

EntryTimeline timeline(const blob::Blob& blob, std::string_view entry) {
  const Result<EntryTimeline> result = timelineOf(blob, blob.findEntry(entry).value_or(0));
  EXPECT_TRUE(result) << result.status().toString();
  return result ? *result : EntryTimeline{};
}

// On the sample machine, a cycle of 1000 ps everywhere: a copy takes 100 ns, then its bytes at 64 GB/s; the kernel 1000
// cycles and 64 elements * 2 / (2 SHAVEs * 32 lanes) / 50 %, with the row it reads like a copy.
TEST(EntryTimelineTest, TheTasksOfAnEmbedTakeWhatTheirFormulasSay) {
  const Result<blob::Blob> blob = makeTinyBlob({.target = blob::Target::kNpu});
  ASSERT_TRUE(blob) << blob.status().toString();
  const EntryTimeline entry = timeline(*blob, "generate.64");
  ASSERT_GT(entry.tasks.size(), 3U);
  constexpr uint64_t kIds = 100'000 + 63;  // 4 bytes: 62.5 ps
  constexpr uint64_t kRow = 100'000 + 4'000;
  constexpr uint64_t kKernel = 1'000'000 + 4'000 + kRow;
  const uint64_t ends[] = {kIds, kIds + kKernel, kIds + kKernel + kRow};
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(entry.tasks[i].begin, i == 0 ? 0 : ends[i - 1]);
    EXPECT_EQ(entry.tasks[i].end, ends[i]) << i;
    EXPECT_EQ(entry.tasks[i].layer, blob::kNoLayer);
  }
  EXPECT_EQ(entry.tasks[0].name, "ids");
  EXPECT_EQ(entry.tasks[1].op, blob::TaskOp::kNpuEmbed);
  EXPECT_EQ(entry.tasks[2].ddrBytes, 256U);
  EXPECT_EQ(entry.tasks[3].begin, ends[2]) << "the next call begins when all is drained";
  EXPECT_EQ(entry.tasks[3].layer, 0U);
}

TEST(EntryTimelineTest, SumsAreThoseOfTheTasks) {
  const Result<blob::Blob> blob = makeTinyBlob({.target = blob::Target::kNpu, .weights = DType::kQ8_0});
  ASSERT_TRUE(blob) << blob.status().toString();
  for (const char* name : {"generate.64", "prefill.64.128", "head.16"}) {
    const EntryTimeline entry = timeline(*blob, name);
    uint64_t last = 0, ddrBytes = 0, macs = 0, engineTime = 0;
    std::map<uint16_t, uint64_t> busy, free;
    for (const SimulatedTask& task : entry.tasks) {
      EXPECT_GE(task.begin, free[task.queue]) << task.name << ": a queue runs one task at a time";
      free[task.queue] = task.end;
      busy[task.queue] += task.end - task.begin;
      last = std::max(last, task.end);
      ddrBytes += task.ddrBytes;
      macs += task.macs;
    }
    EXPECT_EQ(entry.run.picoseconds, last);
    EXPECT_EQ(entry.run.ddrBytes, ddrBytes);
    EXPECT_EQ(entry.run.macs, macs);
    EXPECT_GT(macs, 0U);
    ASSERT_EQ(entry.queues.size(), 6U);
    for (uint16_t queue = 0; queue < entry.queues.size(); ++queue) {
      const machine::QueueTime& time = entry.queues[queue];
      EXPECT_EQ(time.busy, busy[queue]) << name << ", queue " << queue;
      EXPECT_EQ(time.busy + time.barrierWait + time.idle, last);
    }
    for (const EngineTime& engine : entry.run.engines) engineTime += engine.busy + engine.barrierWait + engine.idle;
    EXPECT_EQ(engineTime, 6 * last);
  }
}

// Linears of the model: E * (heads + 2 * kvHeads) * d + heads * d * E + 3 * E * F a layer and E * V; scores and values
// read the whole context: 2 * heads * d * c a layer.
TEST(EntryTimelineTest, MacsAreThoseOfTheModel) {
  const Result<blob::Blob> blob = makeTinyBlob({.target = blob::Target::kNpu});
  ASSERT_TRUE(blob) << blob.status().toString();
  constexpr uint64_t kLayerMacs = 64 * (4 + 2 * 2) * 16 + 64 * 64 + 3 * 64 * 128;
  for (const uint64_t context : {64, 128}) {
    EXPECT_EQ(timeline(*blob, "generate." + std::to_string(context)).run.macs,
              2 * (kLayerMacs + 2 * 64 * context) + 64 * 80);
  }
}

// A machine may be so slow that a body takes 26 days, and a body may be called any number of times.
TEST(EntryTimelineTest, CallsDoNotAddUpBeyondAllMeasure) {
  const Result<blob::Blob> blob = makeTinyBlob({.target = blob::Target::kNpu});
  ASSERT_TRUE(blob) << blob.status().toString();
  const auto machine = machine::parseMachine(blob->machine(), "x");
  ASSERT_TRUE(machine);
  auto bodies = npuBodyTimelines(*blob, *machine);
  ASSERT_TRUE(bodies) << bodies.status().toString();
  const blob::EntryRecord& entry = blob->entries()[blob->findEntry("generate.64").value_or(0)];
  const uint64_t calls = blob->callsOf(entry).size();
  ASSERT_GE(calls, 3U);
  const auto runOf = [&](uint64_t picoseconds) {
    for (BodyTimeline& body : *bodies) body.timeline.picoseconds = picoseconds;
    return simulatedRunOf(*blob, *machine, entry, *bodies);
  };
  const auto longest = runOf(kMostEntryPicoseconds / calls);
  ASSERT_TRUE(longest) << longest.status().toString();
  EXPECT_EQ(longest->picoseconds, kMostEntryPicoseconds / calls * calls);
  for (const uint64_t picoseconds : {kMostEntryPicoseconds / calls + 1, machine::kMostPicoseconds}) {
    const Status status = runOf(picoseconds).status();
    EXPECT_EQ(status.code(), Code::kCorrupt);
    EXPECT_THAT(status.message(), HasSubstr("entry generate.64 takes more than 40 hours"));
  }
}

}  // namespace
}  // namespace firn::runtime
