// Two programs, profile, reset, close.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "base/concat.h"
#include "blob/task_op.h"
#include "runtime/cts/device_cases.h"

namespace firn::runtime::cts {
namespace {

/// How often the entry runs each kind of task, by the names of a profile.
std::map<std::string, uint64_t> taskCounts(const blob::Blob& blob, const blob::EntryRecord& entry) {
  std::map<std::string, uint64_t> counts;
  for (const blob::CallRecord& call : blob.callsOf(entry)) {
    for (const blob::SegmentRecord& segment : blob.segmentsOf(blob.bodies()[call.body])) {
      for (const blob::LaneRange& range : blob.lanesOf(segment)) {
        for (const blob::TaskRecord& task : blob.tasksOf(range)) {
          ++counts[concat(blob.string(task.name), " (", blob::taskOpName(static_cast<blob::TaskOp>(task.op)), ")")];
        }
      }
    }
  }
  return counts;
}

class LifecycleTest : public RigTest {};

TEST_P(LifecycleTest, TwoProgramsDoNotDisturbEachOther) {
  ASSERT_TRUE(rig->run("prefill.16.64", {.ids = someIds(16), .row0 = 0}));
  const std::vector<uint32_t> expected = bitsOf(rig->hidden(16));

  Result<blob::Blob> blob = makeTinyBlob(GetParam().program);
  ASSERT_TRUE(blob) << blob.status().toString();
  Device& device = rig->device();
  const Result<ProgramId> second = device.load(*blob, {});
  ASSERT_TRUE(second) << second.status().toString();
  EXPECT_NE(*second, rig->program());
  const uint32_t entry = rig->entry("prefill.16.64");
  EXPECT_EQ(device.submit(*second, entry).code(), Code::kInvalidArgument) << "binds belong to one program";
  ASSERT_TRUE(device.bind(*second, entry, rig->bindings(entry)));
  rig->setInputs({.ids = someIds(16, 50), .row0 = 0});
  ASSERT_TRUE(device.submit(*second, entry));
  ASSERT_TRUE(device.wait());
  ASSERT_TRUE(rig->run("prefill.16.64", {.ids = someIds(16), .row0 = 0}));
  EXPECT_EQ(expected, bitsOf(rig->hidden(16)));
  ASSERT_TRUE(device.unload(rig->program()));
  rig->setInputs({.ids = someIds(16), .row0 = 0});
  ASSERT_TRUE(device.submit(*second, entry)) << "unloading one program leaves the other";
  ASSERT_TRUE(device.wait());
  EXPECT_EQ(expected, bitsOf(rig->hidden(16)));
}

TEST_P(LifecycleTest, ProfileIsEmptyBeforeAnythingRan) {
  EXPECT_TRUE(rig->device().profile().empty());
  EXPECT_TRUE(rig->device().profile().empty());
}

TEST_P(LifecycleTest, ProfileCountsTasks) {
  const Tokens tokens{.ids = {1}, .row0 = 0};
  ASSERT_TRUE(rig->run("generate.64", tokens));
  EXPECT_TRUE(rig->device().profile().empty()) << "the first call turns measuring on";
  ASSERT_TRUE(rig->run("generate.64", tokens));
  ASSERT_TRUE(rig->run("generate.128", tokens));
  const std::vector<ProfileRow> rows = rig->device().profile();
  std::map<std::string, uint64_t> counts;
  for (const char* entry : {"generate.64", "generate.128"}) {
    for (const auto& [name, count] : taskCounts(rig->blob(), rig->blob().entries()[rig->entry(entry)])) {
      counts[name] += count;
    }
  }
  EXPECT_GT(counts.size(), 10U);
  EXPECT_EQ(rows.size(), counts.size());
  uint64_t last = UINT64_MAX;
  for (const ProfileRow& row : rows) {
    EXPECT_LE(row.nanoseconds, last) << "costliest first";
    last = row.nanoseconds;
    EXPECT_EQ(row.count, counts[row.name]) << row.name;
  }
  EXPECT_TRUE(rig->device().profile().empty()) << "each call starts again";
  ASSERT_TRUE(rig->run("generate.64", tokens));
  ASSERT_TRUE(rig->device().unload(rig->program()));
  EXPECT_FALSE(rig->device().profile().empty()) << "what an unloaded program ran still counts";
}

TEST_P(LifecycleTest, ResetForgetsBindsAndFlights) {
  Device& device = rig->device();
  const uint32_t entry = rig->entry("generate.64");
  ASSERT_TRUE(device.bind(rig->program(), entry, rig->bindings(entry)));
  rig->setInputs({.ids = {1}, .row0 = 0});
  ASSERT_TRUE(device.submit(rig->program(), entry));
  ASSERT_TRUE(device.reset());
  EXPECT_EQ(device.wait().code(), Code::kInvalidArgument);
  EXPECT_EQ(device.submit(rig->program(), entry).code(), Code::kInvalidArgument);
  EXPECT_TRUE(rig->run("generate.64")) << "buffers and programs stay";
}

TEST_P(LifecycleTest, AfterCloseEveryCallIsUnavailable) {
  Device& device = rig->device();
  const uint32_t entry = rig->entry("generate.64");
  const Bindings bindings = rig->bindings(entry);
  ASSERT_TRUE(device.bind(rig->program(), entry, bindings));
  rig->setInputs({.ids = {1}, .row0 = 0});
  ASSERT_TRUE(device.submit(rig->program(), entry));
  ASSERT_TRUE(device.close()) << "even with an entry in flight";
  EXPECT_EQ(device.alloc(64).status().code(), Code::kUnavailable);
  EXPECT_EQ(device.free(bindings[0].buffer).code(), Code::kUnavailable);
  EXPECT_EQ(device.map(bindings[0].buffer).status().code(), Code::kUnavailable);
  EXPECT_EQ(device.load(rig->blob(), {}).status().code(), Code::kUnavailable);
  EXPECT_EQ(device.unload(rig->program()).code(), Code::kUnavailable);
  EXPECT_EQ(device.bind(rig->program(), entry, bindings).code(), Code::kUnavailable);
  EXPECT_EQ(device.submit(rig->program(), entry).code(), Code::kUnavailable);
  EXPECT_EQ(device.wait().code(), Code::kUnavailable);
  EXPECT_EQ(device.reset().code(), Code::kUnavailable);
  EXPECT_EQ(device.close().code(), Code::kUnavailable);
  EXPECT_TRUE(device.profile().empty());
  EXPECT_EQ(device.query().name, GetParam().device);
}

FIRN_ON_EVERY_DEVICE(LifecycleTest);

}  // namespace
}  // namespace firn::runtime::cts
