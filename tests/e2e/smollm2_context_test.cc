// SmolLM2 on cpu, long contexts: every ladder gives the same bits for prompts around every boundary and across changes
// of variant within an answer; an answer of 5000 tokens goes on in the memory of 1152 rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>

#include "base/hash.h"
#include "genai/sampler/sampler.h"
#include "tests/e2e/resident_pages.h"
#include "tests/e2e/smollm2.h"

namespace firn::e2e {
namespace {

constexpr uint32_t kVocab = 49152;

Hash128 hashOf(std::span<const float> logits) { return hash128(std::as_bytes(logits)); }

std::vector<uint32_t> promptLengths() {
  std::vector<uint32_t> lengths;
  for (uint32_t length = 1; length <= 40; ++length) lengths.push_back(length);
  for (const uint32_t middle : {64, 256, 512, 1024, 1151}) {
    for (uint32_t length = middle - 1; length <= middle + 1; ++length) lengths.push_back(length);
  }
  return lengths;
}

class Smollm2ContextTest : public Smollm2Test {
 protected:
  /// T = 1280, with every chunk and context that the ladders below name.
  static compiler::CompileOptions compileLong() {
    compiler::CompileOptions options = compile();
    options.maxPromptTokens = 1152;
    return options;
  }
};

TEST_F(Smollm2ContextTest, EveryLadderGivesTheSameBits) {
  const std::vector<int32_t> ids = someIds(1152, kVocab);
  const auto stepping = openSession(compileLong());
  std::vector<Hash128> expected;  // after each token
  for (const int32_t id : ids) expected.push_back(hashOf(need(stepping->decode(id))));
  for (const std::vector<uint32_t>& chunks : {std::vector<uint32_t>{16, 64, 256, 1024}, {64}, {1024}}) {
    for (const std::vector<uint32_t>& contexts : {std::vector<uint32_t>{256, 512, 1024, 1280}, {1280}}) {
      const auto session = openSession(compileLong(), {.ladders = {chunks, contexts}});
      const auto where = [&](uint32_t length) {
        return std::to_string(length) + " tokens, chunks from " + std::to_string(chunks.front()) + ", contexts from " +
               std::to_string(contexts.front());
      };
      for (const uint32_t length : promptLengths()) {
        need(session->rewind(0));
        EXPECT_EQ(hashOf(need(session->prefill(std::span(ids).first(length)))), expected[length - 1]) << where(length);
      }
      // One answer through the contexts of 256, 512 and 1024 rows.
      need(session->rewind(0));
      need(session->prefill(std::span(ids).first(250)));
      for (uint32_t at = 250; at < 520; ++at) {
        ASSERT_EQ(hashOf(need(session->decode(ids[at]))), expected[at]) << where(at + 1);
      }
    }
  }
}

TEST_F(Smollm2ContextTest, FiveThousandTokensInTheMemoryOfOneCache) {
  using Clock = std::chrono::steady_clock;
  constexpr uint32_t kTokens = 5000;
  constexpr uint32_t kPart = 1000;
  const auto session = need(
      engine::Session::create(need(engine::Model::open(blobOf(compile()), {})), {.contextShift = true, .keepRows = 4}));
  const uint32_t rows = session->model().limits().kvRows;
  genai::Sampler sampler = need(genai::Sampler::make({.temperature = 1, .seed = 1}));
  int32_t id = need(sampler.sample(need(session->prefill(someIds(64, kVocab)))));
  std::vector<uint32_t> seen(kVocab);
  long pages = 0;
  auto start = Clock::now();
  for (uint32_t step = 1; step <= kTokens; ++step) {
    const auto logits = need(session->decode(id));
    ASSERT_TRUE(std::ranges::all_of(logits, [](float x) { return std::isfinite(x); })) << "step " << step;
    id = need(sampler.sample(logits));
    ++seen[static_cast<size_t>(id)];
    ASSERT_LE(session->position(), rows);
    if (step == rows) pages = residentPages();  // the whole cache and every context have been used
    if (step % kPart == 0) {
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      std::printf("steps %u to %u: %.1f tokens/s\n", step - kPart + 1, step, kPart / seconds);
      start = Clock::now();
    }
  }
  // Rows of 23 KB that were added would be 88 MB. What may still come is a file's page that is needed for the first
  // time now, with its 15 neighbours.
  constexpr long kMegabytePages = (1 << 20) / 4096;
  EXPECT_LE(residentPages() - pages, kMegabytePages);
  // Text, and no loop of a few tokens.
  EXPECT_GT(std::ranges::count_if(seen, [](uint32_t count) { return count > 0; }), 500);
}

}  // namespace
}  // namespace firn::e2e
