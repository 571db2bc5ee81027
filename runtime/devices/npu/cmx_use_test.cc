// Uses against the operands they come from, on the tiny model.
#include "runtime/devices/npu/cmx_use.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "runtime/cts/tiny_model.h"

namespace firn::runtime {
namespace {

struct Body {
  const blob::Blob& blob;
  BodyTimeline timeline;
  std::vector<CmxUse> uses;
};

class CmxUseTest : public testing::Test {
 protected:
  void SetUp() override {
    auto made = cts::makeTinyBlob({.target = blob::Target::kNpu, .weights = DType::kQ8_0});
    ASSERT_TRUE(made.isOk()) << made.status().toString();
    blob.emplace(*std::move(made));
    const auto machine = machine::parseMachine(blob->machine(), "tiny");
    ASSERT_TRUE(machine.isOk());
    cmxBytes = machine->cmxBytes;
    for (uint32_t i = 0; i < blob->bodies().size(); ++i) {
      auto timeline = bodyTimelineOf(*blob, *machine, i);
      ASSERT_TRUE(timeline.isOk()) << timeline.status().toString();
      std::vector<CmxUse> uses = cmxUsesOf(*blob, *timeline);
      bodies.push_back({*blob, *std::move(timeline), std::move(uses)});
    }
  }

  std::optional<blob::Blob> blob;
  uint64_t cmxBytes = 0;
  std::vector<Body> bodies;
};

TEST_F(CmxUseTest, LieInTheTileAndInTheTimeOfTheBody) {
  size_t uses = 0;
  for (const Body& body : bodies) {
    uses += body.uses.size();
    for (const CmxUse& use : body.uses) {
      EXPECT_LT(use.tile, 2U);
      EXPECT_GT(use.bytes, 0U);
      EXPECT_LE(use.first + use.bytes, cmxBytes);
      EXPECT_LT(use.begin, use.end);
      EXPECT_LE(use.end, body.timeline.timeline.picoseconds);
      EXPECT_EQ(use.begin, body.timeline.timeline.tasks[use.task].begin);
    }
  }
  EXPECT_GT(uses, 100U);
}

TEST_F(CmxUseTest, NeverOverlapInBytesAndTime) {
  for (const Body& body : bodies) {
    for (size_t i = 0; i < body.uses.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const CmxUse& a = body.uses[i];
        const CmxUse& b = body.uses[j];
        const bool sharesBytes = a.tile == b.tile && a.first < b.first + b.bytes && b.first < a.first + a.bytes;
        const bool sharesTime = a.begin < b.end && b.begin < a.end;
        EXPECT_FALSE(sharesBytes && sharesTime) << i << " and " << j;
      }
    }
  }
}

/// Its rows stand close, so nobody else writes between them.
bool isDense(const blob::OperandRecord& operand) {
  uint64_t elements = 1;
  for (uint32_t i = 0; i < operand.rank; ++i) elements *= operand.dims[i];
  return operand.bytes == dtypeBytes(operand.dtype, elements);
}

// What a task reads on chip is in use until it ends.
TEST_F(CmxUseTest, HoldWhatTasksRead) {
  uint32_t looked = 0;
  for (const Body& body : bodies) {
    for (uint32_t i = 0; i < body.timeline.timeline.tasks.size(); ++i) {
      const blob::TaskRecord& task = blob->tasks()[body.timeline.firstTask + i];
      const blob::OperandRecord& first = blob->operandsOf(task).front();
      if (first.space != blob::Space::kCmx || !isDense(first)) continue;
      const uint64_t end = body.timeline.timeline.tasks[i].end;
      const bool isHeld = std::ranges::any_of(body.uses, [&](const CmxUse& use) {
        return use.tile == first.base && use.first <= first.offset && first.offset < use.first + use.bytes &&
               use.begin < end && end <= use.end;
      });
      EXPECT_TRUE(isHeld) << "task " << i << " " << blob->string(task.name);
      ++looked;
    }
  }
  EXPECT_GT(looked, 100U);
}

}  // namespace
}  // namespace firn::runtime
