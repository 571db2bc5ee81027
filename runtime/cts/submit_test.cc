// What submit refuses, before any work, and the order of submit and wait.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/concat.h"
#include "runtime/cts/device_cases.h"

namespace firn::runtime::cts {
namespace {

using blob::SymbolKind;
using testing::HasSubstr;

class SubmitTest : public RigTest {
 protected:
  void SetUp() override {
    RigTest::SetUp();
    if (rig == nullptr) return;
    entryIndex = rig->entry("prefill.16.64");
  }

  // Binds, submits, expects a refusal that names both numbers, and that nothing was written.
  void expectRefused(std::string_view entry, const char* found, const char* expected) {
    std::ranges::fill(rig->cache(), kCanary);
    std::ranges::fill(rig->hidden(16), 7.0F);
    const Status status = rig->run(entry);
    EXPECT_EQ(status.code(), Code::kOutOfRange) << status.toString();
    EXPECT_THAT(status.message(), testing::AllOf(HasSubstr(found), HasSubstr(expected)));
    EXPECT_TRUE(std::ranges::all_of(rig->cache(), [](std::byte b) { return b == kCanary; }));
    EXPECT_TRUE(std::ranges::all_of(rig->hidden(16), [](float x) { return x == 7.0F; }));
    EXPECT_EQ(rig->device().wait().code(), Code::kInvalidArgument) << "a refused entry is not in flight";
  }
  void expectChunkRefused(const char* found, const char* expected) { expectRefused("prefill.16.64", found, expected); }

  uint32_t entryIndex = 0;
};

TEST_P(SubmitTest, ValidMustBeOneToRows) {
  rig->setInputs({.ids = someIds(16), .row0 = 0});
  for (const int32_t valid : {0, -1, 17, INT32_MAX, INT32_MIN}) {
    rig->ints(SymbolKind::kValid)[0] = valid;
    expectChunkRefused(std::to_string(valid).c_str(), "1..16");
  }
}

// All rows of a chunk lie inside the context, however few are valid; the last context is the whole cache.
TEST_P(SubmitTest, ChunkMustLieInsideItsContext) {
  for (const uint32_t context : kContexts) {
    for (const uint32_t rows : {1U, 16U, 64U}) {
      const std::string name = (rows == 1 ? "generate." : concat("prefill.", rows, ".")) + std::to_string(context);
      const uint32_t last = context - rows;
      for (const uint32_t valid : {1U, rows}) {
        for (uint32_t row0 = last < 2 ? 0 : last - 2; row0 <= last; ++row0) {
          const Status status = rig->run(name, {.ids = someIds(valid), .row0 = row0});
          EXPECT_TRUE(status) << row0 << " + " << valid << ": " << status.toString();
        }
        for (const uint32_t row0 : {last + 1, last + 2, context - 1, context, context + 1}) {
          if (row0 <= last) continue;
          rig->setInputs({.ids = someIds(valid), .row0 = row0});
          expectRefused(name, concat(" is ", row0, ",").c_str(), concat("0..", last).c_str());
        }
      }
    }
  }
}

TEST_P(SubmitTest, Row0MustBeARow) {
  rig->setInputs({.ids = someIds(1), .row0 = 0});
  for (const int32_t row0 : {-1, INT32_MIN, INT32_MAX - 15, INT32_MAX}) {
    rig->ints(SymbolKind::kRow0)[0] = row0;
    expectChunkRefused(std::to_string(row0).c_str(), "0..48");
  }
}

TEST_P(SubmitTest, IdsMustBeInTheVocabulary) {
  for (const int32_t id : {-1, static_cast<int32_t>(kVocab), INT32_MIN, INT32_MAX}) {
    rig->setInputs({.ids = someIds(5), .row0 = 0});
    rig->ints(SymbolKind::kIds)[4] = id;
    expectChunkRefused(std::to_string(id).c_str(), "0..79");
  }
}

TEST_P(SubmitTest, PositionsMustBeInTheCache) {
  for (const int32_t position : {-1, static_cast<int32_t>(kKvRows)}) {
    rig->setInputs({.ids = someIds(5), .row0 = 0});
    rig->ints(SymbolKind::kPositions)[0] = position;
    expectChunkRefused(std::to_string(position).c_str(), "0..127");
  }
}

TEST_P(SubmitTest, UnboundUnknownAndDoubleSubmitsAreRefused) {
  Device& device = rig->device();
  EXPECT_EQ(device.wait().code(), Code::kInvalidArgument) << "wait without submit";
  EXPECT_EQ(device.submit(rig->program(), entryIndex).code(), Code::kInvalidArgument) << "not bound";
  EXPECT_EQ(device.submit(rig->program(), 999).code(), Code::kInvalidArgument);
  EXPECT_EQ(device.submit(ProgramId{999}, entryIndex).code(), Code::kInvalidArgument);
  const Bindings bindings = rig->bindings(entryIndex);
  ASSERT_TRUE(device.bind(rig->program(), entryIndex, bindings));
  rig->setInputs({.ids = someIds(4), .row0 = 0});
  ASSERT_TRUE(device.submit(rig->program(), entryIndex));
  EXPECT_EQ(device.submit(rig->program(), entryIndex).code(), Code::kUnavailable) << "one entry may be in flight";
  EXPECT_EQ(device.bind(rig->program(), entryIndex, bindings).code(), Code::kUnavailable);
  EXPECT_EQ(device.free(bindings[0].buffer).code(), Code::kUnavailable);
  EXPECT_EQ(device.unload(rig->program()).code(), Code::kUnavailable);
  EXPECT_TRUE(device.wait());
  EXPECT_EQ(device.wait().code(), Code::kInvalidArgument);
  EXPECT_TRUE(device.submit(rig->program(), entryIndex)) << "a bind holds until the next one";
  EXPECT_TRUE(device.wait());
}

FIRN_ON_EVERY_DEVICE(SubmitTest);

}  // namespace
}  // namespace firn::runtime::cts
