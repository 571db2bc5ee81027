// SmolLM2 from a GGUF to text: the recorded answers of eight prompts, and what compiling and loading cost.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>

#include <nlohmann/json.hpp>

#include "genai/pipeline.h"
#include "genai/tokenizer/tokenizer.h"
#include "tests/e2e/program.h"
#include "tests/e2e/smollm2.h"
#include "tools/engine_adapter.h"

namespace firn::e2e {
namespace {

/// A greedy step may differ from the recorded one where the two best logits lie closer than this: int8 activations move
/// their difference with a standard deviation of 0.144.
constexpr float kCertainMargin = 0.35F;

struct Prompt {
  std::string text;
  std::vector<int32_t> ids;
  std::vector<int32_t> greedy;
  std::vector<float> margins;
  std::string answer;
};

std::vector<Prompt> recordedPrompts() {
  std::ifstream file("tests/data/smollm2/prompts.json");
  std::vector<Prompt> prompts;
  for (const nlohmann::json& prompt : nlohmann::json::parse(file)) {
    prompts.push_back({prompt["prompt"], prompt["ids"], prompt["greedy"], prompt["margin"], prompt["answer"]});
  }
  return prompts;
}

class Smollm2TextTest : public Smollm2Test {
 protected:
  static genai::GenerateResult answer(engine::Session& session, const Prompt& prompt) {
    const genai::Tokenizer tokenizer = need(genai::Tokenizer::open(session.model().blob().tokenizer()));
    EXPECT_EQ(need(tokenizer.encode(prompt.text)), prompt.ids);
    tools::SessionEngine engine(session);
    return need(genai::generate(engine, &tokenizer, prompt.ids, {.maxTokens = prompt.greedy.size()}));
  }
};

TEST_F(Smollm2TextTest, ReferenceGivesTheRecordedAnswers) {
  const auto session = openSession(compile("reference"));
  for (const Prompt& prompt : recordedPrompts()) {
    const genai::GenerateResult result = answer(*session, prompt);
    EXPECT_EQ(result.tokens, prompt.greedy) << prompt.text;
    EXPECT_EQ(result.text, prompt.answer);
  }
}

TEST_F(Smollm2TextTest, CpuGivesThemUpToANearTie) {
  const auto session = openSession(compile());
  size_t agreed = 0;
  size_t steps = 0;
  for (const Prompt& prompt : recordedPrompts()) {
    const std::vector<int32_t> tokens = answer(*session, prompt).tokens;
    const auto differs = std::mismatch(tokens.begin(), tokens.end(), prompt.greedy.begin(), prompt.greedy.end()).first;
    const auto same = static_cast<size_t>(differs - tokens.begin());
    agreed += same;
    steps += prompt.greedy.size();
    if (same < prompt.greedy.size()) {
      EXPECT_LT(prompt.margins[same], kCertainMargin) << "left at step " << same << " of: " << prompt.text;
      std::printf("left at step %zu, margin %.4f\n", same, static_cast<double>(prompt.margins[same]));
    }
  }
  const double share = static_cast<double>(agreed) / static_cast<double>(steps);
  std::printf("%zu of %zu steps before the first that differs: %.2f\n", agreed, steps, share);
  // The share that llama.cpp reached on the same prompts and weights.
  EXPECT_GE(share, 0.45);
}

TEST_F(Smollm2TextTest, CompileTimeMemoryAndSize) {
  const ProgramFolder folder;
  const std::string blob = folder.file("model.firn");
  const auto start = std::chrono::steady_clock::now();
  const ProgramResult result = folder.run("firn-compile", {smollm2Path(), "-o", blob});
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  ASSERT_EQ(result.exitCode, 0) << result.err;
  const auto modelBytes = static_cast<double>(std::filesystem::file_size(smollm2Path()));
  const auto blobBytes = static_cast<double>(std::filesystem::file_size(blob));
  const double aboveMiB = (static_cast<double>(result.peakBytes) - modelBytes) / (1 << 20);
  std::printf("compiled in %.2f s, %.0f MiB at most above the weights; blob %.3f times the model\n", seconds.count(),
              aboveMiB, blobBytes / modelBytes);
  EXPECT_LE(blobBytes, 1.2 * modelBytes);
  EXPECT_LE(aboveMiB, 512);
}

TEST_F(Smollm2TextTest, ASecondRunLoadsFast) {
  const ProgramFolder folder;
  const std::vector<std::string> arguments = {"run", smollm2Path(), "1, 2, 3,", "--max-tokens", "5", "--json"};
  const auto first = nlohmann::json::parse(folder.run("firn", arguments).out);
  const auto second = nlohmann::json::parse(folder.run("firn", arguments).out);
  EXPECT_TRUE(first["compiled"]);
  EXPECT_FALSE(second["compiled"]);
  EXPECT_EQ(second["tokens"], first["tokens"]);
  std::printf("loads in %.1f ms, first token after %.1f ms\n", second["load_ms"].get<double>(),
              second["ttft_ms"].get<double>());
}

}  // namespace
}  // namespace firn::e2e
