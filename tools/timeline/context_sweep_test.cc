#include "tools/timeline/context_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace firn::tools {
namespace {

using testing::ElementsAre;

constexpr uint32_t kMost = 1U << 20;

std::vector<uint32_t> parsed(const std::string& text) {
  const auto contexts = parseContexts(text, kMost);
  EXPECT_TRUE(contexts.isOk()) << text << ": " << contexts.status().toString();
  return contexts ? *contexts : std::vector<uint32_t>{};
}

TEST(ContextSweepTest, RangesAndLists) {
  EXPECT_THAT(parsed("256:2048:x2"), ElementsAre(256, 512, 1024, 2048));
  EXPECT_THAT(parsed("256:2000:x2"), ElementsAre(256, 512, 1024));
  EXPECT_THAT(parsed("64:64:x3"), ElementsAre(64));
  EXPECT_THAT(parsed("100:400:+150"), ElementsAre(100, 250, 400));
  EXPECT_THAT(parsed("512,256,512"), ElementsAre(256, 512));
  EXPECT_THAT(parsed("1048576:1048576:x1000000"), ElementsAre(1048576));
}

TEST(ContextSweepTest, WhatIsNoSweepIsRefused) {
  for (const char* text : {"", ":", "::", "256:512", "256:512:", "256:512:2", "256:512:x1", "256:512:+0", "512:256:x2",
                           "0:256:x2", "256:1048577:x2", "a:512:x2", "256:512:x2:x2", "1:64:+1", "1,,2", "1048577"}) {
    const auto contexts = parseContexts(text, kMost);
    EXPECT_FALSE(contexts.isOk()) << text;
    EXPECT_EQ(contexts.status().code(), Code::kInvalidArgument) << text;
    EXPECT_FALSE(contexts.status().message().empty());
  }
}

}  // namespace
}  // namespace firn::tools
