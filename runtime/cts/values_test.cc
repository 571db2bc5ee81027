// What entries compute and what they leave alone: paths that must give the same bits, rows that must not matter, memory
// that must not change.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <limits>

#if defined(__SSE__)
#include <xmmintrin.h>
#endif

#include "runtime/cts/device_cases.h"

namespace firn::runtime::cts {
namespace {

using blob::SymbolKind;
using Bits = std::vector<uint32_t>;

class ValuesTest : public RigTest {
 protected:
  // Prefill of all tokens in one chunk, then the head of its last row.
  static Bits lastLogitsByChunk(Rig& rig, std::string_view entry, const Tokens& tokens) {
    EXPECT_TRUE(rig.run(entry, tokens));
    const size_t last = tokens.ids.size() - 1;
    std::copy_n(rig.hidden(64).begin() + static_cast<ptrdiff_t>(last * kEmbed), kEmbed, rig.hidden(1).begin());
    EXPECT_TRUE(rig.run("head.1"));
    return bitsOf(rig.logits(1));
  }

  static Bits lastLogitsByGenerate(Rig& rig, const Tokens& tokens) {
    EXPECT_TRUE(rig.generateAll(tokens));
    return bitsOf(rig.logits(1));
  }
};

TEST_P(ValuesTest, LogitsAreFiniteAndNotFlat) {
  lastLogitsByGenerate(*rig, {.ids = someIds(20), .row0 = 0});
  const std::span<float> logits = rig->logits(1);
  EXPECT_TRUE(std::ranges::all_of(logits, [](float x) { return std::isfinite(x); }));
  const auto [low, high] = std::ranges::minmax(logits);
  EXPECT_GT(high - low, 0.5F);
}

TEST_P(ValuesTest, LogitsDependOnEarlierTokens) {
  const Bits first = lastLogitsByGenerate(*rig, {.ids = {3, 5, 7}, .row0 = 0});
  EXPECT_NE(first, lastLogitsByGenerate(*rig, {.ids = {4, 5, 7}, .row0 = 0}));
  EXPECT_NE(first, lastLogitsByGenerate(*rig, {.ids = {5, 3, 7}, .row0 = 0})) << "the order of tokens";
}

TEST_P(ValuesTest, ChunksAndStepsGiveTheSameBits) {
  for (const uint32_t count : {1U, 15U, 16U}) {
    const Tokens tokens{.ids = someIds(count), .row0 = 0};
    const Bits steps = lastLogitsByGenerate(*rig, tokens);
    EXPECT_EQ(steps, lastLogitsByChunk(*rig, "prefill.16.64", tokens)) << count;
    EXPECT_EQ(steps, lastLogitsByChunk(*rig, "prefill.64.64", tokens)) << count;
  }
  const std::vector<int32_t> ids = someIds(50);
  const Bits whole = lastLogitsByChunk(*rig, "prefill.64.64", {.ids = ids, .row0 = 0});
  ASSERT_TRUE(rig->run("prefill.16.64", {.ids = {ids.begin(), ids.begin() + 16}, .row0 = 0}));
  ASSERT_TRUE(rig->run("prefill.16.128", {.ids = {ids.begin() + 16, ids.begin() + 29}, .row0 = 16}));
  ASSERT_TRUE(rig->generateAll({.ids = {ids[29]}, .row0 = 29}));
  EXPECT_EQ(whole, lastLogitsByChunk(*rig, "prefill.64.128", {.ids = {ids.begin() + 30, ids.end()}, .row0 = 30}));
}

TEST_P(ValuesTest, ContextsGiveTheSameBits) {
  ASSERT_TRUE(rig->run("prefill.16.64", {.ids = someIds(16), .row0 = 0}));
  const Tokens next{.ids = {9}, .row0 = 16};
  ASSERT_TRUE(rig->run("generate.64", next));
  const Bits small = bitsOf(rig->logits(1));
  ASSERT_TRUE(rig->run("generate.128", next));
  EXPECT_EQ(small, bitsOf(rig->logits(1)));
}

// The last place of a chunk in its context, and the same chunk in the next one.
TEST_P(ValuesTest, ContextsOfAChunkGiveTheSameBits) {
  ASSERT_TRUE(rig->generateAll({.ids = someIds(48), .row0 = 0}));
  for (const uint32_t valid : {1U, 15U, 16U}) {
    const Tokens tokens{.ids = someIds(valid, 5), .row0 = 48};
    EXPECT_EQ(lastLogitsByChunk(*rig, "prefill.16.64", tokens), lastLogitsByChunk(*rig, "prefill.16.128", tokens))
        << valid;
  }
}

TEST_P(ValuesTest, HeadRowsGiveTheSameBits) {
  ASSERT_TRUE(rig->run("prefill.16.64", {.ids = someIds(16), .row0 = 0}));
  const std::vector<float> hidden(rig->hidden(16).begin(), rig->hidden(16).end());
  ASSERT_TRUE(rig->run("head.16"));
  const std::vector<float> all(rig->logits(16).begin(), rig->logits(16).end());
  for (uint32_t row = 0; row < 16; ++row) {
    std::copy_n(hidden.begin() + row * kEmbed, kEmbed, rig->hidden(1).begin());
    ASSERT_TRUE(rig->run("head.1"));
    EXPECT_EQ(bitsOf(rig->logits(1)), bitsOf(std::span(all).subspan(row * kVocab, kVocab))) << row;
  }
}

TEST_P(ValuesTest, RepeatsAndNewDevicesGiveTheSameBits) {
  const Tokens tokens{.ids = someIds(23), .row0 = 0};
  const Bits first = lastLogitsByGenerate(*rig, tokens);
  EXPECT_EQ(first, lastLogitsByGenerate(*rig, tokens));
  std::unique_ptr<Rig> other = Rig::open(GetParam());
  ASSERT_NE(other, nullptr);
  EXPECT_EQ(first, lastLogitsByGenerate(*other, tokens));
}

TEST_P(ValuesTest, ThreadCountsGiveTheSameBits) {
  const Tokens tokens{.ids = someIds(23), .row0 = 0};
  const Bits expected = lastLogitsByGenerate(*rig, tokens);
  for (uint32_t threads = 1; threads <= GetParam().program.lanes; ++threads) {
    std::unique_ptr<Rig> rig = Rig::open(GetParam(), {.threads = threads});
    ASSERT_NE(rig, nullptr);
    EXPECT_EQ(expected, lastLogitsByGenerate(*rig, tokens)) << threads << " threads";
  }
}

/// Rounds upward and, where the processor can, takes subnormal numbers for zero, while it lives.
class OddFloatingPoint {
 public:
  OddFloatingPoint() {
    std::fegetenv(&before_);
    std::fesetround(FE_UPWARD);
#if defined(__SSE__)
    _mm_setcsr(_mm_getcsr() | kFlush);
#endif
  }
  ~OddFloatingPoint() { std::fesetenv(&before_); }
  OddFloatingPoint(const OddFloatingPoint&) = delete;
  OddFloatingPoint& operator=(const OddFloatingPoint&) = delete;

  static bool isStillOdd() {
#if defined(__SSE__)
    if ((_mm_getcsr() & kFlush) != kFlush) return false;
#endif
    return std::fegetround() == FE_UPWARD;
  }

 private:
  static constexpr unsigned kFlush = 0x8040;  // flush to zero, subnormal inputs are zero
  std::fenv_t before_{};
};

TEST_P(ValuesTest, TheCallersFloatingPointDoesNotMatter) {
  const Tokens tokens{.ids = someIds(13), .row0 = 0};
  const Bits expected = lastLogitsByChunk(*rig, "prefill.16.64", tokens);
  Bits found;
  bool isStillOdd = false;
  {
    const OddFloatingPoint odd;
    found = lastLogitsByChunk(*rig, "prefill.16.64", tokens);
    isStillOdd = OddFloatingPoint::isStillOdd();
  }
  EXPECT_TRUE(isStillOdd) << "the caller keeps its own";
  EXPECT_EQ(expected, found);
}

TEST_P(ValuesTest, PoisonInUnusedRowsChangesNothing) {
  const Tokens prompt{.ids = someIds(11), .row0 = 0};
  const Tokens next{.ids = {9}, .row0 = 11};
  ASSERT_TRUE(rig->run("prefill.16.64", prompt));
  ASSERT_TRUE(rig->run("generate.64", next));
  const Bits expected = bitsOf(rig->logits(1));

  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float poison : {std::numeric_limits<float>::quiet_NaN(), kInfinity, -kInfinity}) {
    rig->poisonCache(0, 0, poison);
    ASSERT_TRUE(rig->run("prefill.16.128", prompt));
    for (uint32_t row = 11; row < 16; ++row) {
      std::fill_n(rig->hidden(64).begin() + row * kEmbed, kEmbed, std::numeric_limits<float>::quiet_NaN());
    }
    ASSERT_TRUE(rig->run("generate.64", next));
    EXPECT_EQ(expected, bitsOf(rig->logits(1)));
  }
}

TEST_P(ValuesTest, MaskedRowsDoNotMatter) {
  // Rows 4..6 masked: whatever they hold, the token at row 7 sees the same.
  Bits seen;
  for (const uint32_t first : {20U, 40U}) {
    ASSERT_TRUE(rig->run("prefill.16.64", {.ids = someIds(4), .row0 = 0}));
    ASSERT_TRUE(rig->run("prefill.16.64", {.ids = someIds(3, first), .row0 = 4}));
    rig->setInputs({.ids = {9}, .row0 = 7});
    std::memset(reinterpret_cast<std::byte*>(rig->ints(SymbolKind::kMask).data()) + 4, 0, 3);
    ASSERT_TRUE(rig->run("generate.64"));
    if (seen.empty()) seen = bitsOf(rig->logits(1));
    EXPECT_EQ(seen, bitsOf(rig->logits(1)));
  }
}

// Every byte of the cache but the rows of the tokens (and of the padding, on a device of fixed size) keeps its value,
// in every head of every slot, for every chunk at the end of the cache.
TEST_P(ValuesTest, OnlyTheRowsOfTheTokensAreWritten) {
  struct Run {
    std::string entry;
    uint32_t rows;
  };
  for (const Run& run : {Run{"generate.128", 1}, Run{"prefill.16.128", 16}, Run{"prefill.64.128", 64}}) {
    for (uint32_t row0 = kKvRows - 17; row0 < kKvRows; ++row0) {
      const uint32_t start = run.rows == 64 ? row0 - 47 : row0;
      if (start + run.rows > kKvRows) continue;
      for (const uint32_t valid : {1U, run.rows}) {
        std::ranges::fill(rig->cache(), kCanary);
        ASSERT_TRUE(rig->run(run.entry, {.ids = someIds(valid), .row0 = start}));
        for (uint32_t row = 0; row < kKvRows; ++row) {
          const bool isOutside = row < start || row >= start + (GetParam().writesPadding() ? run.rows : valid);
          for (uint32_t head = 0; head < kCacheHeads; ++head) {
            const auto isIntact = [](std::span<const std::byte> bytes) {
              return std::ranges::all_of(bytes, [](std::byte b) { return b == kCanary; });
            };
            const auto scale = rig->cacheScale(0, head, row);
            ASSERT_EQ(isIntact(rig->cacheRow(0, head, row)), isOutside)
                << run.entry << " row0 " << start << " valid " << valid << ": head " << head << " row " << row;
            ASSERT_EQ(isIntact(scale), isOutside || scale.empty()) << run.entry << ": scale " << row;
          }
        }
        ASSERT_TRUE(rig->marginsIntact()) << run.entry << " row0 " << start;
      }
    }
  }
}

TEST_P(ValuesTest, HeadsWriteTheirLogitsOnly) {
  std::ranges::fill(rig->hidden(16), 0.5F);
  for (const char* head : {"head.1", "head.16"}) {
    ASSERT_TRUE(rig->run(head));
    EXPECT_TRUE(rig->marginsIntact()) << head;
  }
}

FIRN_ON_EVERY_DEVICE(ValuesTest);

}  // namespace
}  // namespace firn::runtime::cts
