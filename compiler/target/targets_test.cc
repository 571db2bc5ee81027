#include "compiler/target/targets.h"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

#include "base/joined.h"
#include "blob/names.h"

namespace firn::target {
namespace {

TEST(TargetsTest, AreThoseThatABlobCanName) {
  std::set<std::string_view> names;
  for (const Target* target : allTargets()) {
    EXPECT_EQ(findTarget(target->name()), target);
    EXPECT_EQ(blob::targetFromName(std::string_view(target->name())), target->number);
    names.insert(target->name());
  }
  EXPECT_EQ(joined(names, ", "), blob::targetNames()) << "whose order is that of the names";
  EXPECT_EQ(findTarget("toaster"), nullptr);
  EXPECT_EQ(findTarget(""), nullptr);
}

TEST(TargetsTest, HaveAllThatAPhaseAsks) {
  for (const Target* target : allTargets()) {
    EXPECT_NE(target->loadHidden, nullptr) << target->name().str();
    EXPECT_NE(target->keepResult, nullptr) << target->name().str();
    EXPECT_NE(target->storeOutput, nullptr) << target->name().str();
    for (const auto& rule : target->rules) EXPECT_NE(rule.second.lower, nullptr) << rule.first().str();
    EXPECT_EQ(target->costModel == nullptr, target->needsMachine) << "whose file says what a task costs";
    if (target->needsMachine) continue;
    for (const int64_t lanes : {1, 2, 256}) {
      EXPECT_GE(target->lanes(lanes), 1);
      const CostModel rates = target->costModel(target->lanes(lanes));
      for (const double rate : {rates.weightBytesPerSecond, rates.intMacsPerSecond, rates.floatMacsPerSecond,
                                rates.activationBytesPerSecond}) {
        EXPECT_GT(rate, 0) << target->name().str();
      }
    }
  }
}

}  // namespace
}  // namespace firn::target
