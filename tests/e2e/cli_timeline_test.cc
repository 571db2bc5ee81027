// firn profile and firn inspect --timeline: tables, traces and pictures.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <sstream>

#include <nlohmann/json.hpp>

#include "tests/e2e/program.h"

namespace firn::e2e {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kModel = "tests/data/gguf/llama.gguf";

class CliTimelineTest : public testing::Test {
 protected:
  /// The trace of a short generation on `device`; its table goes to `table`.
  json traceOf(const std::string& device, std::string& table) const {
    const std::string file = folder.file("trace.json");
    const ProgramResult result = folder.run("firn", {"profile", kModel, "--device", device, "--max-prompt-len", "64",
                                                     "--prompt-ids", "1,2,3,4,5", "--max-tokens", "3", "-o", file});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    table = result.out;
    return json::parse(readFile(file))["traceEvents"];
  }

  ProgramFolder folder;
};

TEST_F(CliTimelineTest, ATraceOfTheNpuHasATrackForEachQueue) {
  std::string table;
  const json events = traceOf("npu", table);
  EXPECT_THAT(table, AllOf(HasSubstr("share"), HasSubstr("softmax (npu.softmax)")));
  std::map<int, std::string> tracks;
  std::map<int, double> ends;
  std::map<std::string, int> counters;
  for (const json& event : events) {
    if (event["ph"] == "M" && event["name"] == "thread_name") tracks[event["tid"]] = event["args"]["name"];
    if (event["ph"] == "C") ++counters[event["name"]];
    if (event["ph"] == "C" && event["name"] == "DDR") {
      EXPECT_LE(event["args"]["GB/s"].get<double>(), 68) << "what lnl has";
    }
    if (event["ph"] != "X") continue;
    double& end = ends[event["tid"]];
    EXPECT_GE(event["ts"].get<double>(), end - 1e-6) << event;  // one at a time
    end = event["ts"].get<double>() + event["dur"].get<double>();
  }
  ASSERT_EQ(tracks.size(), 1U + 2 + 6 + 6);
  EXPECT_EQ(tracks[1], "entries");
  EXPECT_EQ(tracks[2], "dma 0");
  EXPECT_EQ(tracks[15], "shave 5");
  EXPECT_EQ(ends.size(), tracks.size());
  EXPECT_EQ(counters.size(), 1U + 6);
  EXPECT_GT(counters["DDR"], 10);
}

TEST_F(CliTimelineTest, ATraceOfAnotherDeviceHasEntriesAndOps) {
  std::string table;
  const json events = traceOf("cpu", table);
  EXPECT_THAT(table, HasSubstr("cpu.linear"));
  std::vector<std::string> entries;
  for (const json& event : events) {
    if (event["ph"] == "X" && event["tid"] == 1) entries.push_back(event["name"]);
  }
  ASSERT_EQ(entries.size(), 4U);  // a chunk, the head, two steps
  EXPECT_THAT(entries[0], HasSubstr("prefill.16"));
  EXPECT_EQ(entries[1], "head.1");
  EXPECT_THAT(entries[3], HasSubstr("generate."));
}

/// Simulated and measured times are of two clocks, and no share is one of both.
TEST_F(CliTimelineTest, ASplitModelHasATableForEachClock) {
  const ProgramResult result =
      folder.run("firn", {"profile", kModel, "--device", "npu", "--place", "layers[0:1]=cpu", "--max-prompt-len", "64",
                          "--prompt-ids", "1,2,3,4,5", "--max-tokens", "2", "--rows", "1000"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  std::map<bool, double> shares;
  int tables = 0;
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) {
    if (line.find("share") != std::string::npos) {
      ++tables;
      EXPECT_THAT(line, HasSubstr(tables == 1 ? "simulated time" : "time of all threads"));
      continue;
    }
    const bool isNpu = line.find("(npu.") != std::string::npos;
    EXPECT_EQ(isNpu, tables == 1) << line;
    std::istringstream words(line);
    double milliseconds = 0, share = 0;
    words >> milliseconds >> share;
    shares[isNpu] += share;
  }
  EXPECT_EQ(tables, 2);
  EXPECT_NEAR(shares[true], 100, 2) << result.out;
  EXPECT_NEAR(shares[false], 100, 2) << result.out;
}

TEST_F(CliTimelineTest, InspectDrawsALayer) {
  const std::string blob = folder.file("model.firn");
  ASSERT_EQ(folder.run("firn", {"compile", kModel, "-o", blob, "--device", "npu", "--max-prompt-len", "64", "--quiet"})
                .exitCode,
            0);
  const std::string svg = folder.file("layer.svg");
  const std::string page = folder.file("layer.html");
  EXPECT_EQ(folder.run("firn", {"inspect", blob, "--timeline", svg}).exitCode, 0);
  EXPECT_THAT(readFile(svg), AllOf(HasSubstr("<svg"), HasSubstr("generate."), HasSubstr("layer 0"), HasSubstr("dpu 5"),
                                   HasSubstr("cmx 5"), HasSubstr("attn_q (npu.matmul)"), HasSubstr("</svg>")));
  EXPECT_EQ(
      folder.run("firn", {"inspect", blob, "--timeline", page, "--entry", "prefill.64.192", "--layer", "2"}).exitCode,
      0);
  EXPECT_THAT(readFile(page), AllOf(HasSubstr("<html>"), HasSubstr("prefill.64.192, layer 2")));
  const ProgramResult entry = folder.run("firn", {"inspect", blob, "--timeline", svg, "--entry", "nothing"});
  EXPECT_EQ(entry.exitCode, 1);
  EXPECT_THAT(entry.err, AllOf(HasSubstr("'nothing'"), HasSubstr("head.1")));
  EXPECT_EQ(folder.run("firn", {"inspect", blob, "--timeline", svg, "--layer", "99"}).exitCode, 1);
  EXPECT_EQ(folder.run("firn", {"inspect", blob, "--timeline", "layer.txt"}).exitCode, 2);
  EXPECT_EQ(folder.run("firn", {"inspect", blob, "--layer", "0"}).exitCode, 2);
}

}  // namespace
}  // namespace firn::e2e
