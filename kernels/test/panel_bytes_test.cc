// Panels byte by byte, as panel.h describes them and the kernels of the cpu target read them.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>

#include "kernels/test/quant_test_data.h"

namespace firn::quant {
namespace {

TEST(PanelTest, TypesWithoutPanelsHaveNoShape) {
  EXPECT_FALSE(panelShape(DType::kI32, 64));
  EXPECT_FALSE(panelBytes(DType::kI8, 16, 64));
}

// One q4_1 panel byte by byte, as the kernels of the cpu target read it.
TEST(PanelTest, Q41BytesAreWherePanelHSays) {
  constexpr uint64_t kColumns = 96;
  constexpr uint64_t kRowBytes = 60;
  const Bytes source = randomBytes(16 * kRowBytes, 21);
  Bytes packed(*panelBytes(DType::kQ4_1, 16, kColumns));
  ASSERT_TRUE(packPanels({DType::kQ4_1, source, kColumns, 0, kColumns}, identity(16), packed).isOk());
  const PanelShape shape = *panelShape(DType::kQ4_1, kColumns);
  EXPECT_EQ(shape.scalesOffset, 768U);
  EXPECT_EQ(shape.minsOffset, 896U);  // 96 bytes of scales, padded to 128
  EXPECT_EQ(shape.panelBytes, 1024U);
  for (uint32_t g = 0; g < 3; ++g) {
    for (uint32_t r = 0; r < 16; ++r) {
      const std::byte* block = source.data() + r * kRowBytes + g * 20;
      EXPECT_EQ(std::memcmp(packed.data() + 768 + (g * 16 + r) * 2, block, 2), 0);
      EXPECT_EQ(std::memcmp(packed.data() + 896 + (g * 16 + r) * 2, block + 2, 2), 0);
      for (uint32_t i = 0; i < 16; ++i) EXPECT_EQ(packed[g * 256 + i / 4 * 64 + 4 * r + i % 4], block[4 + i]);
    }
  }
}

// Parts of a q6_k panel that starts inside a super-block.
TEST(PanelTest, Q6KBytesAreWherePanelHSays) {
  constexpr uint64_t kColumns = 512;
  constexpr uint64_t kRowBytes = 420;
  const Bytes source = randomBytes(16 * kRowBytes, 22);
  Bytes packed(*panelBytes(DType::kQ6_K, 16, 160));
  ASSERT_TRUE(packPanels({DType::kQ6_K, source, kColumns, 192, 160}, identity(16), packed).isOk());
  const PanelShape shape = *panelShape(DType::kQ6_K, 160);
  EXPECT_EQ(shape.scalesOffset, 1920U);
  EXPECT_EQ(shape.supersOffset, 2112U);  // 160 bytes of scales, padded to 192
  EXPECT_EQ(shape.panelBytes, 2240U);    // a line, and 2 super-blocks of 32 bytes
  EXPECT_EQ(packed[shape.supersOffset], std::byte{6});
  for (uint32_t r = 0; r < 16; ++r) {
    const std::byte* row = source.data() + r * kRowBytes;
    // Group 2 is the first of the second super-block.
    const std::byte* block = row + 210;
    EXPECT_EQ(packed[shape.scalesOffset + 2 * 32 + r], block[192]);
    EXPECT_EQ(packed[shape.scalesOffset + 2 * 32 + 16 + r], block[193]);
    EXPECT_EQ(std::memcmp(packed.data() + shape.supersOffset + 64 + 32 + 2 * r, block + 208, 2), 0);
    const std::byte* group = packed.data() + size_t{2} * 384;
    const auto low = [&](uint32_t k) { return block[k] & std::byte{15}; };
    const auto high = [&](uint32_t k) { return block[128 + k] & std::byte{3}; };
    EXPECT_EQ(group[64 + 4 * r + 1], low(5) | low(21) << 4);
    EXPECT_EQ(group[256 + 4 * r + 1], high(1) | high(5) << 2 | high(9) << 4 | high(13) << 6);
    EXPECT_EQ(group[320 + 4 * r + 1], high(17) | high(21) << 2 | high(25) << 4 | high(29) << 6);
  }
}

TEST(PanelTest, Q80CodesAreUnsigned) {
  Bytes source(34, std::byte{0});
  source[2] = std::byte{0x80};   // -128
  source[33] = std::byte{0x7F};  // 127
  Bytes packed(*panelBytes(DType::kQ8_0, 1, 32));
  ASSERT_TRUE(packPanels({DType::kQ8_0, source, 32, 0, 32}, identity(1), packed).isOk());
  EXPECT_EQ(packed[0], std::byte{0});             // k = 0
  EXPECT_EQ(packed[1], std::byte{128});           // k = 1
  EXPECT_EQ(packed[7 * 64 + 3], std::byte{255});  // k = 31
  EXPECT_EQ(packed[4], std::byte{0});             // row 1 is beyond the matrix
}

TEST(PanelTest, FloatPanelsAreColumnMajorInsideAPanel) {
  std::vector<uint16_t> values(16 * 3);
  std::iota(values.begin(), values.end(), uint16_t{0});
  Bytes packed(*panelBytes(DType::kF16, 16, 3));
  ASSERT_EQ(packed.size(), 128U);  // 96 bytes, padded
  ASSERT_TRUE(packPanels({DType::kF16, std::as_bytes(std::span(values)), 3, 0, 3}, identity(16), packed).isOk());
  uint16_t element = 0;
  std::memcpy(&element, packed.data() + (2 * 16 + 5) * 2, 2);
  EXPECT_EQ(element, values[5 * 3 + 2]);
}

}  // namespace
}  // namespace firn::quant
