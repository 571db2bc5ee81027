#include "base/memory_read.h"

#include <gtest/gtest.h>

#include <vector>

namespace firn {
namespace {

TEST(MemoryReadTest, EveryWordButTheEndsOfStreamsIsRead) {
  for (const size_t count : {0U, 3U, 31U, 32U, 35U, 36U, 67U, 1000U}) {
    std::vector<uint64_t> words(count);  // no more, for the address sanitizer
    for (size_t i = 0; i < count; ++i) words[i] = i * 0x9E3779B97F4A7C15U;
    const uint64_t whole = readMemory(words.data(), count);
    size_t unread = 0;
    for (uint64_t& word : words) {
      word ^= 1U << 7;
      if (readMemory(words.data(), count) == whole) ++unread;
      word ^= 1U << 7;
    }
    EXPECT_LE(unread, 31U) << count;
  }
}

}  // namespace
}  // namespace firn
