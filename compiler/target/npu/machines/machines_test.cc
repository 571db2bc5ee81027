// The built-in machines against published figures, and the worked example of docs/npu.md against the cost formulas.
#include <algorithm>
#include <filesystem>
#include <set>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "blob/machine/cost.h"
#include "blob/machine/timeline.h"
#include "compiler/target/npu/machine_files.h"

namespace firn::npu {
namespace {

machine::Machine machineOf(std::string_view name) { return *machine::parseMachine(*machineText(name), name); }

double topsOf(const machine::Machine& machine) { return 2e-6 * machine.tiles * machine.macsPerCycle * machine.dpuMhz; }

TEST(MachinesTest, PeaksAreNearThePublishedOnes) {
  EXPECT_NEAR(topsOf(machineOf("mtl")), 11.5 * 1300 / 1400, 0.1);
  EXPECT_NEAR(topsOf(machineOf("lnl")), 48.0 * 1700 / 1950, 0.1);
  EXPECT_NEAR(topsOf(machineOf("ptl")), 50, 2.5);
  EXPECT_NEAR(topsOf(machineOf("xdna2_like")), 50, 0.1);
  EXPECT_NEAR(topsOf(machineOf("rk3588_like")), 6, 0.2);
}

/// docs/npu_published.md compares machines that differ from the built-in ones in what is fitted, and in nothing else.
TEST(MachinesTest, PublishedFilesAreBuiltInOnesWithFittedConstants) {
  const std::set<std::string> fitted = {"/name",         "/source",        "/ddr/source", "/ddr/megabytes_per_second",
                                        "/calls/source", "/calls/start_ns"};
  const std::string suffix = ".published";
  uint32_t files = 0;
  for (const auto& file : std::filesystem::directory_iterator("compiler/target/npu/machines")) {
    const std::string name = file.path().stem().string();
    if (!name.ends_with(suffix)) continue;
    SCOPED_TRACE(name);
    ++files;
    const std::string text = *machineText(file.path().string());
    const auto machine = machine::parseMachine(text, name);
    ASSERT_TRUE(machine.isOk()) << machine.status().message();
    EXPECT_EQ(machine->name, name);
    const auto builtIn = nlohmann::json::parse(*machineText(name.substr(0, name.size() - suffix.size())));
    for (const auto& change : nlohmann::json::diff(builtIn, nlohmann::json::parse(text))) {
      EXPECT_EQ(change["op"], "replace");
      EXPECT_TRUE(fitted.contains(change["path"])) << change;
    }
  }
  EXPECT_GE(files, 3);
}

TEST(MachinesTest, ApproximationsSayWhatTheyAre) {
  for (const char* name : {"xdna2_like", "rk3588_like"}) {
    const machine::Machine machine = machineOf(name);
    const auto source = std::ranges::find(machine.sources, "", &machine::Source::section);
    EXPECT_NE(source->text.find("approximation"), std::string::npos) << name;
  }
}

/// A decoder layer of a model of 1B parameters (2048 wide, 32 heads and 8 KV heads of 64, feed-forward 8192), weights
/// of 4 bits in groups of 32, on six tiles: [n, k] of its linears.
class WorkedExampleTest : public testing::Test {
 protected:
  static constexpr uint32_t kGroup = 32;
  static constexpr uint32_t kLinears[][2] = {{2048, 2048}, {512, 2048},  {512, 2048}, {2048, 2048},
                                             {8192, 2048}, {8192, 2048}, {2048, 8192}};

  /// The time of all linears on one tile after their start-up, over the number of tiles, in microseconds: what an even
  /// split takes.
  double dpuMicroseconds(uint32_t m, uint32_t weightBits, bool hasGroups) const {
    machine::Machine machine = chip;
    machine.dpuStartCycles = 0;
    double sum = 0;
    for (const auto& [n, k] : kLinears) {
      const auto work = machine::dpuWork(
          machine, {.m = m, .n = n, .k = k, .weightBits = weightBits, .groups = hasGroups ? k / kGroup : 1});
      sum += 1e-6 * static_cast<double>(work.fixedPicoseconds);
    }
    return sum / machine.tiles;
  }

  double shaveMicroseconds(std::string_view kernel, uint64_t elements) const {
    machine::Machine machine = chip;
    machine.shaveStartCycles = 0;
    return 1e-6 * static_cast<double>(machine::shaveWork(machine, kernel, elements).fixedPicoseconds) / machine.tiles;
  }

  static uint64_t weights() {
    uint64_t sum = 0;
    for (const auto& [n, k] : kLinears) sum += uint64_t{n} * k;
    return sum;
  }

  machine::Machine chip = machineOf("lnl");
};

TEST_F(WorkedExampleTest, AccumulateOfOneRowTakes27MicrosecondsALayer) {
  EXPECT_NEAR(shaveMicroseconds("accumulate", weights() / kGroup), 27, 0.5);
}

TEST_F(WorkedExampleTest, AccumulateOf1024RowsTakes28MillisecondsALayer) {
  EXPECT_NEAR(shaveMicroseconds("accumulate", 1024 * weights() / kGroup), 28'000, 100);
}

TEST_F(WorkedExampleTest, ExpandTakesAbout600MicrosecondsALayer) {
  EXPECT_NEAR(shaveMicroseconds("expand", weights()), 600, 20);
}

TEST_F(WorkedExampleTest, OneRowTakes93MicrosecondsOfDpuALayer) { EXPECT_NEAR(dpuMicroseconds(1, 4, true), 93, 0.5); }

TEST_F(WorkedExampleTest, Rows1024Take6MillisecondsOfDpuALayer) {
  EXPECT_NEAR(dpuMicroseconds(1024, 16, false), 6'000, 50);
}

/// 4 bits a weight and a scale of 2 bytes a group, in two halves by two engines.
TEST_F(WorkedExampleTest, WeightsTake500MicrosecondsOfDmaALayer) {
  const machine::Work half = machine::dmaWork(chip, weights() * 18 / kGroup / 2, true);
  const machine::TimelineTask tasks[] = {{.queue = 0, .work = half, .waits = {}, .signals = {}},
                                         {.queue = 1, .work = half, .waits = {}, .signals = {}}};
  const auto timeline = machine::runTimeline(chip, tasks);
  ASSERT_TRUE(timeline.isOk());
  EXPECT_NEAR(1e-6 * static_cast<double>(timeline->picoseconds), 503, 1);
}

}  // namespace
}  // namespace firn::npu
