#include "blob/dump.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "blob/sample_program.h"

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
