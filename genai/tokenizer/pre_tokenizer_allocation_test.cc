// Splitting allocates the same for a word as for a book: this program counts every allocation it makes.
#include <gtest/gtest.h>

#include <string>

#include "base/allocation_counter_for_test.h"
#include "genai/tokenizer/pre_tokenizer.h"

namespace firn::genai {
namespace {

TEST(PreTokenizerAllocationTest, DoesNotGrowWithTheText) {
  for (const char* name : {"gpt-2", "smollm", "llama3", "qwen2"}) {
    const auto row = findPreTokenizer(name);
    ASSERT_TRUE(row.isOk());
    const auto splitter = PreTokenizer::make(**row);
    ASSERT_TRUE(splitter.isOk());
    size_t pieces = 0;
    const std::function<void(std::string_view)> count = [&](std::string_view) { ++pieces; };
    const auto allocationsOf = [&](size_t words) {
      std::string text;
      for (size_t i = 0; i < words; ++i) text += "word 12, ";
      const uint64_t before = allocationCount();
      EXPECT_TRUE(splitter->split(text, count).isOk());
      return allocationCount() - before;
    };
    allocationsOf(1);
    EXPECT_EQ(allocationsOf(1000), allocationsOf(1)) << name;
    EXPECT_GT(pieces, 3000U);
  }
}

}  // namespace
}  // namespace firn::genai
