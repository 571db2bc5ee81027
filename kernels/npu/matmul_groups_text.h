// npu.matmul_groups. Kernel text: included after a vector header.
#pragma once

#include "kernels/npu/matmul_groups.h"
#include "kernels/npu/tile_text.h"

namespace firn::npu {
namespace {

/// Rows of codes; what a code is worth depends on kBits and kSigned alone. As HalfRows, the last row repeats.
template <int kBits, bool kSigned>
struct CodeRows {
  const uint8_t* data;
  size_t stride;
  size_t count;
  float zero;

  FIRN_INLINE F32 load(size_t row, size_t k, size_t n) const {
    const uint8_t* codes = data + least(row, count - 1) * stride;
    if constexpr (kBits == 8) {
      const U8x16 bytes = loadU8x16(codes + k, n);
      return kSigned ? toFloatSigned(bytes) : sub(toFloat(bytes), splat(zero));
    } else {
      const U8x16 pairs = n == 16 ? loadU8x16(codes + k / 2, 8) : loadU8x16(codes + k / 2, n / 2);
      const U8x16 low = pairs & 15;
      const U8x16 high = pairs >> 4;
      const U8x16 inOrder = __builtin_shufflevector(low, high, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
      return sub(toFloat(inOrder), splat(zero));
    }
  }
};

template <int kBits, bool kSigned>
void matmulCodes(const MatmulGroupsArgs& args) {
  const size_t rows = args.out.rows;
  const size_t columns = args.out.columns;
  const size_t groups = args.out.parts;
  const size_t size = groups == 0 ? 0 : args.a.columns / groups;
  const auto tileAt = [&](size_t g, size_t i, size_t j) {
    return TileOperands<CodeRows<kBits, kSigned>>{
        {args.a.data + i * args.a.rowStride, args.a.rowStride, rows - i},
        {args.codes.data + j * args.codes.rowStride, args.codes.rowStride, columns - j, static_cast<float>(args.zero)},
        {g * size, (g + 1) * size}};
  };
  const auto outOf = [&](size_t g) {
    return FloatView{DType::kF32, args.out.data + g * args.out.partStride, rows, columns, args.out.rowStride};
  };
  const size_t tiled = rows % 4 == 1 ? rows - 1 : rows;
  for (size_t j = 0; j < columns && tiled != 0; j += 4) {
    for (size_t g = 0; g < groups; ++g) {
      for (size_t i = 0; i < tiled; i += 4) writeRows({outOf(g), false, i, j}, tileSums<4>(tileAt(g, i, j)));
    }
  }
  for (size_t j = 0; j < columns && tiled < rows; j += 16) {
    for (size_t g = 0; g < groups; ++g) writeRow({outOf(g), false, tiled, j}, tileSums<16>(tileAt(g, tiled, j)));
  }
}

void matmulGroupsKernel(const MatmulGroupsArgs& args) {
  if (args.bits == 4) return matmulCodes<4, false>(args);
  if (args.zero == 0) return matmulCodes<8, true>(args);
  matmulCodes<8, false>(args);
}

}  // namespace
}  // namespace firn::npu
