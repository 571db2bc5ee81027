// What a picture costs; that it shows the right things: tests/e2e/cli_timeline_test.cc.
#include "tools/timeline/timeline_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/cts/tiny_model.h"

namespace firn::tools {
namespace {

/// The picture of the last entry, a head, whose call is there `calls` times.
std::string pictureOf(uint32_t calls) {
  const auto blob = runtime::cts::makeTinyBlob({.target = blob::Target::kNpu, .edit = [&](blob::Program& program) {
                                                  const blob::CallRecord call = program.calls.back();
                                                  const auto first = program.callArgs.begin() + call.firstArg;
                                                  const std::vector<uint64_t> args(first, first + call.argCount);
                                                  for (uint32_t i = 1; i < calls; ++i) {
                                                    program.addCall(call.body, call.layer, args);
                                                  }
                                                }});
  EXPECT_TRUE(blob) << blob.status().toString();
  if (!blob) return "";
  const auto last = static_cast<uint32_t>(blob->entries().size() - 1);
  auto svg = timelineSvg(*blob, {.entry = last, .layer = blob::kNoLayer});
  EXPECT_TRUE(svg) << svg.status().toString();
  return svg ? *svg : "";
}

// All kinds of tasks stand side by side in each call, so no neighbours are alike.
TEST(TimelineSvgTest, ItsSizeDoesNotGrowWithTheTasks) {
  const std::string few = pictureOf(1);
  EXPECT_THAT(few, testing::AllOf(testing::HasSubstr("(npu.top_k)"), testing::HasSubstr("cmx 1")));
  const size_t many = pictureOf(2000).size();
  EXPECT_GT(many, few.size());
  EXPECT_LT(pictureOf(20'000).size(), many + many / 4);
}

}  // namespace
}  // namespace firn::tools
