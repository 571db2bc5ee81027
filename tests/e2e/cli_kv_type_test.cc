// --kv-type: a choice of the compile, part of the cache's key, told by every command that speaks of memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/program.h"

namespace firn::e2e {
namespace {

using nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kModel = "tests/data/gguf/qwen2.gguf";

class CliKvTypeTest : public testing::Test {
 protected:
  ordered_json json(const std::vector<std::string>& arguments) const {
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_EQ(result.exitCode, 0) << testing::PrintToString(arguments) << result.err;
    return result.exitCode == 0 ? ordered_json::parse(result.out) : ordered_json();
  }

  ProgramFolder folder;
};

TEST_F(CliKvTypeTest, EachTypeIsABlobOfItsOwn) {
  std::vector<std::string> run = {"run",          kModel, "--prompt-ids", "1,2,3",
                                  "--max-tokens", "4",    "--ignore-eos", "--json"};
  EXPECT_TRUE(json(run)["compiled"].get<bool>());
  run.insert(run.end(), {"--kv-type", "i8"});
  EXPECT_TRUE(json(run)["compiled"].get<bool>());
  EXPECT_FALSE(json(run)["compiled"].get<bool>());
  EXPECT_EQ(folder.cachedBlobs().size(), 2U);
}

TEST_F(CliKvTypeTest, CompileAndBenchTellTheMemory) {
  const std::string blob = folder.file("model.firn");
  uint64_t bytesOfF16 = 0;
  for (const char* type : {"f16", "i8"}) {
    const ordered_json report =
        json({"compile", kModel, "-o", blob, "--max-prompt-len", "64", "--kv-type", type, "--json"});
    EXPECT_EQ(report["kv_type"], type);
    if (bytesOfF16 == 0) bytesOfF16 = report["kv_bytes"].get<uint64_t>();
    const ordered_json bench =
        json({"bench", blob, "--prompt-tokens", "16", "--decode-tokens", "4", "--depth", "60", "--json"});
    EXPECT_EQ(bench["kv_type"], type);
    EXPECT_EQ(bench["kv_bytes"], report["kv_bytes"]);
  }
  const ordered_json report =
      json({"compile", kModel, "-o", blob, "--max-prompt-len", "64", "--kv-type", "i8", "--json"});
  EXPECT_LT(report["kv_bytes"].get<uint64_t>(), bytesOfF16 * 2 / 3);
}

TEST_F(CliKvTypeTest, WrongNamesAndOtherBlobsAreRefused) {
  const std::string blob = folder.file("model.firn");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"compile", kModel, "-o", blob, "--kv-type", "bf16"},
        {"run", kModel, "--kv-type", "f"}}) {
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_THAT(result.err, AllOf(HasSubstr("--kv-type"), HasSubstr("f16, i8, f32")));
  }
  json({"compile", kModel, "-o", blob, "--max-prompt-len", "64", "--kv-type", "i8", "--json"});
  const ProgramResult result = folder.run("firn", {"run", blob, "--prompt-ids", "1", "--kv-type", "f16"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, AllOf(HasSubstr("KV type is i8"), HasSubstr("f16")));
  json({"run", blob, "--prompt-ids", "1", "--kv-type", "i8", "--max-tokens", "2", "--ignore-eos", "--json"});
}

TEST_F(CliKvTypeTest, AnNpuKeepsF16AndOtherTypesAreRefusedByBothOptions) {
  const std::string blob = folder.file("model.firn");
  const std::vector<std::vector<std::string>> placed = {
      {"--device", "npu"}, {"--prefill-device", "npu"}, {"--decode-device", "npu"}, {"--place", "layers[1:]=npu"}};
  for (const std::vector<std::string>& start : {std::vector<std::string>{"compile", kModel, "-o", blob},
                                                {"run", kModel, "--prompt-ids", "1"},
                                                {"bench", kModel}}) {
    for (const std::vector<std::string>& place : placed) {
      for (const char* type : {"i8", "f32"}) {
        auto arguments = start;
        arguments.insert(arguments.end(), place.begin(), place.end());
        arguments.insert(arguments.end(), {"--kv-type", type});
        const ProgramResult result = folder.run("firn", arguments);
        EXPECT_EQ(result.exitCode, 2) << testing::PrintToString(arguments);
        EXPECT_THAT(result.err, HasSubstr(std::string("--kv-type ") + type + " with " + place[0] + " " + place[1]));
        EXPECT_THAT(result.err, testing::Not(HasSubstr("firn-compile")));
      }
    }
  }
  EXPECT_TRUE(folder.cachedBlobs().empty());
  const std::vector<std::string> overruled = {
      "compile",         kModel, "-o",        blob, "--device", "npu", "--prefill-device", "cpu",
      "--decode-device", "cpu",  "--kv-type", "i8"};
  EXPECT_EQ(folder.run("firn", overruled).exitCode, 0) << "nothing is for npu";
}

TEST_F(CliKvTypeTest, AnNpuWithoutLayersTakesEveryType) {
  const std::string blob = folder.file("model.firn");
  const std::vector<std::string> compile = {"compile", kModel,      "-o", blob,    "--max-prompt-len",
                                            "64",      "--kv-type", "i8", "--json"};
  auto head = compile;
  head.insert(head.end(), {"--place", "head=npu"});
  EXPECT_EQ(json(head)["kv_type"], "i8") << "a head has no cache";
  auto aside = compile;
  aside.insert(aside.end(), {"--device", "npu", "--place", "layers=cpu", "--machine", "lnl"});
  EXPECT_EQ(json(aside)["kv_type"], "i8");
  json({"run", blob, "--prompt-ids", "1", "--max-tokens", "2", "--ignore-eos", "--json"});
  auto partly = compile;  // how many layers there are, only the model says
  partly.insert(partly.end(), {"--device", "npu", "--place", "layers[:1]=cpu"});
  const ProgramResult result = folder.run("firn", partly);
  EXPECT_NE(result.exitCode, 0);
  EXPECT_THAT(result.err, HasSubstr("the KV type is i8; the npu keeps f16"));
}

TEST_F(CliKvTypeTest, PerplexityOfTokenIds) {
  const std::string file = folder.file("ids.json");
  std::string ids = "[1";
  for (int i = 1; i < 256; ++i) ids += "," + std::to_string(i * 37 % 500);
  writeFile(file, ids + "]");
  const std::vector<std::string> eval = {"eval", "perplexity", kModel, "--ids", file, "--window", "64", "--json"};
  auto i8 = eval;
  i8.insert(i8.end(), {"--kv-type", "i8"});
  const ordered_json ofF16 = json(eval);
  const ordered_json ofI8 = json(i8);
  EXPECT_EQ(ofF16["windows"], 4);
  EXPECT_NEAR(ofI8["perplexity"].get<double>() / ofF16["perplexity"].get<double>(), 1, 0.01);
  EXPECT_GT(ofI8["mean_kl"].get<double>(), 0) << "the oracle has an f32 cache";
  EXPECT_EQ(folder.run("firn", {"eval", "perplexity", kModel, file, "--ids", file}).exitCode, 2);
  EXPECT_EQ(folder.run("firn", {"eval", "perplexity", kModel}).exitCode, 2);
}

}  // namespace
}  // namespace firn::e2e
