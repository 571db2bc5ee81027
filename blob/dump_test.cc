#include "blob/dump.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "blob/sample_file.h"
#include "blob/sample_program.h"
#include "blob/two_target_program.h"

namespace firn::blob {
namespace {

Blob sample(Target target) {
  auto bytes = sampleBlob(target);
  EXPECT_TRUE(bytes.isOk()) << bytes.status().toString();
  auto blob = Blob::fromMemory(*bytes);
  EXPECT_TRUE(blob.isOk()) << blob.status().toString();
  return *std::move(blob);
}

using Dumper = void (*)(const Blob&, const DumpOptions&, const DumpSink&);

std::string dumped(Dumper dump, const Blob& blob, const DumpOptions& options) {
  std::string out;
  dump(blob, options, [&](std::string_view text) { out += text; });
  return out;
}

TEST(DumpTest, TextNamesEverything) {
  const std::string text = dumped(dumpText, sample(Target::kCpu), {});
  for (const char* expected :
       {"target cpu", "2 lanes", "prefill.16.64", "generate.128", "head.2", "block.16", "kv_bytes", ".firn.weights",
        "mask u8[64]", "hidden(out) f32[16, 64]", "card        name: \"sample\""}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
  }
  EXPECT_EQ(text.find("cpu.rope"), std::string::npos);
  const std::string tasks = dumped(dumpText, sample(Target::kCpu), {.tasks = true});
  EXPECT_NE(tasks.find("cpu.rope  attn_q\n      scratch+"), std::string::npos) << tasks;
  EXPECT_NE(tasks.find("weights[param 3]+0  q4_1[32, 64] panels"), std::string::npos) << tasks;
}

TEST(DumpTest, TextOfTheNpuNamesQueuesAndBarriers) {
  const Blob blob = sample(Target::kNpu);
  const std::string text = dumped(dumpText, blob, {.tasks = true});
  for (const std::string& expected :
       {std::string("target npu"), std::string("machine     sample\n"), "machine " + toHex(blob.ident().machineHash),
        std::string(".firn.machine"),
        std::string(
            "    shave 0  npu.embed  token_embd\n      waits for 1 at barrier 0; signals barrier 4\n      cmx 0+0"),
        std::string(
            "    dma 0  npu.copy  token_embd\n      signals barrier 0\n      symbol ids+0  i32[16]  64 bytes\n"),
        std::string("    dpu 1  npu.matmul  qk\n"), std::string("strides [1, 8]")}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text.substr(0, 4000);
  }
  EXPECT_EQ(text.find("lane 0"), std::string::npos) << "queues have no lanes";
  EXPECT_EQ(dumped(dumpText, sample(Target::kCpu), {}).find("machine"), std::string::npos);
}

TEST(DumpTest, JsonOfTheNpuNamesQueuesAndBarriers) {
  const auto json = nlohmann::json::parse(dumped(dumpJson, sample(Target::kNpu), {.tasks = true}));
  EXPECT_EQ(json["ident"]["machine"], "sample");
  const auto& tasks = json["bodies"][0]["task_list"];
  ASSERT_EQ(tasks.size(), 6U);
  EXPECT_EQ(tasks[0]["queue"], "dma 0");
  EXPECT_EQ(tasks[0]["waits"], nlohmann::json::array());
  EXPECT_EQ(tasks[0]["signals"], nlohmann::json::array({0}));
  EXPECT_EQ(tasks[2]["queue"], "shave 0");
  EXPECT_EQ(tasks[2]["op"], "npu.embed");
  EXPECT_EQ(tasks[2]["waits"], nlohmann::json::parse(R"([{"barrier": 0, "count": 1}])"));
  EXPECT_EQ(tasks[2]["operands"][0]["place"], "cmx 0+0");
  EXPECT_FALSE(tasks[0].contains("lane"));
  const auto cpu = nlohmann::json::parse(dumped(dumpJson, sample(Target::kCpu), {.tasks = true}));
  EXPECT_EQ(cpu["ident"]["machine"], "");
  EXPECT_FALSE(cpu["bodies"][0]["task_list"][0].contains("queue"));
}

/// Bodies of both kinds stand in one blob.
TEST(DumpTest, EachBodyIsNamedAsItsTargetDoes) {
  const Contents contents = twoTargetContents(Target::kCpu, Target::kNpu);
  const auto bytes = blobFile(contents, sampleWeights(contents));
  ASSERT_TRUE(bytes.isOk()) << bytes.status().toString();
  const auto blob = Blob::fromMemory(*bytes);
  ASSERT_TRUE(blob.isOk()) << blob.status().toString();
  const auto json = nlohmann::json::parse(dumped(dumpJson, *blob, {.tasks = true}));
  for (const auto& body : json["bodies"]) {
    const bool isNpu = body["name"].get<std::string>().ends_with(".npu");
    for (const auto& task : body["task_list"]) EXPECT_EQ(task.contains("queue"), isNpu) << body["name"];
  }
}

TEST(DumpTest, JsonAgreesWithTheBlob) {
  const Blob blob = sample(Target::kReference);
  const auto json = nlohmann::json::parse(dumped(dumpJson, blob, {.tasks = true}));
  EXPECT_EQ(json["ident"]["target"], "reference");
  EXPECT_EQ(json["ident"]["content_hash"], toHex(blob.ident().contentHash));
  EXPECT_EQ(json["entries"].size(), blob.entries().size());
  EXPECT_EQ(json["memory"]["file_bytes"], blob.fileBytes());
  size_t tasks = 0;
  for (const auto& body : json["bodies"]) tasks += body["task_list"].size();
  EXPECT_EQ(tasks, blob.tasks().size());
  size_t calls = 0;
  for (const auto& body : json["bodies"]) {
    EXPECT_GT(body["calls"], 0) << body["name"];
    calls += body["calls"].get<size_t>();
  }
  EXPECT_EQ(calls, blob.calls().size());
  EXPECT_EQ(json["card"]["name"], "sample");
  auto brief = nlohmann::json::parse(dumped(dumpJson, blob, {}));
  EXPECT_FALSE(brief["bodies"][0].contains("task_list"));
  auto without = json;
  for (auto& body : without["bodies"]) body.erase("task_list");
  EXPECT_EQ(brief, without);
}

/// A hostile blob is dumped record by record, so what is held of it at once is no more than a task.
TEST(DumpTest, JsonComesInSmallPieces) {
  const Blob blob = sample(Target::kCpu);
  size_t largest = 0;
  dumpJson(blob, {.tasks = true}, [&](std::string_view text) { largest = std::max(largest, text.size()); });
  EXPECT_LT(largest, 4096U);
}

}  // namespace
}  // namespace firn::blob
