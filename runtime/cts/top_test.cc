// The lists of the best that come with logits: those of a sort, whoever made them and in how many threads.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/cts/device_cases.h"

namespace firn::runtime::cts {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

class TopTest : public RigTest {
 protected:
  static void expectLists(Rig& rig, uint32_t rows, const std::string& what) {
    for (uint32_t row = 0; row < rows; ++row) {
      const std::span<float> logits = rig.logits(row + 1).last(kVocab);
      std::vector<int32_t> ids;
      for (uint32_t id = 0; id < kVocab; ++id) {
        if (!std::isnan(logits[id])) ids.push_back(static_cast<int32_t>(id));
      }
      const auto isBetter = [&](int32_t a, int32_t b) {
        return logits[a] != logits[b] ? logits[a] > logits[b] : a < b;
      };
      std::ranges::sort(ids, isBetter);
      ids.resize(kTopTokens, -1);
      std::vector<float> values;
      for (const int32_t id : ids) values.push_back(id >= 0 ? logits[id] : -kInfinity);
      const auto foundIds = rig.topIds(row + 1).last(kTopTokens);
      EXPECT_EQ(std::vector(foundIds.begin(), foundIds.end()), ids) << what << ", row " << row;
      EXPECT_EQ(bitsOf(rig.topLogits(row + 1).last(kTopTokens)), bitsOf(values)) << what << ", row " << row;
    }
  }
};

TEST_P(TopTest, ListsOfHeadsAreThoseOfTheirLogits) {
  for (uint32_t threads = 1; threads <= GetParam().program.lanes; ++threads) {
    const std::unique_ptr<Rig> rig = Rig::open(GetParam(), {.threads = threads});
    ASSERT_NE(rig, nullptr);
    ASSERT_TRUE(rig->run("prefill.16.64", {.ids = someIds(16), .row0 = 0}));
    std::fill_n(rig->hidden(16).begin() + 2 * kEmbed, kEmbed, 0.0F);  // all logits are one
    std::fill_n(rig->hidden(16).begin() + 5 * kEmbed, kEmbed, kNan);  // and here none is a number
    for (const uint32_t rows : kHeadRows) {
      ASSERT_TRUE(rig->run("head." + std::to_string(rows)));
      expectLists(*rig, rows, std::to_string(threads) + " threads, head." + std::to_string(rows));
      EXPECT_TRUE(rig->marginsIntact());
    }
  }
}

TEST_P(TopTest, ListsOfStepsAreThoseOfTheirLogits) {
  ASSERT_TRUE(rig->run("generate.64", {.ids = {9}, .row0 = 0}));
  expectLists(*rig, 1, "generate");
}

TEST_P(TopTest, ListsOfBatchesAreThoseOfTheirLogits) {
  for (const uint32_t entryRows : kBatchRows) {
    std::vector<BatchRow> rows;
    for (uint32_t valid = 1; valid <= entryRows; ++valid) {
      rows.push_back({static_cast<int32_t>(7 * valid % kVocab), 0, valid - 1});
      std::ranges::fill(rig->topIds(entryRows), -7);
      ASSERT_TRUE(rig->runBatch(rows, entryRows, 64));
      expectLists(*rig, valid, "batch." + std::to_string(entryRows));
    }
  }
}

FIRN_ON_EVERY_DEVICE(TopTest);

}  // namespace
}  // namespace firn::runtime::cts
