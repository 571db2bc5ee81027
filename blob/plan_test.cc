#include "blob/plan.h"

#include <gtest/gtest.h>

#include "base/concat.h"
#include "blob/sample_file.h"
#include "blob/sample_program.h"
#include "blob/two_target_program.h"
#include "blob/verifier.h"

namespace firn::blob {
namespace {

Blob blobOf(const Contents& contents) {
  const auto bytes = blobFile(contents, sampleWeights(contents));
  EXPECT_TRUE(bytes.isOk()) << bytes.status().toString();
  auto blob = Blob::fromMemory(*bytes);
  EXPECT_TRUE(blob.isOk()) << blob.status().toString();
  return *std::move(blob);
}

TEST(PlanTest, EntriesThatAreCutAlikeShareAParagraph) {
  EXPECT_EQ(planText(blobOf(twoTargetContents(Target::kCpu, Target::kReference))),
            "targets     cpu and reference\n"
            "\nprefill.16.64, prefill.16.128\n"
            "  cpu        input, layer 0: --place part 0\n"
            "  reference  layer 1: --place part 1\n"
            "\ngenerate.128, batch.2.64\n"
            "  cpu        input, layer 0: --place part 0\n"
            "  reference  layer 1, output: --place part 1\n"
            "\nhead.2\n"
            "  cpu        output: --place part 0\n");
}

TEST(PlanTest, PartsOfTheNpu) {
  EXPECT_EQ(planText(blobOf(twoTargetContents(Target::kNpu, Target::kCpu))),
            "targets     npu and cpu\n"
            "\nprefill.16.64, prefill.16.128\n"
            "  npu        input, layer 0: --place part 0\n"
            "  cpu        layer 1: --place part 1\n"
            "\ngenerate.128\n"
            "  npu        input, layer 0: --place part 0\n"
            "  cpu        layer 1, output: --place part 1\n"
            "\nhead.2\n"
            "  npu        output: --place part 0\n");
}

TEST(PlanTest, EntriesOfDistinctReasonsHaveAParagraphEach) {
  constexpr uint32_t kEntries = 500;
  Contents contents = sampleContents(Target::kReference, SampleSize::kHeadOnly);
  Program& program = contents.program;
  const uint32_t empty = program.beginBody("empty");
  for (uint32_t rows = 3; rows < kEntries + 3; ++rows) {
    program.beginEntry(EntryKind::kHead, rows, 0);
    program.placeEntry(Target::kReference, 0, 1, concat("reason ", rows));
    program.addStandardSymbols();
    program.addCall(empty, kNoLayer, {});
  }
  const std::string text = planText(blobOf(contents));
  for (uint32_t rows = 3; rows < kEntries + 3; ++rows) {
    const std::string paragraph = concat("\nhead.", rows, "\n  reference  output: reason ", rows, "\n");
    EXPECT_NE(text.find(paragraph), std::string::npos) << paragraph;
  }
}

}  // namespace
}  // namespace firn::blob
