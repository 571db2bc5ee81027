// Two programs, profile, reset, close.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cts/device_cases.h"

namespace firn::runtime::cts {
namespace {

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
  ASSERT_FALSE(rows.empty());
  uint64_t last = UINT64_MAX;
  bool isFound = false;
  for (const ProfileRow& row : rows) {
    EXPECT_LE(row.nanoseconds, last) << "costliest first";
    last = row.nanoseconds;
    EXPECT_GT(row.count, 0U) << row.name;
    if (!row.name.starts_with("attn_q (")) continue;
    isFound = true;
    EXPECT_EQ(row.count, uint64_t{2} * kLayers * GetParam().program.lanes);
  }
  EXPECT_TRUE(isFound);
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
