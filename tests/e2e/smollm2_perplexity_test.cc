// How good SmolLM2's answers are: perplexity of a text that was recorded in fp32 by another program, and how far the
// cpu's answers lie from the reference device's.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "genai/tokenizer/tokenizer.h"
#include "tests/e2e/smollm2.h"
#include "tools/perplexity.h"

namespace firn::e2e {
namespace {

class Smollm2PerplexityTest : public Smollm2Test {
 protected:
  void SetUp() override {
    Smollm2Test::SetUp();
    std::ifstream file("tests/data/smollm2/perplexity.json");
    recorded = nlohmann::json::parse(file);
    ids = recorded["ids"].get<std::vector<int32_t>>();
  }

  nlohmann::json recorded;
  std::vector<int32_t> ids;
};

TEST_F(Smollm2PerplexityTest, TheTextHasTheRecordedIds) {
  const std::string path = recorded["text"];
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "this system lacks " << path;
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  const auto session = openSession(compile());
  const genai::Tokenizer tokenizer = need(genai::Tokenizer::open(session->model().blob().tokenizer()));
  EXPECT_EQ(need(tokenizer.encode(text.str())), ids);
}

TEST_F(Smollm2PerplexityTest, ReferenceAgreesOnTheFirstWindow) {
  const auto session = openSession(compile("reference"));
  const auto result = need(tools::measurePerplexity(*session, ids, {.window = 512, .maxWindows = 1}));
  const double expected = recorded["nll"][0];
  std::printf("first window: %.6f nats, recorded %.6f\n", result.windowNll[0], expected);
  EXPECT_EQ(result.scored, 255U);
  EXPECT_NEAR(result.windowNll[0] / expected, 1, 1e-4);
}

TEST_F(Smollm2PerplexityTest, Cpu) {
  const auto session = openSession(compile());
  const auto reference = openSession(compile("reference"));
  const auto result =
      need(tools::measurePerplexity(*session, ids, {.window = 512, .klWindows = 3, .reference = reference.get()}));
  const double expected = recorded["perplexity"];
  const double above = result.perplexity / expected - 1;
  std::printf("perplexity %.4f, recorded %.4f (%+.2f %%); mean KL divergence %.5f nats\n", result.perplexity, expected,
              100 * above, result.meanKl);
  EXPECT_EQ(result.windowNll.size(), 14U);
  EXPECT_EQ(result.scored, 14U * 255U);
  EXPECT_LE(above, 0.005);
  EXPECT_GE(above, -0.005) << "better than exact arithmetic is a sign of another text or another model";
  EXPECT_LE(result.meanKl, 0.004);
  EXPECT_GT(result.meanKl, 0);
}

}  // namespace
}  // namespace firn::e2e
