// firn simulate: its numbers, its sweep, and one clear line for everything that cannot be simulated.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/program.h"

namespace firn::e2e {
namespace {

using nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kModel = "tests/data/gguf/llama.gguf";
constexpr const char* kMachine = "compiler/target/npu/machines/lnl.json";

class CliSimulateTest : public testing::Test {
 protected:
  ProgramResult simulated(const std::vector<std::string>& options) const {
    std::vector<std::string> arguments = {"simulate", kModel};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return folder.run("firn", arguments);
  }
  ordered_json json(std::vector<std::string> options) const {
    options.emplace_back("--json");
    const ProgramResult result = simulated(options);
    EXPECT_EQ(result.exitCode, 0) << testing::PrintToString(options) << result.err;
    return result.exitCode == 0 ? ordered_json::parse(result.out) : ordered_json();
  }
  /// A machine file of the built-in lnl, changed.
  std::string machineFile(const std::function<void(ordered_json&)>& change) const {
    ordered_json machine = ordered_json::parse(readFile(kMachine));
    change(machine);
    const std::string path = folder.file("machine.json");
    writeFile(path, machine.dump());
    return path;
  }
  /// The command fails with one line, which says all of `texts`.
  void expectRefused(const ProgramResult& result, int exitCode, const std::vector<std::string>& texts) const {
    EXPECT_EQ(result.exitCode, exitCode) << result.err;
    EXPECT_EQ(result.out, "");
    EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
    for (const std::string& text : texts) EXPECT_THAT(result.err, HasSubstr(text));
  }

  ProgramFolder folder;
};

TEST_F(CliSimulateTest, TellsTimesBesideTheirLimits) {
  const std::vector<std::string> lengths = {"--machine", "lnl", "--prompt", "100", "--decode", "20"};
  const ordered_json numbers = json(lengths);
  for (const char* key : {"ttft_ms", "tpot_ms", "prefill_tok_s", "decode_tok_s", "bound_ttft_ms", "bound_tpot_ms",
                          "mac_utilization", "ddr_bytes", "cycles", "host_s"}) {
    ASSERT_TRUE(numbers.contains(key)) << key;
    EXPECT_GT(numbers[key].get<double>(), 0) << key;
  }
  for (const char* engine : {"dpu", "shave", "dma"}) {
    EXPECT_GT(numbers["busy"][engine].get<double>(), 0) << engine;
    EXPECT_LE(numbers["busy"][engine].get<double>(), 1) << engine;
  }
  const double ttft = numbers["ttft_ms"];
  const double tpot = numbers["tpot_ms"];
  EXPECT_GE(ttft, numbers["bound_ttft_ms"].get<double>());
  EXPECT_GE(tpot, numbers["bound_tpot_ms"].get<double>());
  EXPECT_NEAR(numbers["prefill_tok_s"].get<double>(), 100e3 / ttft, 1e-6 * 100e3 / ttft);
  EXPECT_NEAR(numbers["decode_tok_s"].get<double>(), 1e3 / tpot, 1e-6 * 1e3 / tpot);
  EXPECT_NEAR(numbers["cycles"].get<double>(), (ttft + 20 * tpot) * 1700e3, 2);
  EXPECT_EQ(folder.cachedBlobs().size(), 1U);

  ordered_json again = json(lengths);
  again["host_s"] = numbers["host_s"];
  EXPECT_EQ(again, numbers);
  EXPECT_EQ(folder.cachedBlobs().size(), 1U);
  const ProgramResult text = simulated(lengths);
  EXPECT_THAT(text.out, AllOf(HasSubstr("time to first token"), HasSubstr("limit"), HasSubstr("dpu x 6"),
                              HasSubstr("barrier"), HasSubstr("GB/s")));
}

TEST_F(CliSimulateTest, ASweepHasALineForEachContext) {
  const ordered_json lines = json({"--contexts", "128:512:x2", "--decode", "8"});
  ASSERT_EQ(lines.size(), 3U);
  uint32_t context = 128;
  for (const ordered_json& line : lines) {
    EXPECT_EQ(line["context"], context);
    EXPECT_EQ(line["prompt_tokens"], context - 8);
    context *= 2;
  }
  EXPECT_LT(lines[0]["tpot_ms"].get<double>(), lines[2]["tpot_ms"].get<double>());
  EXPECT_EQ(folder.cachedBlobs().size(), 1U);
  const std::string table = simulated({"--contexts", "128:512:x2", "--decode", "8"}).out;
  EXPECT_THAT(table, HasSubstr("context"));
  EXPECT_EQ(std::ranges::count(table, '\n'), 6);
  expectRefused(simulated({"--contexts", "64:128:x2", "--decode", "64"}), 1, {"--contexts", "64 rows"});
}

TEST_F(CliSimulateTest, EnergyIsThatOfTheMachineFile) {
  const std::string machine = machineFile([](ordered_json& m) {
    m["energy"] = {{"source", "made up"},
                   {"picojoules_per_mac", 0},
                   {"picojoules_per_ddr_byte", 1000},
                   {"picojoules_per_cmx_byte", 0},
                   {"picojoules_per_shave_element", 0}};
  });
  const ordered_json numbers = json({"--machine", machine, "--prompt", "20", "--decode", "2"});
  EXPECT_DOUBLE_EQ(numbers["energy_mj"].get<double>(), numbers["ddr_bytes"].get<double>() * 1e-6);
}

// A machine may take a second for a task, and a chat has many tasks.
TEST_F(CliSimulateTest, SumsBeyondAllMeasureAreRefused) {
  const std::string machine = machineFile([](ordered_json& m) {
    m["clocks"]["dpu_mhz"] = 1;
    m["clocks"]["shave_mhz"] = 1;
    m["dpu"]["start_cycles"] = 1000000;
    m["shave"]["start_cycles"] = 1000000;
    m["ddr"]["megabytes_per_second"] = 1;
  });
  const std::vector<std::string> slow = {"--machine", machine, "--prompt", "16", "--decode"};
  auto few = slow;
  few.emplace_back("100");
  EXPECT_GT(json(few)["tpot_ms"].get<double>(), 10 * 1000) << "ten tasks behind each other, at the least";
  auto many = slow;
  many.emplace_back("4096");
  const ProgramResult result = simulated(many);
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, AllOf(HasSubstr("out_of_range: "),
                                HasSubstr(" of the answer: with it the simulation is beyond 40 hours")));
}

TEST_F(CliSimulateTest, MachinesThatAreNoneAreRefused) {
  expectRefused(simulated({"--machine", "nothing"}), 1, {"'nothing'", "lnl, mtl, ptl"});
  expectRefused(simulated({"--machine", "missing.json"}), 1, {"missing.json", "lnl, mtl, ptl"});
  const std::string broken = folder.file("broken.json");
  writeFile(broken, "{\"name\": ");
  expectRefused(simulated({"--machine", broken}), 2, {broken});
  expectRefused(simulated({"--machine", machineFile([](ordered_json& m) { m["tiles"] = 0; })}), 2,
                {"tiles", "found 0"});
  expectRefused(simulated({"--machine", machineFile([](ordered_json& m) { m.erase("cmx"); })}), 1, {"CMX"});
  EXPECT_EQ(folder.cachedBlobs().size(), 0U);
}

TEST_F(CliSimulateTest, BlobsAreSimulatedWithinTheirLimits) {
  const std::string blob = folder.file("model.firn");
  const auto compile = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"compile", kModel, "-o", blob, "--max-prompt-len", "64", "--quiet"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_EQ(result.exitCode, 0) << result.err;
  };
  const auto simulate = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"simulate", blob};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return folder.run("firn", arguments);
  };
  compile({"--device", "npu", "--machine", "ptl"});
  EXPECT_EQ(simulate({}).exitCode, 0);
  EXPECT_EQ(simulate({"--machine", "ptl"}).exitCode, 0);
  expectRefused(simulate({"--machine", "lnl"}), 2, {"machine ptl", "--machine is lnl"});
  const std::string changed = machineFile([](ordered_json& m) { m["name"] = "ptl"; });
  expectRefused(simulate({"--machine", changed}), 2, {"machine ptl", "another file of that name", changed});
  expectRefused(simulate({"--prompt", "65"}), 1, {"65 tokens", "at most 64", "--max-prompt-len"});
  expectRefused(simulate({"--prompt", "64", "--decode", "129"}), 1, {"192 rows", "--min-response-len"});
  expectRefused(simulate({"--contexts", "256"}), 1, {"at most 64"});
  compile({"--device", "cpu"});
  expectRefused(simulate({}), 1, {"device cpu", "--device npu"});
}

// 384 bytes of cache a row: 180,000 rows are more than 64 MiB.
TEST_F(CliSimulateTest, AModelThatIsTooLargeForTheMachineIsRefused) {
  const std::string machine = machineFile([](ordered_json& m) { m["ddr"]["bytes"] = 64 << 20; });
  const std::string blob = folder.file("model.firn");
  std::vector<std::string> compile = {"compile",          kModel,  "-o",         blob,     "--device",         "npu",
                                      "--machine",        machine, "--weights",  "none",   "--max-prompt-len", "180000",
                                      "--prefill-chunks", "16",    "--contexts", "180000", "--quiet"};
  expectRefused(folder.run("firn", compile), 1, {"69 MB for a cache", "67 MB", "ddr.bytes"});
  EXPECT_FALSE(std::filesystem::exists(blob));
  const ProgramResult simulated180k = simulated({"--machine", machine, "--prompt", "180000"});
  EXPECT_EQ(simulated180k.exitCode, 1);
  EXPECT_THAT(simulated180k.err, AllOf(HasSubstr("67 MB"), HasSubstr("ddr.bytes")));
}

}  // namespace
}  // namespace firn::e2e
