#include "compiler/ladders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace firn::compiler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(ChooseSizesTest, DefaultsAreTheDocumentedOnes) {
  auto sizes = chooseSizes({}, {});
  ASSERT_TRUE(sizes) << sizes.status().toString();
  EXPECT_EQ(sizes->maxPromptTokens, 1024);
  EXPECT_EQ(sizes->minResponseTokens, 128);
  EXPECT_EQ(sizes->kvRows, 1152);
  EXPECT_THAT(sizes->prefillChunks, ElementsAre(16, 64, 256, 1024));
  EXPECT_THAT(sizes->contexts, ElementsAre(256, 512, 1024, 1152));
  EXPECT_GE(sizes->lanes, 1);
}

TEST(ChooseSizesTest, RoundsSortsAndCompletes) {
  CompileOptions options;
  options.maxPromptTokens = 500;
  options.minResponseTokens = 1;
  options.prefillChunks = {300, 17, 8, 320};
  options.contexts = {65, 576, 1};
  options.lanes = 3;
  auto sizes = chooseSizes(options, {});
  ASSERT_TRUE(sizes) << sizes.status().toString();
  EXPECT_EQ(sizes->maxPromptTokens, 512);
  EXPECT_EQ(sizes->minResponseTokens, 64);
  EXPECT_THAT(sizes->prefillChunks, ElementsAre(16, 64, 320));
  EXPECT_THAT(sizes->contexts, ElementsAre(64, 128, 576));
  EXPECT_EQ(sizes->lanes, 3);
}

TEST(ChooseSizesTest, ThereAreLanesForEachTargetThatRunsAPart) {
  CompileOptions options;
  options.target = "reference";
  options.lanes = 8;
  EXPECT_EQ(chooseSizes(options, {})->lanes, 1);
  EXPECT_EQ(chooseSizes(options, {{.target = "cpu", .text = ""}})->lanes, 8);
  options.target = "npu";
  EXPECT_EQ(chooseSizes(options, {})->lanes, 1);
  options.batches = {2};
  EXPECT_EQ(chooseSizes(options, {})->lanes, 8) << "batches run on cpu";
  options.batches.clear();
  options.decodeTarget = "cpu";
  EXPECT_EQ(chooseSizes(options, {})->lanes, 8);
}

TEST(CheckWidthTest, StridesOfTheLargestChunkHave32Bits) {
  Sizes sizes;
  sizes.prefillChunks = {16, kMaxTokens};
  EXPECT_TRUE(checkWidth(sizes, 4095));
  const Status refused = checkWidth(sizes, 4096);
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.message(), testing::AllOf(HasSubstr("--prefill-chunks"), HasSubstr("1048576 tokens"),
                                                HasSubstr("4096 numbers"), HasSubstr("at most 1048512 tokens")));
  sizes.prefillChunks = {16, 1048512};
  EXPECT_TRUE(checkWidth(sizes, 4096)) << "what the message says is possible";
}

TEST(ChooseSizesTest, BatchesAreSortedAndGenerateIsTheOneOfOne) {
  CompileOptions options;
  options.batches = {8, 2, 8};
  auto sizes = chooseSizes(options, {});
  ASSERT_TRUE(sizes) << sizes.status().toString();
  EXPECT_THAT(sizes->batches, ElementsAre(2, 8));
  options.batches = {};
  EXPECT_THAT(chooseSizes(options, {})->batches, testing::IsEmpty());
}

TEST(ChooseSizesTest, DefaultLaddersFitSmallAndLargeSizes) {
  CompileOptions options;
  options.maxPromptTokens = 1;
  options.minResponseTokens = 64;
  auto small = chooseSizes(options, {});
  ASSERT_TRUE(small) << small.status().toString();
  EXPECT_THAT(small->prefillChunks, ElementsAre(16, 64));
  EXPECT_THAT(small->contexts, ElementsAre(128));
  options.maxPromptTokens = 4000;
  auto large = chooseSizes(options, {});
  ASSERT_TRUE(large) << large.status().toString();
  EXPECT_THAT(large->contexts, ElementsAre(256, 512, 1024, 2048, 4096));
}

TEST(ChooseSizesTest, TheReferenceTargetHasOneLane) {
  CompileOptions options;
  options.target = "reference";
  options.lanes = 8;
  auto sizes = chooseSizes(options, {});
  ASSERT_TRUE(sizes) << sizes.status().toString();
  EXPECT_EQ(sizes->lanes, 1);
}

struct BadCase {
  std::string name;
  CompileOptions options;
  std::vector<std::string> said;
};

TEST(ChooseSizesTest, RefusesByNameWithBothNumbers) {
  std::vector<BadCase> cases(9);
  cases[0] = {"prompt", {}, {"--max-prompt-len", "0", "1048576"}};
  cases[0].options.maxPromptTokens = 0;
  cases[1] = {"response", {}, {"--min-response-len", "1048577"}};
  cases[1].options.minResponseTokens = 1048577;
  cases[2] = {"chunk above the prompt", {}, {"--prefill-chunks", "1025", "1088", "1024"}};
  cases[2].options.prefillChunks = {16, 1025};
  cases[3] = {"context above T", {}, {"--contexts", "1153", "1216", "1152"}};
  cases[3].options.contexts = {1153};
  cases[4] = {"zero chunk", {}, {"--prefill-chunks", "0"}};
  cases[4].options.prefillChunks = {0};
  cases[5] = {"lanes", {}, {"--threads", "257", "256"}};
  cases[5].options.lanes = 257;
  cases[6] = {"batch of three", {}, {"--batch", "3", "among 2, 4 and 8"}};
  cases[6].options.batches = {2, 3};
  cases[7] = {"batch of none", {}, {"--batch", "0"}};
  cases[7].options.batches = {0};
  cases[8] = {"batch of one, which would change nothing", {}, {"--batch", "is 1", "always there"}};
  cases[8].options.batches = {1, 2};
  for (const BadCase& bad : cases) {
    auto sizes = chooseSizes(bad.options, {});
    ASSERT_FALSE(sizes) << bad.name;
    EXPECT_EQ(sizes.status().code(), Code::kInvalidArgument) << bad.name;
    for (const std::string& word : bad.said) EXPECT_THAT(sizes.status().message(), HasSubstr(word)) << bad.name;
  }
}

}  // namespace
}  // namespace firn::compiler
