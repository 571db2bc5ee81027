#include "blob/dump.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

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

TEST(Dump, TextNamesEverything) {
  const std::string text = dumpText(sample(Target::kCpu), {});
  for (const char* expected :
       {"target cpu", "2 lanes", "prefill.16.64", "generate.128", "head.2", "block.16", "kv_bytes", ".firn.weights",
        "mask u8[64]", "hidden(out) f32[16, 64]", "card        name: \"sample\""}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
  }
  EXPECT_EQ(text.find("cpu.rope"), std::string::npos);
  const std::string tasks = dumpText(sample(Target::kCpu), {.tasks = true});
  EXPECT_NE(tasks.find("cpu.rope  attn_q\n      scratch+"), std::string::npos) << tasks;
  EXPECT_NE(tasks.find("weights[param 3]+0  q4_1[32, 64] panels"), std::string::npos) << tasks;
}

TEST(Dump, JsonAgreesWithTheBlob) {
  const Blob blob = sample(Target::kReference);
  const auto json = nlohmann::json::parse(dumpJson(blob, {.tasks = true}));
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
}

}  // namespace
}  // namespace firn::blob
