// Ops that move values without changing them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstdint>
#include <vector>

#include "kernels/reference/concat.h"
#include "kernels/reference/copy.h"
#include "kernels/reference/slice.h"

namespace firn::reference {
namespace {

using testing::ElementsAre;

TEST(SliceTest, TakesColumns) {
  const std::vector<float> in{0, 1, 2, 3, 10, 11, 12, 13};
  std::vector<float> out(4);
  slice({.in = {in.data(), 2, 4, 4}, .out = {out.data(), 2, 2, 2}, .first = 1});
  EXPECT_THAT(out, ElementsAre(1, 2, 11, 12));
  slice({.in = {in.data(), 2, 4, 4}, .out = {out.data(), 2, 2, 2}, .first = 2});
  EXPECT_THAT(out, ElementsAre(2, 3, 12, 13));
}

TEST(ConcatTest, InvertsSlice) {
  const std::vector<float> a{0, 1, 10, 11};
  const std::vector<float> b{2, 12};
  std::vector<float> out(8, -1);
  concat({.a = {a.data(), 2, 2, 2}, .b = {b.data(), 2, 1, 1}, .out = {out.data(), 2, 3, 4}});
  EXPECT_THAT(out, ElementsAre(0, 1, 2, -1, 10, 11, 12, -1));
}

TEST(CopyTest, KeepsEveryBit) {
  const std::vector<float> in{std::bit_cast<float>(0x7F800001U), -0.0F, std::bit_cast<float>(1U), 5};
  std::vector<float> out(6, -1);
  copy({.in = {in.data(), 2, 2, 2}, .out = {out.data(), 2, 2, 3}});
  std::vector<uint32_t> bits;
  for (const float value : out) bits.push_back(std::bit_cast<uint32_t>(value));
  EXPECT_THAT(bits, ElementsAre(0x7F800001U, 0x80000000U, 0xBF800000U, 1U, 0x40A00000U, 0xBF800000U));
}

}  // namespace
}  // namespace firn::reference
