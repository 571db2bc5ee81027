// cpu.kv_write on every type of cache: the bits of the plain definitions (base/dtype.h, base/row_i8.h), and nothing
// else written.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>

#include "base/row_i8.h"
#include "kernels/test/cpu_test_data.h"

namespace firn::cpu::test {
namespace {

constexpr uint32_t kRows = 8;  // of the cache; 4 and 5 are written
constexpr uint32_t kHeads = 2;
constexpr std::byte kUntouched{0x5A};
constexpr float kUntouchedScale = 4711;

struct Written {
  std::vector<std::byte> bytes;
  std::vector<float> scales;
};

/// in[2, kHeads, dim] as rows 4 and 5.
Written write(InstructionSet isa, DType type, const std::vector<float>& in, uint32_t dim) {
  const size_t element = dtypeInfo(type)->blockBytes;
  Written cache = {std::vector<std::byte>(size_t{kHeads} * kRows * dim * element, kUntouched),
                   std::vector<float>(size_t{kHeads} * kRows, kUntouchedScale)};
  kernels(isa).kvWrite({.in = in.data(),
                        .rowStride = size_t{kHeads} * dim,
                        .headStride = dim,
                        .cache = cache.bytes.data(),
                        .type = type,
                        .cacheRowStride = dim,
                        .cacheHeadStride = size_t{kRows} * dim,
                        .scales = type == DType::kI8 ? cache.scales.data() : nullptr,
                        .scaleHeadStride = kRows,
                        .row0 = 4,
                        .rows = 2,
                        .heads = kHeads,
                        .headDim = dim});
  return cache;
}

Written expected(DType type, const std::vector<float>& in, uint32_t dim) {
  const size_t element = dtypeInfo(type)->blockBytes;
  Written cache = {std::vector<std::byte>(size_t{kHeads} * kRows * dim * element, kUntouched),
                   std::vector<float>(size_t{kHeads} * kRows, kUntouchedScale)};
  for (uint32_t row = 4; row < 6; ++row) {
    for (uint32_t head = 0; head < kHeads; ++head) {
      const auto values = std::span(in).subspan(((row - 4) * kHeads + head) * size_t{dim}, dim);
      std::byte* out = cache.bytes.data() + (head * kRows + row) * dim * element;
      if (type == DType::kI8) {
        cache.scales[head * kRows + row] = quantizeRowI8(values, {reinterpret_cast<int8_t*>(out), dim});
      } else if (type == DType::kF32) {
        std::memcpy(out, values.data(), values.size_bytes());
      } else {
        for (uint32_t d = 0; d < dim; ++d) {
          const uint16_t half = f32ToF16(values[d]);
          std::memcpy(out + d * element, &half, element);
        }
      }
    }
  }
  return cache;
}

/// The first element of `type` that differs, or -1. Which NaN a kernel writes is not promised, that it is one is.
int64_t firstWrong(DType type, std::span<const std::byte> want, std::span<const std::byte> got) {
  const size_t element = dtypeInfo(type)->blockBytes;
  const auto isNan = [&](const std::byte* at) {
    uint32_t bits = 0;
    std::memcpy(&bits, at, element);
    if (type == DType::kI8) return false;
    return std::isnan(type == DType::kF16 ? f16ToF32(static_cast<uint16_t>(bits)) : std::bit_cast<float>(bits));
  };
  if (want.size() != got.size()) return 0;
  for (size_t at = 0; at < want.size(); at += element) {
    if (std::memcmp(&want[at], &got[at], element) == 0 || (isNan(&want[at]) && isNan(&got[at]))) continue;
    return static_cast<int64_t>(at / element);
  }
  return -1;
}

class KvWriteTest : public testing::TestWithParam<DType> {};

INSTANTIATE_TEST_SUITE_P(Types, KvWriteTest, testing::Values(DType::kF16, DType::kF32, DType::kI8),
                         [](const auto& info) { return std::string(dtypeInfo(info.param)->name); });

TEST_P(KvWriteTest, RoundsAsDefinedIntoItsRowsOnly) {
  Random random(11);
  for (const uint32_t dim : {2U, 16U, 20U, 31U, 64U, 256U}) {
    for (int round = 0; round < 20; ++round) {
      std::vector<float> in =
          round % 2 == 0 ? random.extremes(size_t{2} * kHeads * dim) : random.normals(size_t{2} * kHeads * dim);
      in[0] = 65519.9F;
      in[1] = 65520.0F;
      if (round % 4 == 1) std::fill_n(in.begin(), dim, 0x1p-101F);  // below what has a scale
      if (round % 4 == 3) in[dim - 1] = round % 8 == 3 ? kInf : kNan;
      const Written want = expected(GetParam(), in, dim);
      for (const InstructionSet isa : supportedSets()) {
        const Written got = write(isa, GetParam(), in, dim);
        ASSERT_EQ(firstDifference(want.scales, got.scales), -1) << instructionSetName(isa) << " dim " << dim;
        ASSERT_EQ(firstWrong(GetParam(), want.bytes, got.bytes), -1)
            << instructionSetName(isa) << " dim " << dim << " round " << round;
      }
    }
  }
}

}  // namespace
}  // namespace firn::cpu::test
