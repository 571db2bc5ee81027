#include "compiler/target/program_builder.h"

#include <gtest/gtest.h>

#include <cmath>

namespace firn::target {
namespace {

TEST(PackTest, KeysOfDifferentMagnitudesDiffer) {
  Pack pack;
  pack.source = "rope_freqs";
  pack.form = "rope_table";
  const std::string none = pack.key();
  pack.magnitude = 1.0F;
  const std::string one = pack.key();
  EXPECT_NE(none, one);
  for (const float other : {std::nextafter(1.0F, 2.0F), 1.0e-9F, 2.0e-9F}) {
    const std::string before = pack.key();
    pack.magnitude = other;
    EXPECT_NE(pack.key(), one) << other;
    EXPECT_NE(pack.key(), before) << other;
  }
  pack.magnitude = 1.0F;
  EXPECT_EQ(pack.key(), one);
}

}  // namespace
}  // namespace firn::target
