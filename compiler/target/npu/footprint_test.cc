#include "compiler/target/npu/footprint.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace firn::target {
namespace {

constexpr uint64_t kBytes = 64;

/// The bytes one by one.
std::vector<bool> bytesOf(const Footprint& footprint) {
  std::vector<bool> bytes(4 * kBytes);
  for (uint64_t row = 0; row < footprint.rows; ++row) {
    for (uint64_t i = 0; i < footprint.bytes; ++i) bytes[footprint.begin + row * footprint.stride + i] = true;
  }
  return bytes;
}

uint64_t sharedBytes(const std::vector<bool>& a, const std::vector<bool>& b) {
  uint64_t count = 0;
  for (size_t i = 0; i < a.size(); ++i) count += a[i] && b[i] ? 1 : 0;
  return count;
}

bool holdsAll(const std::vector<bool>& outer, const std::vector<bool>& inner) {
  for (size_t i = 0; i < outer.size(); ++i) {
    if (inner[i] && !outer[i]) return false;
  }
  return true;
}

Footprint randomFootprint(std::mt19937& random, uint64_t stride) {
  Footprint footprint{
      .begin = random() % kBytes, .rows = 1 + random() % 4, .stride = stride, .bytes = 1 + random() % stride};
  if (random() % 3 == 0) footprint.rows = 1;
  return joinedRows(footprint);
}

TEST(FootprintTest, MatchesBytesOneByOne) {
  std::mt19937 random(1);
  size_t met = 0;
  for (int i = 0; i < 20000; ++i) {
    const uint64_t stride = 1 + random() % 24;
    const Footprint a = randomFootprint(random, stride);
    const Footprint b = randomFootprint(random, random() % 4 == 0 ? 1 + random() % 24 : stride);
    const std::vector<bool> bytesA = bytesOf(a);
    const std::vector<bool> bytesB = bytesOf(b);
    const bool isExact = a.rows == 1 || b.rows == 1 || a.stride == b.stride;
    const uint64_t expected = sharedBytes(bytesA, bytesB);
    if (const auto common = commonBytes(a, b)) {
      ASSERT_EQ(*common, expected) << i;
    } else {
      ASSERT_FALSE(isExact) << i;
    }
    if (isExact || expected > 0) ASSERT_EQ(overlap(a, b), expected > 0) << i;
    met += expected > 0 ? 1 : 0;
    if (covers(a, b)) {
      ASSERT_TRUE(holdsAll(bytesA, bytesB)) << i;
    } else if (isExact && a.rows == 1) {
      ASSERT_FALSE(holdsAll(bytesA, bytesB)) << i;
    }
    ASSERT_EQ(overlap(a, b), overlap(b, a)) << i;
  }
  EXPECT_GT(met, 5000U);
}

TEST(FootprintTest, RemainderKeepsEveryByteThatWasNotWritten) {
  std::mt19937 random(2);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t stride = 1 + random() % 24;
    const Footprint old = randomFootprint(random, stride);
    const Footprint written = randomFootprint(random, stride);
    const std::vector<bool> before = bytesOf(old);
    const std::vector<bool> gone = bytesOf(written);
    const Footprint rest = remainder(old, written);
    const std::vector<bool> after = bytesOf(rest);
    for (size_t byte = 0; byte < before.size(); ++byte) {
      if (before[byte] && !gone[byte]) ASSERT_TRUE(after[byte]) << i << " byte " << byte;
      if (after[byte]) ASSERT_TRUE(before[byte]) << i << " byte " << byte;
    }
    if (covers(written, old)) ASSERT_EQ(rest.bytes, 0U);
  }
}

TEST(FootprintTest, JoinsRowsThatTouch) {
  const Footprint joined = joinedRows({.begin = 5, .rows = 3, .stride = 8, .bytes = 8});
  EXPECT_EQ(joined.rows, 1U);
  EXPECT_EQ(joined.bytes, 24U);
  EXPECT_EQ(joined.end(), 29U);
}

}  // namespace
}  // namespace firn::target
