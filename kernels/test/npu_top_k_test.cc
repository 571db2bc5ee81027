// npu.top_k and npu.top_k_merge against kernels/reference: what top_k_test.cc shows of the kernels, here of the views.
#include <gtest/gtest.h>

#include "kernels/npu/top_k.h"
#include "kernels/reference/top_k.h"
#include "kernels/test/npu_test_data.h"

namespace firn::npu::test {
namespace {

constexpr uint64_t kRows = 2;
constexpr uint64_t kColumns = 700;
constexpr uint64_t kStride = kColumns + 1;

struct Lists {
  explicit Lists(uint64_t listRoom) : room(listRoom), values(kRows * (room + 1), 5), ids(kRows * (room + 2), 5) {}
  MatrixView<float> valueView() { return {values.data(), kRows, room, room + 1}; }
  MatrixView<int32_t> idView() { return {ids.data(), kRows, room, room + 2}; }
  friend bool operator==(const Lists&, const Lists&) = default;

  uint64_t room;
  std::vector<float> values;
  std::vector<int32_t> ids;
};

std::vector<float> numbers(uint32_t kinds) {
  Random random(kinds);
  std::vector<float> data(kRows * kStride);
  for (float& number : data) {
    const uint32_t kind = random.below(kinds);
    number = kind == 0 ? kNan : static_cast<float>(kind);
  }
  return data;
}

TEST(NpuTopKTest, IsThatOfTheReferenceWholeAndInParts) {
  for (const uint32_t kinds : {1U, 2U, 6U, 100000U}) {
    const std::vector<float> data = numbers(kinds);
    for (const uint64_t room : {1, 64, 255}) {
      Lists expected(room);
      reference::topK({.in = {data.data(), kRows, kColumns, kStride},
                       .values = {expected.values.data(), kRows, room, room + 1},
                       .ids = {expected.ids.data(), kRows, room, room + 2}});
      Lists whole(room);
      topK({.in = {data.data(), kRows, kColumns, kStride}, .values = whole.valueView(), .ids = whole.idView()});
      EXPECT_TRUE(whole == expected);

      constexpr uint64_t kParts = 4;
      std::vector<float> values(kParts * kRows * room);
      std::vector<int32_t> ids(kParts * kRows * room);
      for (uint64_t part = 0; part < kParts; ++part) {
        const uint64_t first = kColumns * part / kParts;
        topK({.in = {data.data() + first, kRows, kColumns * (part + 1) / kParts - first, kStride},
              .values = {&values[part * kRows * room], kRows, room, room},
              .ids = {&ids[part * kRows * room], kRows, room, room},
              .firstId = static_cast<int32_t>(first)});
      }
      Lists merged(room);
      topKMerge({.partValues = {values.data(), kParts, kRows, room, kRows * room, room},
                 .partIds = {ids.data(), kParts, kRows, room, kRows * room, room},
                 .values = merged.valueView(),
                 .ids = merged.idView()});
      EXPECT_TRUE(merged == expected);
    }
  }
}

}  // namespace
}  // namespace firn::npu::test
