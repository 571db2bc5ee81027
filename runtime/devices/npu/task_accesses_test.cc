// sharedByte against sets of bytes.
#include "runtime/devices/npu/task_accesses.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace firn::runtime {
namespace {

using Numbers = std::mt19937;

uint64_t upTo(Numbers& numbers, uint64_t most) { return numbers() % (most + 1); }

/// Nested dims, as the verifier has them: a stride is at least what the dim inside spans.
Access someAccess(Numbers& numbers, const std::vector<std::byte>& memory) {
  Access access = {.first = memory.data() + upTo(numbers, 60), .bytes = 1 + upTo(numbers, 5)};
  uint64_t span = access.bytes;
  for (size_t dim = access.counts.size(); dim-- > 0;) {
    access.counts[dim] = 1 + upTo(numbers, 2);
    access.strides[dim] = span + upTo(numbers, 4);
    span = (access.counts[dim] - 1) * access.strides[dim] + span;
  }
  return access;
}

std::set<const std::byte*> bytesOf(const Access& access) {
  std::set<const std::byte*> bytes;
  for (uint64_t i = 0; i < access.counts[0]; ++i) {
    for (uint64_t j = 0; j < access.counts[1]; ++j) {
      for (uint64_t k = 0; k < access.counts[2]; ++k) {
        for (uint64_t byte = 0; byte < access.bytes; ++byte) {
          bytes.insert(access.first + i * access.strides[0] + j * access.strides[1] + k * access.strides[2] + byte);
        }
      }
    }
  }
  return bytes;
}

TEST(TaskAccessesTest, SharedBytesAreThoseOfBothSets) {
  Numbers numbers(5);
  const std::vector<std::byte> memory(1000);
  int shared = 0;
  constexpr int kPairs = 3000;
  for (int i = 0; i < kPairs; ++i) {
    const Access a = someAccess(numbers, memory), b = someAccess(numbers, memory);
    const auto ours = bytesOf(a), theirs = bytesOf(b);
    const bool isShared = std::ranges::any_of(ours, [&](const std::byte* byte) { return theirs.contains(byte); });
    const std::byte* const found = sharedByte(a, b);
    ASSERT_EQ(found != nullptr, isShared) << i;
    if (found != nullptr) ASSERT_TRUE(ours.contains(found) && theirs.contains(found)) << i;
    shared += isShared ? 1 : 0;
  }
  EXPECT_GT(shared, kPairs / 10);
  EXPECT_LT(shared, kPairs * 9 / 10);
}

}  // namespace
}  // namespace firn::runtime
