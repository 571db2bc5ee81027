// What a picture costs; that it shows the right things: tests/e2e/cli_timeline_test.cc.
#include "tools/timeline/timeline_svg.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "runtime/cts/tiny_model.h"

namespace firn::tools {
namespace {

/// The picture of the last entry, a head, whose call is there `calls` times.
Result<std::string> pictureOrRefusal(uint32_t calls) {
  const auto blob = runtime::cts::makeTinyBlob({.target = blob::Target::kNpu, .edit = [&](blob::Program& program) {
                                                  const blob::CallRecord call = program.calls.back();
                                                  const auto first = program.callArgs.begin() + call.firstArg;
                                                  const std::vector<uint64_t> args(first, first + call.argCount);
                                                  for (uint32_t i = 1; i < calls; ++i) {
                                                    program.addCall(call.body, call.layer, args);
                                                  }
                                                }});
  if (!blob) return blob.status();
  const auto last = static_cast<uint32_t>(blob->entries().size() - 1);
  return timelineSvg(*blob, {.entry = last, .layer = blob::kNoLayer});
}

std::string pictureOf(uint32_t calls) {
  auto svg = pictureOrRefusal(calls);
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

TEST(TimelineSvgTest, MoreTasksThanAPictureShowsAreRefused) {
  const Status status = pictureOrRefusal(200'000).status();
  EXPECT_EQ(status.code(), Code::kResourceExhausted) << status.toString();
  EXPECT_THAT(status.message(), testing::HasSubstr("has more than 1000000 tasks"));
}

}  // namespace
}  // namespace firn::tools
