// Sums of entries that are added here one by one, and limits from the sizes of the model and the machine alone.
#include "engine/simulation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "engine/model.h"
#include "runtime/cts/tiny_model.h"
#include "runtime/devices/npu/entry_timeline_for_test.h"

namespace firn::engine {
namespace {

namespace cts = runtime::cts;
using testing::AllOf;
using testing::HasSubstr;

constexpr uint64_t kLayerMacs = 64 * (4 + 2 * 2) * 16 + 64 * 64 + 3 * 64 * 128;
constexpr uint64_t kHeadMacs = 64 * 80;
/// Scores and values of one token over one cache row, in both layers.
constexpr uint64_t kRowMacs = 2 * 2 * 64;
/// All but the table that is read row by row, f32: linears, norms, frequencies of the rope, head.
constexpr uint64_t kWeightBytes = 4 * (2 * (kLayerMacs + 2 * 64) + 64 + 8 + kHeadMacs);
/// K and V of both layers, f16.
constexpr uint64_t kCacheRowBytes = 2 * 2 * 2 * 16 * 2;
/// The sample machine: 2 tiles of 2048 MACs at 1 GHz, half of that in f16, and 80 GB/s.
constexpr double kMacsPerPicosecond = 2 * 2048 / 2 / 1000.0;
constexpr double kBytesPerPicosecond = 0.08;

class SimulationTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = cts::makeTinyBlob({.target = blob::Target::kNpu});
    ASSERT_TRUE(made.isOk()) << made.status().toString();
    blob.emplace(*std::move(made));
  }
  Simulation simulated(uint32_t promptTokens, uint32_t decodeTokens) const {
    auto simulator = Simulator::create(*blob);
    EXPECT_TRUE(simulator.isOk()) << simulator.status().toString();
    auto result = simulator->run(promptTokens, decodeTokens);
    EXPECT_TRUE(result.isOk()) << result.status().toString();
    return result ? *result : Simulation{};
  }
  runtime::SimulatedRun runOf(const std::string& entry) const {
    const auto timeline = runtime::timelineOf(*blob, blob->findEntry(entry).value_or(UINT32_MAX));
    EXPECT_TRUE(timeline.isOk()) << entry << timeline.status().toString();
    return timeline->run;
  }

  std::optional<blob::Blob> blob;
};

void expectSame(const runtime::SimulatedRun& found, const runtime::SimulatedRun& expected) {
  EXPECT_EQ(found.picoseconds, expected.picoseconds);
  EXPECT_EQ(found.ddrBytes, expected.ddrBytes);
  EXPECT_EQ(found.macs, expected.macs);
  for (uint32_t i = 0; i < runtime::kEngineKinds; ++i) {
    EXPECT_EQ(found.engines[i].busy, expected.engines[i].busy);
    EXPECT_EQ(found.engines[i].barrierWait, expected.engines[i].barrierWait);
    EXPECT_EQ(found.engines[i].idle, expected.engines[i].idle);
    EXPECT_EQ(found.engines[i].bandwidthWait, expected.engines[i].bandwidthWait);
  }
}

// Chunks of 16 cost 16064 each by the blob's prediction, a step 1064: 60 tokens are 16 + 16 + 16 + 12 steps or 64.
TEST_F(SimulationTest, APromptIsItsChunksAndTheHead) {
  const Simulation result = simulated(60, 0);
  runtime::SimulatedRun expected = runOf("head.1");
  for (const uint32_t entry : result.chunks) {
    expected.add(runOf(std::string(blob->string(blob->entries()[entry].name))));
  }
  ASSERT_GE(result.chunks.size(), 1U);
  expectSame(result.prompt.run, expected);
  expectSame(result.decode.run, {});
  const Simulation one = simulated(1, 0);
  expectSame(one.prompt.run, runOf("generate.64"));  // whose logits come with it
}

TEST_F(SimulationTest, StepsTakeTheSmallestContextThatHoldsThem) {
  runtime::SimulatedRun expected;
  for (int i = 0; i < 4; ++i) expected.add(runOf("generate.64"));
  for (int i = 0; i < 6; ++i) expected.add(runOf("generate.128"));
  expectSame(simulated(60, 10).decode.run, expected);
}

TEST_F(SimulationTest, LimitsFollowFromTheSizes) {
  const Simulation result = simulated(16, 2);
  const uint64_t promptMacs = 16 * 2 * kLayerMacs + 16 * 17 / 2 * kRowMacs + kHeadMacs;
  EXPECT_EQ(result.prompt.usefulMacs, promptMacs);
  EXPECT_EQ(result.prompt.leastDdrBytes, kWeightBytes + 16 * kCacheRowBytes);
  EXPECT_DOUBLE_EQ(result.prompt.macPicoseconds, static_cast<double>(promptMacs) / kMacsPerPicosecond);
  EXPECT_DOUBLE_EQ(result.prompt.limitPicoseconds,
                   static_cast<double>(kWeightBytes + 16 * kCacheRowBytes) / kBytesPerPicosecond);
  EXPECT_EQ(result.decode.usefulMacs, 2 * (2 * kLayerMacs + kHeadMacs) + (17 + 18) * kRowMacs);
  EXPECT_EQ(result.decode.leastDdrBytes, 2 * kWeightBytes + (17 + 18) * kCacheRowBytes);
  EXPECT_DOUBLE_EQ(result.decode.limitPicoseconds,
                   static_cast<double>(result.decode.leastDdrBytes) / kBytesPerPicosecond);
  EXPECT_GE(static_cast<double>(result.prompt.run.picoseconds), result.prompt.limitPicoseconds);
  EXPECT_GE(static_cast<double>(result.decode.run.picoseconds), result.decode.limitPicoseconds);
  EXPECT_GE(result.prompt.run.ddrBytes, result.prompt.leastDdrBytes);
  EXPECT_GE(result.prompt.run.macs, result.prompt.usefulMacs);
  EXPECT_EQ(result.prompt.picojoules, 0);
}

TEST_F(SimulationTest, WhatDoesNotFitIsRefused) {
  auto simulator = Simulator::create(*blob);
  ASSERT_TRUE(simulator.isOk());
  EXPECT_EQ(simulator->run(0, 1).status().code(), Code::kInvalidArgument);
  const Status prompt = simulator->run(65, 1).status();
  EXPECT_EQ(prompt.code(), Code::kOutOfRange);
  EXPECT_THAT(prompt.message(), AllOf(HasSubstr("65"), HasSubstr("at most 64")));
  const Status rows = simulator->run(64, 65).status();
  EXPECT_EQ(rows.code(), Code::kOutOfRange);
  EXPECT_THAT(rows.message(), AllOf(HasSubstr("64 tokens and 65 steps"), HasSubstr("128 rows")));
  EXPECT_TRUE(simulator->run(64, 64).isOk());
}

TEST_F(SimulationTest, TellsItsProgressAndCanBeCancelled) {
  auto simulator = Simulator::create(*blob);
  ASSERT_TRUE(simulator.isOk());
  std::vector<uint64_t> chunks;
  std::vector<uint64_t> steps;
  const auto record = [&](std::string_view stage, uint64_t done, uint64_t total) {
    EXPECT_LT(done, total);
    (stage.starts_with("prompt") ? chunks : steps).push_back(done);
    return true;
  };
  const auto whole = simulator->run(64, 3, record);
  ASSERT_TRUE(whole.isOk());
  EXPECT_EQ(chunks.size(), whole->chunks.size());
  EXPECT_THAT(steps, testing::ElementsAre(0, 1, 2));
  for (const std::string_view last : {"prompt", "answer"}) {
    const auto stop = [&](std::string_view stage, uint64_t, uint64_t) { return !stage.starts_with(last); };
    EXPECT_EQ(simulator->run(64, 3, stop).status().code(), Code::kCancelled) << last;
  }
}

TEST_F(SimulationTest, WhatDoesNotFitInTheMemoryOfTheMachineIsRefused) {
  const auto large = cts::makeTinyBlob({.target = blob::Target::kNpu, .edit = [](blob::Program& program) {
                                          program.entries.front().scratchBytes = uint64_t{4} << 30;
                                        }});
  ASSERT_TRUE(large.isOk()) << large.status().toString();
  const Status status = Simulator::create(*large).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("4294 MB of scratch"), HasSubstr("machine"), HasSubstr("ddr.bytes")));
  const auto beyondAll = cts::makeTinyBlob({.target = blob::Target::kNpu, .edit = [](blob::Program& program) {
                                              program.entries.front().scratchBytes = UINT64_MAX;
                                            }});
  ASSERT_TRUE(beyondAll.isOk()) << beyondAll.status().toString();
  EXPECT_EQ(Simulator::create(*beyondAll).status().code(), Code::kResourceExhausted);
}

/// Two tiles of 1 MiB beside cache and scratch, which a device of another target has alone.
TEST_F(SimulationTest, AModelKnowsThatTheSimulatedMemoryIsTakenToo) {
  const blob::ProgramHeader header = blob->header();
  const auto model = Model::create(*std::move(blob), {});
  ASSERT_TRUE(model.isOk()) << model.status().toString();
  EXPECT_EQ((*model)->memoryBytes(), header.kvBytes + header.scratchBytes + 2 * (uint64_t{1} << 20));
  auto reference = cts::makeTinyBlob({});
  ASSERT_TRUE(reference.isOk());
  const blob::ProgramHeader other = reference->header();
  const auto plain = Model::create(*std::move(reference), {});
  ASSERT_TRUE(plain.isOk()) << plain.status().toString();
  EXPECT_EQ((*plain)->memoryBytes(), other.kvBytes + other.scratchBytes);
}

TEST_F(SimulationTest, OtherTargetsHaveNoSimulatedTime) {
  const auto reference = cts::makeTinyBlob({});
  ASSERT_TRUE(reference.isOk());
  const Status status = Simulator::create(*reference).status();
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("device reference"), HasSubstr("--device npu")));
}

}  // namespace
}  // namespace firn::engine
