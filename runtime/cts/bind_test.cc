// What bind refuses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/cts/device_cases.h"

namespace firn::runtime::cts {
namespace {

using blob::SymbolKind;
using testing::HasSubstr;

class BindTest : public RigTest {
 protected:
  void SetUp() override {
    RigTest::SetUp();
    if (rig == nullptr) return;
    entryIndex = rig->entry("prefill.16.64");
    bound = rig->bindings(entryIndex);
  }

  SymbolBinding& at(SymbolKind kind) { return bound[static_cast<uint32_t>(kind)]; }
  Status bind() { return rig->device().bind(rig->program(), entryIndex, bound); }
  void expectRefused(const char* what) {
    const Status status = bind();
    EXPECT_EQ(status.code(), Code::kInvalidArgument);
    EXPECT_THAT(status.message(), testing::AllOf(HasSubstr("prefill.16.64"), HasSubstr(what)));
  }

  uint32_t entryIndex = 0;
  Bindings bound{};
};

TEST_P(BindTest, EveryMissingSymbolIsNamed) {
  const std::vector<std::pair<SymbolKind, const char*>> symbols = {
      {SymbolKind::kIds, "ids"},   {SymbolKind::kPositions, "positions"}, {SymbolKind::kValid, "valid"},
      {SymbolKind::kRow0, "row0"}, {SymbolKind::kMask, "mask"},           {SymbolKind::kHidden, "hidden"},
      {SymbolKind::kKv, "kv"}};
  for (const auto& [kind, name] : symbols) {
    bound = rig->bindings(entryIndex);
    at(kind).bytes = 0;
    expectRefused(name);
  }
  bound = rig->bindings(entryIndex);
  EXPECT_TRUE(bind()) << "logits are no symbol of a prefill, and need no memory";
}

TEST_P(BindTest, WrongSizesAreRefused) {
  at(SymbolKind::kHidden).bytes -= 4;
  expectRefused("expected 4096");
  at(SymbolKind::kHidden).bytes += 8;
  expectRefused("expected 4096");
}

TEST_P(BindTest, RangesOutsideTheBufferAreRefused) {
  at(SymbolKind::kKv).offsetBytes += 1 << 20;
  expectRefused("leave the buffer");
  at(SymbolKind::kKv).offsetBytes = UINT64_MAX - 63;
  expectRefused("leave the buffer");
}

TEST_P(BindTest, UnknownBufferIsRefused) {
  at(SymbolKind::kIds).buffer = BufferId{999};
  expectRefused("999");
}

TEST_P(BindTest, MisalignedMemoryIsRefused) {
  at(SymbolKind::kHidden).offsetBytes += 2;
  expectRefused("multiple of 4");
  bound = rig->bindings(entryIndex);
  at(SymbolKind::kKv).offsetBytes += 32;
  expectRefused("multiple of 64");
  bound = rig->bindings(entryIndex);
  at(SymbolKind::kHidden).offsetBytes += 4;
  at(SymbolKind::kMask).offsetBytes += 1;
  EXPECT_TRUE(bind()) << "elements need their own alignment only: rows of a larger buffer can be bound";
}

TEST_P(BindTest, WrittenMemoryMustNotOverlap) {
  at(SymbolKind::kHidden).offsetBytes = at(SymbolKind::kIds).offsetBytes;
  expectRefused("overlaps");
}

TEST_P(BindTest, UnknownEntryAndProgramAreRefused) {
  EXPECT_EQ(rig->device().bind(rig->program(), 999, bound).code(), Code::kInvalidArgument);
  EXPECT_EQ(rig->device().bind(ProgramId{999}, entryIndex, bound).code(), Code::kInvalidArgument);
}

TEST_P(BindTest, FailedBindKeepsTheOldOne) {
  ASSERT_TRUE(bind());
  at(SymbolKind::kIds).bytes = 0;
  EXPECT_FALSE(bind());
  rig->setInputs({.ids = someIds(3), .row0 = 0});
  EXPECT_TRUE(rig->device().submit(rig->program(), entryIndex));
  EXPECT_TRUE(rig->device().wait());
}

TEST_P(BindTest, FreeingABoundBufferUnbindsTheEntry) {
  ASSERT_TRUE(bind());
  ASSERT_TRUE(rig->device().free(at(SymbolKind::kKv).buffer));
  rig->setInputs({.ids = someIds(3), .row0 = 0});
  EXPECT_EQ(rig->device().submit(rig->program(), entryIndex).code(), Code::kInvalidArgument);
  EXPECT_FALSE(bind());
}

FIRN_ON_EVERY_DEVICE(BindTest);

}  // namespace
}  // namespace firn::runtime::cts
