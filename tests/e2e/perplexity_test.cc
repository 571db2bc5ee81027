// What a measurement of perplexity refuses, and that it scores what it says.
#include "tools/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/e2e/compiled_model.h"

namespace firn::e2e {
namespace {

constexpr uint32_t kVocab = 512;

class PerplexityTest : public testing::Test {
 protected:
  Result<tools::PerplexityResult> measure(std::span<const int32_t> ids, uint32_t window) const {
    return tools::measurePerplexity(*session, ids, {.window = window});
  }

  SessionPtr session = openSession(smallCompile("gguf/llama.gguf"));
  std::vector<int32_t> ids = someIds(32, kVocab);
};

TEST_F(PerplexityTest, IsThatOfTheScoredIds) {
  const auto result = need(measure(ids, 16));
  EXPECT_EQ(result.scored, 2 * 7U);
  double sum = 0;
  for (const uint32_t start : {0U, 16U}) {
    need(session->rewind(0));
    for (uint32_t i = 0; i < 15; ++i) {
      const std::span<const float> logits = need(session->decode(ids[start + i]));
      if (i < 8) continue;
      double total = 0;
      for (const float logit : logits) total += std::exp(static_cast<double>(logit));
      sum += std::log(total) - static_cast<double>(logits[static_cast<size_t>(ids[start + i + 1])]);
    }
  }
  EXPECT_NEAR(result.perplexity, std::exp(sum / 14), 1e-9 * result.perplexity);
}

TEST_F(PerplexityTest, RefusesIdsOutsideTheVocabulary) {
  // The last id of a window is predicted only: no session ever checks it.
  for (const size_t at : {size_t{0}, size_t{15}, size_t{31}}) {
    for (const int32_t bad : {-1, int32_t{kVocab}, INT32_MAX}) {
      const int32_t good = std::exchange(ids[at], bad);
      EXPECT_EQ(measure(ids, 16).status().code(), Code::kOutOfRange) << "id " << bad << " at " << at;
      ids[at] = good;
    }
  }
}

TEST_F(PerplexityTest, RefusesOddWindowsAndShortTexts) {
  for (const uint32_t window : {0U, 2U, 15U, 34U}) {
    EXPECT_EQ(measure(ids, window).status().code(), Code::kInvalidArgument) << window;
  }
}

}  // namespace
}  // namespace firn::e2e
