// The programs firn and firn-compile on small models: what they print, and what a script can rely on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include <nlohmann/json.hpp>

#include "compiler/driver.h"
#include "compiler/import/gguf_writer_for_test.h"
#include "tests/e2e/program.h"
#include "tests/golden/recorded.h"
#include "tests/golden/safetensors.h"

namespace firn::e2e {
namespace {

using nlohmann::ordered_json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kModel = "tests/data/gguf/llama.gguf";

class CliTest : public testing::Test {
 protected:
  /// Runs firn, which must succeed, and gives its standard output.
  std::string firn(const std::vector<std::string>& arguments) const {
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return result.out;
  }
  ordered_json firnJson(std::vector<std::string> arguments) const {
    arguments.emplace_back("--json");
    return ordered_json::parse(firn(arguments));
  }
  /// A blob for prompts of up to 128 tokens and T = 256.
  std::string compiled(const std::string& model = kModel) const {
    const std::string blob = folder.file("model.firn");
    firn({"compile", model, "-o", blob, "--max-prompt-len", "128", "--threads", "2"});
    return blob;
  }

  ProgramFolder folder;
};

std::vector<std::string> keysOf(const ordered_json& object) {
  std::vector<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.push_back(key);
  return keys;
}

TEST_F(CliTest, FirnLinksNoCompiler) {
  const std::string libraries = folder.run("ldd", {programPath("firn")}).out;
  EXPECT_THAT(libraries, HasSubstr("libc.so"));
  EXPECT_THAT(libraries, Not(HasSubstr("MLIR")));
  EXPECT_THAT(libraries, Not(HasSubstr("LLVM")));
  EXPECT_THAT(readFile(programPath("firn")), Not(HasSubstr("N4mlir")));  // nor does it hold a mangled mlir:: name
  EXPECT_THAT(readFile(programPath("firn-compile")), HasSubstr("N4mlir"));
}

TEST_F(CliTest, RunPrintsOneObjectAndCompilesOnce) {
  const std::vector<std::string> arguments = {"run", kModel, "hello world", "--max-tokens", "6", "--ignore-eos"};
  const ordered_json first = firnJson(arguments);
  EXPECT_THAT(keysOf(first), ElementsAre("text", "tokens", "prompt_tokens", "cached_tokens", "completion_tokens",
                                         "finish_reason", "compiled", "load_ms", "ttft_ms", "decode_tok_s"));
  EXPECT_TRUE(first["compiled"]);
  EXPECT_EQ(first["tokens"].size(), 6U);
  EXPECT_EQ(first["completion_tokens"], 6);
  EXPECT_EQ(first["finish_reason"], "length");
  const ordered_json second = firnJson(arguments);
  EXPECT_FALSE(second["compiled"]);
  EXPECT_EQ(second["tokens"], first["tokens"]);
  EXPECT_EQ(second["text"], first["text"]);
  EXPECT_EQ(folder.cachedBlobs().size(), 1U);
  // Streamed, the same text and a newline.
  EXPECT_EQ(firn(arguments), first["text"].get<std::string>() + "\n");
  // Other choices are another program.
  EXPECT_TRUE(firnJson({"run", kModel, "hello world", "--max-tokens", "1", "--max-prompt-len", "64"})["compiled"]);
  EXPECT_EQ(folder.cachedBlobs().size(), 2U);
}

TEST_F(CliTest, ADamagedFileOfTheCacheIsCompiledAgain) {
  const std::vector<std::string> arguments = {"run", kModel, "hello", "--max-tokens", "3"};
  const ordered_json first = firnJson(arguments);
  const std::string blob = folder.cachedBlobs().at(0);
  std::string bytes = readFile(blob);
  bytes[5000] ^= 1;
  writeFile(blob, bytes);
  const ordered_json second = firnJson(arguments);
  EXPECT_TRUE(second["compiled"]);
  EXPECT_EQ(second["tokens"], first["tokens"]);
  EXPECT_FALSE(firnJson(arguments)["compiled"]);
}

TEST_F(CliTest, RunGivesTheRecordedTokens) {
  const golden::RecordedModel model = golden::floatModels()[0];
  const golden::RecordedAnswer answer = golden::recordedAnswer(model);
  std::string ids;
  for (const int32_t id : answer.ids) ids += (ids.empty() ? "" : ",") + std::to_string(id);
  const ordered_json result = firnJson({"run", "tests/data/" + model.model, "--prompt-ids", ids, "--max-tokens", "24",
                                        "--ignore-eos", "--device", "reference"});
  EXPECT_EQ(result["tokens"].get<std::vector<int32_t>>(), answer.greedy);
  EXPECT_EQ(result["prompt_tokens"], answer.ids.size());
}

TEST_F(CliTest, LaddersAndThreadsOfABlobChangeNothing) {
  const std::string blob = compiled();
  const std::vector<std::string> arguments = {"run", blob, "--prompt-ids", "5,6,7,8,9", "--max-tokens", "200"};
  const ordered_json expected = firnJson(arguments);
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{"--threads", "1"}, {"--prefill-chunks", "16"}, {"--contexts", "256"}}) {
    std::vector<std::string> changed = arguments;
    changed.insert(changed.end(), more.begin(), more.end());
    EXPECT_EQ(firnJson(changed)["tokens"], expected["tokens"]) << more[0];
  }
}

TEST_F(CliTest, ExplainPrintsPlanAndTimes) {
  const std::string blob = compiled();
  const auto result =
      folder.run("firn", {"run", blob, "--prompt-ids", "5,6,7,8,9", "--max-tokens", "4", "--json", "--explain"});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(ordered_json::parse(result.out)["tokens"].size(), 4U);  // standard output is as without
  for (const char* line : {"plan: 5 tokens in", "predicted ", "rows 0 to ", "measured: plan ",
                           "head: ", "3 steps: ", "GB/s", "copied by the host 0 bytes"}) {
    EXPECT_THAT(result.err, HasSubstr(line));
  }
}

TEST_F(CliTest, ContextShiftGoesOnBehindTheCache) {
  const std::string blob = compiled();
  const std::vector<std::string> arguments = {"run",          blob,  "--prompt-ids", "5,6,7,8,9",
                                              "--max-tokens", "600", "--ignore-eos"};
  const auto with = [&](const std::vector<std::string>& more) {
    std::vector<std::string> all = arguments;
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const ordered_json full = firnJson(arguments);
  EXPECT_EQ(full["tokens"].size(), 256U - 5 + 1);
  EXPECT_EQ(full["finish_reason"], "length");
  const ordered_json shifted = firnJson(with({"--context-shift"}));
  EXPECT_EQ(shifted["tokens"].size(), 600U);
  // The same until the cache is full.
  EXPECT_TRUE(std::equal(full["tokens"].begin(), full["tokens"].end(), shifted["tokens"].begin()));
  EXPECT_EQ(firnJson(with({"--context-shift"}))["tokens"], shifted["tokens"]);
  const auto refused = [&](const std::vector<std::string>& more) {
    const ProgramResult result = folder.run("firn", with(more));
    EXPECT_NE(result.exitCode, 0);
    return result.err;
  };
  EXPECT_THAT(refused({"--context-shift", "--keep-rows", "192"}), HasSubstr("at most 191"));
  EXPECT_THAT(refused({"--context-shift", "--keep-rows", "2147483647"}), HasSubstr("cannot keep"));
  EXPECT_THAT(refused({"--context-shift", "--keep-rows", "-1"}), HasSubstr("--keep-rows"));
  EXPECT_THAT(refused({"--keep-rows", "4"}), HasSubstr("--context-shift"));
}

TEST_F(CliTest, SeedsDecideSampledTokens) {
  const auto sampled = [&](const std::string& seed) {
    return firnJson({"run", kModel, "hello", "--max-tokens", "20", "--temperature", "1", "--seed", seed})["tokens"];
  };
  EXPECT_EQ(sampled("1"), sampled("1"));
  EXPECT_NE(sampled("1"), sampled("2"));
}

TEST_F(CliTest, EveryPhasePrints) {
  for (const std::string_view phase : compiler::kPhases) {
    const std::string name(phase);
    const std::string blob = folder.file(name + ".firn");
    const std::string text = firn({"compile", kModel, "-o", blob, "--stop-after", name, "--print"});
    EXPECT_GT(text.size(), 1000U) << name;
    EXPECT_EQ(std::filesystem::exists(blob), name == "blob") << name;
  }
}

TEST_F(CliTest, ACompileReportsOnlyWhatItKnows) {
  for (const std::string_view phase : compiler::kPhases) {
    const bool isWhole = phase == "blob";
    const auto report =
        firnJson({"compile", kModel, "-o", folder.file("x.firn"), "--stop-after", std::string(phase), "--json"});
    for (const char* name : {"threads", "max_prompt_tokens", "kv_rows", "prefill_chunks", "warnings"}) {
      EXPECT_TRUE(report.contains(name)) << phase << " " << name;
    }
    for (const char* name : {"output", "entries", "bodies", "tasks", "kv_type", "kv_bytes", "scratch_bytes",
                             "weights_bytes", "blob_bytes", "device", "placement"}) {
      EXPECT_EQ(report.contains(name), isWhole) << phase << " " << name;
    }
  }
}

TEST_F(CliTest, InspectShowsAndVerifies) {
  const std::string blob = compiled();
  const std::string text = firn({"inspect", blob, "--verify"});
  EXPECT_THAT(text, HasSubstr("generate.256"));
  EXPECT_THAT(text, HasSubstr("head.1"));
  EXPECT_THAT(text, HasSubstr("weights_bytes"));
  EXPECT_GT(firn({"inspect", blob, "--tasks"}).size(), text.size());
  EXPECT_EQ(firnJson({"inspect", blob})["ident"]["target"], "cpu");
}

TEST_F(CliTest, InspectShowsEachPartAndItsReason) {
  const std::string blob = folder.file("split.firn");
  firn({"compile", kModel, "-o", blob, "--max-prompt-len", "64", "--threads", "2", "--place", "layers[1:]=cpu"});
  const std::string plan = firn({"inspect", blob, "--plan"});
  EXPECT_THAT(plan, HasSubstr("input, layer 0: --device cpu\n"));
  EXPECT_THAT(plan, HasSubstr(": --place layers[1:]=cpu\n"));
  EXPECT_THAT(plan, HasSubstr("head.1, head.16, head.64\n  cpu        output"));
  const ordered_json entry = firnJson({"inspect", blob})["entries"][1];
  EXPECT_EQ(entry["part"], 1);
  EXPECT_EQ(entry["parts"], 2);
  EXPECT_EQ(entry["target"], "cpu");
  const std::vector<std::string> run = {"--prompt-ids", "1,2,3", "--max-tokens", "5", "--ignore-eos"};
  const auto tokens = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), run.begin(), run.end());
    arguments.emplace_back("--json");
    return firnJson(arguments)["tokens"];
  };
  EXPECT_EQ(tokens({"run", blob}), tokens({"run", compiled()}));
  EXPECT_EQ(tokens({"run", kModel, "--threads", "2", "--place", "layers[1:]=cpu"}), tokens({"run", compiled()}));
}

TEST_F(CliTest, EachPartOfASplitModelIsNamedWithItsDevice) {
  const std::string blob = folder.file("split.firn");
  firn({"compile", kModel, "-o", blob, "--max-prompt-len", "64", "--threads", "2", "--place",
        "layers[1:]=reference,head=cpu"});
  EXPECT_THAT(firn({"inspect", blob}), HasSubstr("targets cpu and reference, 2 lanes"));
  EXPECT_THAT(firnJson({"inspect", blob})["ident"]["targets"], ElementsAre("cpu", "reference"));
  const std::string session = folder.file("session");
  const auto result = folder.run("firn", {"run", blob, "--prompt-ids", "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16",
                                          "--max-tokens", "4", "--ignore-eos", "--explain", "--prompt-cache", session});
  ASSERT_EQ(result.exitCode, 0) << result.err;
  for (const char* line : {"  prefill[.]16[.]192, rows 0 to 15 on cpu and reference: predicted [^\n]*\n"
                           "    cpu: input, layer 0, predicted [0-9.]* ms\n"
                           "    reference: layers 1 to 2, predicted [0-9.]* ms\n",
                           "  prefill[.]16[.]192, rows 0 to 15 on cpu and reference: [0-9.]* ms, predicted",
                           "  head on cpu: ", "  3 steps on cpu and reference: "}) {
    EXPECT_THAT(result.err, testing::ContainsRegex(line));
  }
  // What another device has computed is refused with all of them named.
  const auto refused = folder.run("firn", {"run", compiled(), "--prompt-ids", "1", "--prompt-cache", session});
  EXPECT_EQ(refused.exitCode, 1);
  EXPECT_THAT(refused.err, HasSubstr("the snapshot's device is reference and cpu, the loaded model's is cpu"));
}

TEST_F(CliTest, ReadelfHasNothingToSay) {
  const ProgramResult result = folder.run("readelf", {"-hSsn", "-W", compiled()});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err, IsEmpty());
  EXPECT_THAT(result.out, Not(HasSubstr("arning")));
  EXPECT_THAT(result.out, HasSubstr(".firn.weights"));
  EXPECT_THAT(result.out, HasSubstr("generate.256"));
}

TEST_F(CliTest, TokenizeOfModelAndBlob) {
  const ordered_json ids = firnJson({"tokenize", kModel, "hello world"});
  EXPECT_THAT(keysOf(ids), ElementsAre("ids"));
  EXPECT_FALSE(ids["ids"].empty());
  EXPECT_EQ(firnJson({"tokenize", compiled(), "hello world"}), ids);
}

std::vector<std::string> shortBench(const std::vector<std::string>& more) {
  std::vector<std::string> arguments = {"bench",           kModel, "--prompt-tokens", "64",
                                        "--decode-tokens", "16",   "--threads",       "1"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

TEST_F(CliTest, BenchMeasures) {
  const ordered_json result = firnJson(shortBench({}));
  for (const char* key : {"prefill_tok_s", "decode_tok_s", "load_ms", "weights_bytes", "memory_bytes"}) {
    ASSERT_TRUE(result.contains(key)) << key;
    EXPECT_GT(result[key].get<double>(), 0) << key;
  }
}

/// The simulation's speed is no speed of the npu's, nor of this machine's memory.
TEST_F(CliTest, TimesOfASimulationAreSaidToBeThat) {
  const std::string_view kind = "host time of the simulation";
  const ordered_json result = firnJson(shortBench({"--device", "npu"}));
  EXPECT_EQ(result["times"], kind);
  EXPECT_FALSE(result.contains("decode_bound_tok_s") || result.contains("probe_bytes_per_s"));
  EXPECT_FALSE(firnJson(shortBench({})).contains("times"));
  const std::string text = firn(shortBench({"--device", "npu"}));
  EXPECT_THAT(text, testing::AllOf(HasSubstr(kind), testing::Not(HasSubstr("the memory gave"))));
  const std::vector<std::string> run = {"run", kModel, "hello", "--max-tokens", "2", "--device"};
  for (const char* device : {"npu", "cpu"}) {
    auto arguments = run;
    arguments.emplace_back(device);
    EXPECT_EQ(firnJson(arguments).contains("times"), device == std::string_view("npu"));
  }
}

TEST_F(CliTest, OnlyTheStageThatIsSimulatedIsSaidToBe) {
  const ordered_json prefill = firnJson(shortBench({"--prefill-device", "npu"}));
  EXPECT_EQ(prefill["times"], "prefill: host time of the simulation");
  EXPECT_TRUE(prefill.contains("decode_bound_tok_s")) << "steps run on the cpu and read this machine's memory";
  const ordered_json decode = firnJson(shortBench({"--decode-device", "npu", "--place", "head=cpu"}));
  EXPECT_EQ(decode["times"], "decode: host time of the simulation");
  EXPECT_FALSE(decode.contains("decode_bound_tok_s") || decode.contains("probe_bytes_per_s"));
  const ProgramResult run = folder.run(
      "firn", {"run", kModel, "hello", "--max-tokens", "2", "--threads", "1", "--prefill-device", "npu", "--explain"});
  EXPECT_THAT(run.err, HasSubstr("measured (prefill: host time of the simulation): plan"));
}

TEST_F(CliTest, BenchTellsTheThreadsThatADeviceTakes) {
  auto arguments = shortBench({"--device", "reference"});
  *std::next(std::ranges::find(arguments, "--threads")) = "2";
  EXPECT_EQ(firnJson(arguments)["threads"], 1);
  arguments.back() = "cpu";
  EXPECT_EQ(firnJson(arguments)["threads"], 2);
}

/// docs/howto/split_over_devices.md: one that has a single thread takes one.
TEST_F(CliTest, EveryCommandTakesThreadsForADeviceOfOne) {
  writeFile(folder.file("ids.json"), "[1, 2, 3]");
  for (const char* device : {"reference", "npu"}) {
    for (std::vector<std::string> command :
         {std::vector<std::string>{"compile", kModel, "-o", folder.file("x.firn")},
          {"run", kModel, "hello", "--max-tokens", "1"},
          {"bench", kModel, "--prompt-tokens", "4", "--decode-tokens", "1"},
          {"profile", kModel, "hello", "--max-tokens", "1"},
          {"eval", "logits", kModel, "--ids", folder.file("ids.json"), "-o", folder.file("logits")}}) {
      command.insert(command.end(), {"--device", device, "--threads", "2"});
      const ProgramResult result = folder.run("firn", command);
      EXPECT_EQ(result.exitCode, 0) << testing::PrintToString(command) << result.err;
    }
  }
}

/// A model that runs in two parts has its weights packed for each device that reads them in any entry.
TEST_F(CliTest, BenchBoundsAStepByWhatItReads) {
  const ordered_json whole = firnJson(shortBench({}));
  const ordered_json split = firnJson(shortBench({"--prefill-device", "reference"}));
  EXPECT_GT(split["weights_bytes"], whole["weights_bytes"]);
  EXPECT_EQ(split["decode_weights_bytes"], whole["decode_weights_bytes"]);
  EXPECT_LE(whole["decode_weights_bytes"], whole["weights_bytes"]);
  EXPECT_DOUBLE_EQ(split["decode_bound_tok_s"].get<double>() * split["decode_weights_bytes"].get<double>(),
                   split["probe_bytes_per_s"].get<double>());
}

TEST_F(CliTest, EvalWritesTheLogitsOfEveryPosition) {
  const golden::RecordedModel model = golden::quantizedModels()[0];
  const golden::RecordedAnswer answer = golden::recordedAnswer(model);
  writeFile(folder.file("ids.json"), ordered_json(answer.ids).dump());
  const auto logits = [&](const std::string& name, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {
        "eval", "logits", "tests/data/" + model.model, "--ids", folder.file("ids.json"), "-o", folder.file(name)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    firn(arguments);
    const golden::Safetensors file = need(golden::Safetensors::open(folder.file(name)));
    EXPECT_THAT(file.shape("logits"), ElementsAre(answer.ids.size(), 512U));
    return need(file.floats("logits"));
  };
  const std::vector<float> cpu = logits("cpu", {"--device", "cpu"});
  EXPECT_EQ(differenceInBits(logits("step", {"--step"}), cpu), "");
  EXPECT_EQ(differenceInBits(logits("ladder", {"--prefill-chunks", "64", "--contexts", "128"}), cpu), "");
  EXPECT_LE(golden::largestDifference(logits("reference", {"--device", "reference"}), answer.logits),
            golden::kRecordedTolerance);
}

TEST_F(CliTest, EvalMeasuresPerplexityAndDivergence) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "the quick brown fox jumps over the lazy dog " + std::to_string(i) + "\n";
  writeFile(folder.file("text"), text);
  const ordered_json cpu =
      firnJson({"eval", "perplexity", kModel, folder.file("text"), "--window", "64", "--kl-windows", "1"});
  EXPECT_EQ(cpu["scored"], cpu["windows"].get<int>() * 31);  // the second half, each predicting the next
  EXPECT_LT(cpu["mean_kl"], 1e-4);
  EXPECT_GE(cpu["mean_kl"], 0);
  const ordered_json reference =
      firnJson({"eval", "perplexity", kModel, folder.file("text"), "--window", "64", "--device", "reference"});
  EXPECT_NEAR(cpu["perplexity"].get<double>() / reference["perplexity"].get<double>(), 1, 1e-3);
  EXPECT_FALSE(reference.contains("mean_kl")) << "from itself";
  EXPECT_TRUE(firnJson({"eval", "perplexity", kModel, folder.file("text"), "--window", "64", "--device", "reference",
                        "--place", "head=cpu"})
                  .contains("mean_kl"));
  const ordered_json npu = firnJson({"eval", "perplexity", kModel, folder.file("text"), "--window", "64",
                                     "--max-windows", "1", "--device", "npu", "--machine", "lnl"});
  EXPECT_LT(npu["mean_kl"], 1e-2) << "the reference has no machine";
}

TEST_F(CliTest, AModelWithoutTokenizerRunsOnIds) {
  import::GgufWriter writer = import::tinyLlama();
  for (const char* key : {"tokenizer.ggml.model", "tokenizer.ggml.pre", "tokenizer.ggml.tokens",
                          "tokenizer.ggml.token_type", "tokenizer.ggml.merges", "tokenizer.ggml.eos_token_id"}) {
    writer.erase(key);
  }
  const import::ByteVector bytes = writer.bytes();
  const std::string model = folder.file("bare.gguf");
  writeFile(model, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  const ordered_json result = firnJson({"run", model, "--prompt-ids", "1,2,3", "--max-tokens", "4"});
  EXPECT_EQ(result["tokens"].size(), 4U);
  EXPECT_EQ(result["text"], "");
  EXPECT_THAT(firn({"run", model, "--prompt-ids", "1,2,3", "--max-tokens", "2"}), testing::MatchesRegex("[0-9 ]+\n"));
  EXPECT_GT(firnJson({"bench", model, "--prompt-tokens", "8", "--decode-tokens", "4"})["decode_tok_s"], 0);
  // The key for the end token holds without a tokenizer, and --ignore-eos still ignores it.
  const int32_t third = result["tokens"][2].get<int32_t>();
  const import::ByteVector ending = writer.u32("tokenizer.ggml.eos_token_id", static_cast<uint32_t>(third)).bytes();
  writeFile(model, {reinterpret_cast<const char*>(ending.data()), ending.size()});
  const ordered_json stopped = firnJson({"run", model, "--prompt-ids", "1,2,3", "--max-tokens", "4"});
  EXPECT_EQ(stopped["finish_reason"], "stop");
  EXPECT_EQ(stopped["tokens"].back(), third);
  EXPECT_LE(stopped["tokens"].size(), 3U);
  EXPECT_EQ(firnJson({"run", model, "--prompt-ids", "1,2,3", "--max-tokens", "4", "--ignore-eos"})["tokens"],
            result["tokens"]);
  const ProgramResult refused = folder.run("firn", {"run", model, "a text"});
  EXPECT_EQ(refused.exitCode, 1);
  EXPECT_THAT(refused.err, HasSubstr("--prompt-ids"));
}

}  // namespace
}  // namespace firn::e2e
