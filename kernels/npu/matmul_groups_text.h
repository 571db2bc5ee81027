// npu.matmul_groups. Kernel text: included after a vector header.
#pragma once

#include "kernels/npu/codes_text.h"
#include "kernels/npu/matmul_groups.h"
#include "kernels/npu/tile_text.h"

namespace firn::npu {
namespace {

/// Rows of codes. As HalfRows, the last row repeats.
template <typename Kind>
struct CodeRows {
  const uint8_t* data;
  size_t stride;
  size_t count;
  float zero;

  FIRN_INLINE F32 load(size_t row, size_t k, size_t n) const {
    return codesAt<Kind>(data + least(row, count - 1) * stride, k, n, zero);
  }
};

template <typename Kind>
void matmulCodes(const MatmulGroupsArgs& args) {
  const size_t rows = args.out.rows;
  const size_t columns = args.out.columns;
  const size_t groups = args.out.parts;
  const size_t size = groups == 0 ? 0 : args.a.columns / groups;
  const auto tileAt = [&](size_t g, size_t i, size_t j) {
    return TileOperands<CodeRows<Kind>>{
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
  withCodeKind(args.bits, args.zero, [&]<typename Kind>(Kind) { matmulCodes<Kind>(args); });
}

}  // namespace
}  // namespace firn::npu
