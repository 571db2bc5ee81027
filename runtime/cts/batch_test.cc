// A batch: rows that share nothing but the weights. Each must get the bits it would get alone, and leave alone what is
// not its own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "runtime/cts/device_cases.h"

namespace firn::runtime::cts {
namespace {

using blob::SymbolKind;
using Bits = std::vector<uint32_t>;
using testing::HasSubstr;

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

class BatchTest : public RigTest {
 protected:
  static std::vector<int32_t> idsOf(uint32_t slot, uint32_t count) { return someIds(count, 11 * slot); }

  /// Slot `slot` holds `count` tokens of its own.
  void fillSlot(uint32_t slot, uint32_t count) {
    rig->useSlot(slot);
    const auto ids = idsOf(slot, count);
    for (uint32_t done = 0; done < count; done += 16) {
      const auto end = ids.begin() + std::min(count, done + 16);
      ASSERT_TRUE(rig->run("prefill.16.128", {.ids = {ids.begin() + done, end}, .row0 = done}));
    }
  }

  /// The row that appends token `count` to a slot that holds so many.
  static BatchRow next(uint32_t slot, uint32_t count) { return {idsOf(slot, count + 1).back(), count, slot}; }

  /// The logits of that row, computed alone.
  Bits alone(const BatchRow& row) {
    rig->useSlot(row.slot);
    EXPECT_TRUE(rig->run("generate.128", {.ids = {row.id}, .row0 = row.row0}));
    return bitsOf(rig->logits(1));
  }

  Bits logitsOf(uint32_t row) { return bitsOf(rig->logits(row + 1).subspan(size_t{row} * kVocab, kVocab)); }
};

// Lengths around the ends of blocks and contexts, in slots that are not in order.
constexpr uint32_t kLengths[kSlots] = {0, 1, 15, 16, 40, 63, 62, 7, 33};
constexpr uint32_t kOrder[] = {5, 2, 8, 0, 7, 3, 1, 6};

TEST_P(BatchTest, EachRowGetsTheBitsOfALoneStep) {
  std::map<uint32_t, Bits> expected;
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    fillSlot(slot, kLengths[slot]);
    expected[slot] = alone(next(slot, kLengths[slot]));
  }
  for (const uint32_t entryRows : kBatchRows) {
    for (const uint32_t context : kContexts) {
      for (uint32_t valid = 1; valid <= entryRows; ++valid) {
        std::vector<BatchRow> rows;
        for (uint32_t i = 0; i < valid; ++i) rows.push_back(next(kOrder[i], kLengths[kOrder[i]]));
        for (const BatchRow& row : rows) rig->poisonCache(row.slot, row.row0, kNan);  // its row is written anew
        ASSERT_TRUE(rig->runBatch(rows, entryRows, context));
        for (uint32_t i = 0; i < valid; ++i) {
          EXPECT_EQ(logitsOf(i), expected[kOrder[i]]) << "row " << i << " of " << valid << " in batch." << entryRows;
        }
      }
    }
  }
}

// Batches of changing members, each step appending to all of them, up to the last row of the cache.
TEST_P(BatchTest, StepsFollowEachOther) {
  const uint32_t starts[] = {100, 119, 3};
  std::map<uint32_t, uint32_t> lengths;
  std::map<uint32_t, std::vector<Bits>> seen;
  for (uint32_t slot = 0; slot < 3; ++slot) fillSlot(slot, lengths[slot] = starts[slot]);
  for (uint32_t step = 0; step < 12; ++step) {
    std::vector<BatchRow> rows;
    for (uint32_t slot = 0; slot < 3; ++slot) {
      if (step % 3 != slot && lengths[slot] < kKvRows) rows.push_back(next(slot, lengths[slot]++));
    }
    ASSERT_TRUE(rig->runBatch(rows, step % 2 == 0 ? 2 : 4, kKvRows));
    for (uint32_t i = 0; i < rows.size(); ++i) seen[rows[i].slot].push_back(logitsOf(i));
  }
  for (uint32_t slot = 0; slot < 3; ++slot) {
    fillSlot(slot, starts[slot]);
    for (uint32_t i = 0; i < seen[slot].size(); ++i) {
      ASSERT_EQ(alone(next(slot, starts[slot] + i)), seen[slot][i]) << "slot " << slot << " step " << i;
    }
  }
}

// NaN and Inf in every row that a row of the batch does not see, its own masked ones among them.
TEST_P(BatchTest, PoisonInUnseenRowsChangesNothing) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::vector<BatchRow> rows;
  std::vector<Bits> expected;
  for (const uint32_t slot : {4U, 1U, 6U}) rows.push_back(next(slot, kLengths[slot]));
  for (const float poison : {kNan, -kInfinity}) {
    for (uint32_t slot = 0; slot < kSlots; ++slot) rig->poisonCache(slot, 0, poison);
    for (const BatchRow& row : rows) fillSlot(row.slot, kLengths[row.slot]);
    for (const uint32_t context : kContexts) {
      ASSERT_TRUE(rig->runBatch(rows, 4, context));
      for (uint32_t i = 0; i < rows.size(); ++i) {
        if (expected.size() < rows.size()) expected.push_back(logitsOf(i));
        EXPECT_EQ(logitsOf(i), expected[i]) << "row " << i << " context " << context;
      }
    }
  }
}

TEST_P(BatchTest, TheMaskOfARowIsItsOwn) {
  // Row 1 does not see rows 4..6 of its cache, whatever they hold; rows 0 and 2 see theirs.
  std::vector<Bits> expected;
  for (const uint32_t first : {20U, 40U}) {
    for (const uint32_t slot : {0U, 1U, 2U}) fillSlot(slot, 9);
    rig->useSlot(1);
    ASSERT_TRUE(rig->run("prefill.16.64", {.ids = someIds(4, 11), .row0 = 0}));
    ASSERT_TRUE(rig->run("prefill.16.64", {.ids = someIds(3, first), .row0 = 4}));
    const std::vector<BatchRow> rows = {next(0, 9), {9, 7, 1}, next(2, 9)};
    rig->setBatch(rows, 4, 64);
    std::ranges::fill(rig->mask().subspan(64 + 4, 3), std::byte{0});
    const uint32_t index = rig->entry("batch.4.64");
    ASSERT_TRUE(rig->device().bind(rig->program(), index, rig->bindings(index)));
    ASSERT_TRUE(rig->device().submit(rig->program(), index));
    ASSERT_TRUE(rig->device().wait());
    for (uint32_t i = 0; i < 3; ++i) {
      if (expected.size() < 3) expected.push_back(logitsOf(i));
      EXPECT_EQ(logitsOf(i), expected[i]) << "row " << i;
    }
    EXPECT_EQ(alone(rows[0]), expected[0]);
    EXPECT_EQ(alone(rows[2]), expected[2]);
  }
}

// Every byte of every slot but the one row of each member keeps its value.
TEST_P(BatchTest, OnlyTheRowOfEachTokenIsWritten) {
  for (const uint32_t entryRows : kBatchRows) {
    for (uint32_t row0 = kKvRows - 17; row0 < kKvRows; ++row0) {
      for (uint32_t slot = 0; slot < kSlots; ++slot) std::ranges::fill(rig->cache(slot), kCanary);
      std::map<uint32_t, uint32_t> written;  // slot to row
      std::vector<BatchRow> rows;
      for (uint32_t i = 0; i + 1 < entryRows || i == 0; ++i) {
        rows.push_back({static_cast<int32_t>(i), i % 2 == 0 ? row0 : kKvRows - 1 - row0, kOrder[i]});
        written[rows.back().slot] = rows.back().row0;
      }
      ASSERT_TRUE(rig->runBatch(rows, entryRows, kKvRows));
      for (uint32_t slot = 0; slot < kSlots; ++slot) {
        for (uint32_t row = 0; row < kKvRows; ++row) {
          const bool isWritten = written.contains(slot) && written[slot] == row;
          ASSERT_EQ(rig->isRowIntact(slot, row), !isWritten) << "slot " << slot << " row " << row;
        }
      }
      ASSERT_TRUE(rig->marginsIntact()) << "batch." << entryRows << " row0 " << row0;
    }
  }
}

TEST_P(BatchTest, BindRefusesOneCacheForTwoRows) {
  const uint32_t index = rig->entry("batch.4.64");
  const auto at = [](uint32_t row) { return static_cast<uint32_t>(blob::kvOfRow(row)); };
  Bindings bound = rig->bindings(index);
  bound[at(2)].offsetBytes = bound[at(0)].offsetBytes;
  const Status status = rig->device().bind(rig->program(), index, bound);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), testing::AllOf(HasSubstr("batch.4.64"), HasSubstr("overlaps"), HasSubstr("kv")));
  bound = rig->bindings(index);
  bound[at(3)].offsetBytes += 32;
  EXPECT_THAT(rig->device().bind(rig->program(), index, bound).message(), HasSubstr("kv.3: offset"));
  bound[at(3)].bytes -= 64;
  EXPECT_THAT(rig->device().bind(rig->program(), index, bound).message(), HasSubstr("kv.3: bound to"));
  bound = rig->bindings(index);
  bound[at(0)].bytes = 0;
  EXPECT_THAT(rig->device().bind(rig->program(), index, bound).message(), HasSubstr("kv: is not bound"));
}

TEST_P(BatchTest, SubmitRefusesARowWithoutACache) {
  const uint32_t index = rig->entry("batch.4.64");
  Bindings bound = rig->bindings(index);
  bound[static_cast<uint32_t>(blob::kvOfRow(2))] = {};
  ASSERT_TRUE(rig->device().bind(rig->program(), index, bound));
  for (const uint32_t valid : {1U, 2U, 3U, 4U}) {
    rig->setBatch(std::vector<BatchRow>(valid), 4, 64);
    const Status status = rig->device().submit(rig->program(), index);
    EXPECT_EQ(status.code(), valid < 3 ? Code::kOk : Code::kInvalidArgument) << status.toString();
    if (status) EXPECT_TRUE(rig->device().wait());
  }
}

TEST_P(BatchTest, SubmitRefusesBadValuesOfAnyRow) {
  const auto refused = [&](SymbolKind kind, uint32_t row, int32_t value, const char* expected) {
    const uint32_t index = rig->entry("batch.4.64");
    rig->setBatch({next(0, 3), next(1, 4), next(2, 5)}, 4, 64);
    rig->ints(kind)[row] = value;
    EXPECT_TRUE(rig->device().bind(rig->program(), index, rig->bindings(index)));
    const Status status = rig->device().submit(rig->program(), index);
    EXPECT_EQ(status.code(), Code::kOutOfRange) << status.toString();
    EXPECT_THAT(status.message(), testing::AllOf(HasSubstr(std::to_string(value)), HasSubstr(expected)));
  };
  for (const int32_t bad : {-1, 64, INT32_MAX, INT32_MIN}) {
    for (const uint32_t row : {0U, 2U}) refused(SymbolKind::kRow0, row, bad, "0..63");
  }
  refused(SymbolKind::kIds, 2, kVocab, "0..79");
  refused(SymbolKind::kPositions, 1, kKvRows, "0..127");
  for (const int32_t bad : {0, 5, -1}) refused(SymbolKind::kValid, 0, bad, "1..4");
}

FIRN_ON_EVERY_DEVICE(BatchTest);

}  // namespace
}  // namespace firn::runtime::cts
