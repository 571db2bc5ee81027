#include "base/page_buffer.h"

#include <algorithm>
#include <vector>

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace firn {
namespace {

constexpr uint64_t kMegabyte = 1 << 20;

/// Bytes of `bytes` that lie in memory.
uint64_t residentBytes(std::span<std::byte> bytes) {
  std::vector<unsigned char> pages((bytes.size() + 4095) / 4096);
  EXPECT_EQ(mincore(bytes.data(), bytes.size(), pages.data()), 0);
  return static_cast<uint64_t>(
             std::count_if(pages.begin(), pages.end(), [](unsigned char p) { return (p & 1) != 0; })) *
         4096;
}

TEST(PageBufferTest, IsZeroAndAligned) {
  for (const uint64_t size : {uint64_t{1}, uint64_t{4096}, kMegabyte, 5 * kMegabyte + 1}) {
    auto buffer = PageBuffer::allocate(size);
    ASSERT_TRUE(buffer.isOk());
    PageBuffer moved = *std::move(buffer);
    const auto bytes = moved.bytes();
    EXPECT_EQ(bytes.size(), size);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(bytes.data()) % (size >= kMegabyte ? 2 * kMegabyte : 4096), 0U);
    EXPECT_TRUE(std::ranges::all_of(bytes, [](std::byte b) { return b == std::byte{0}; }));
    bytes.back() = std::byte{1};
  }
  EXPECT_TRUE(PageBuffer::allocate(0)->bytes().empty());
  EXPECT_EQ(PageBuffer::allocate(UINT64_MAX).status().code(), Code::kResourceExhausted);
}

TEST(PageBufferTest, ATouchOfSmallPagesTakesNoHugeOne) {
  auto buffer = PageBuffer::allocate(16 * kMegabyte);
  ASSERT_TRUE(buffer.isOk());
  useSmallPages(buffer->bytes());
  for (uint64_t at = 0; at < buffer->bytes().size(); at += 2 * kMegabyte) buffer->bytes()[at + 5000] = std::byte{7};
  EXPECT_EQ(residentBytes(buffer->bytes()), 8U * 4096);
  useHugePages(buffer->bytes());
  for (uint64_t at = 0; at < buffer->bytes().size(); ++at) {
    ASSERT_EQ(buffer->bytes()[at], at % (2 * kMegabyte) == 5000 ? std::byte{7} : std::byte{0});
  }
}

TEST(PageBufferTest, AdviceKeepsToWholePagesInside) {
  auto buffer = PageBuffer::allocate(8 * kMegabyte);
  ASSERT_TRUE(buffer.isOk());
  // Nothing to advise about: no page lies inside.
  useSmallPages({});
  useSmallPages(buffer->bytes().subspan(1, 4096));
  useHugePages(buffer->bytes().subspan(100, 10));
  buffer->bytes()[0] = std::byte{1};
  EXPECT_EQ(buffer->bytes()[0], std::byte{1});
}

}  // namespace
}  // namespace firn
