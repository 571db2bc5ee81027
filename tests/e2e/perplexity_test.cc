// What a measurement of perplexity refuses, and that it scores what it says.
#include "tools/perplexity.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <algorithm>
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

/// Bytes that the program holds on its heap.
uint64_t heapBytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

TEST_F(PerplexityTest, KeepsLogitsOfComparedWindowsOnly) {
  const std::vector<int32_t> text = someIds(64, kVocab);
  const uint64_t rowBytes = kVocab * sizeof(float);
  const SessionPtr reference = openSession(smallCompile("gguf/llama.gguf"));
  for (const bool isCompared : {false, true}) {
    need(tools::measurePerplexity(*session, text, {.window = 64}));  // whatever is allocated once
    const uint64_t before = heapBytes();
    uint64_t most = 0;
    tools::PerplexityOptions options{.window = 64, .klWindows = isCompared ? 1U : 0U, .reference = reference.get()};
    options.progress = [&](uint32_t, uint32_t) {
      most = std::max(most, heapBytes() - before);
      return true;
    };
    const auto result = need(tools::measurePerplexity(*session, text, options));
    EXPECT_EQ(most > 30 * rowBytes, isCompared) << most;
    EXPECT_EQ(result.windowKl.size(), isCompared ? 1U : 0U);
    EXPECT_EQ(result.meanKl, 0) << "the same model";
  }
}

TEST_F(PerplexityTest, RefusesToKeepMoreThanItMay) {
  const SessionPtr reference = openSession(smallCompile("gguf/llama.gguf"));
  const uint64_t needed = 7 * kVocab * sizeof(float);
  tools::PerplexityOptions options{.window = 16, .klWindows = 1, .reference = reference.get(), .maxKeptBytes = needed};
  EXPECT_TRUE(tools::measurePerplexity(*session, ids, options).isOk());
  options.maxKeptBytes = needed - 1;
  const Status refused = tools::measurePerplexity(*session, ids, options).status();
  EXPECT_EQ(refused.code(), Code::kResourceExhausted);
  EXPECT_NE(refused.message().find(std::to_string(needed) + " bytes"), std::string::npos) << refused.message();
  EXPECT_NE(refused.message().find(std::to_string(needed - 1)), std::string::npos) << refused.message();
  options.klWindows = 0;
  EXPECT_TRUE(tools::measurePerplexity(*session, ids, options).isOk());
}

}  // namespace
}  // namespace firn::e2e
