// Lane sums of a tile of outputs: 16 of them at a time, 1 row by 16 columns or 4 by 4. Kernel text: included after a
// vector header.
//
// The loop of a tile loads a weight once for the rows of a tile and a row once for its columns. How many sums it keeps
// at a time depends on the registers: kOneRow for a single row, else kFewRows by kFewColumns; results do not.
#pragma once

#include "kernels/npu/lanes_text.h"

namespace firn::npu {
namespace {

#if defined(__AVX512F__) && !defined(FIRN_KERNELS_SMALL)
constexpr int kOneRow = 16;  // 16 sums of 32 registers
constexpr int kFewRows = 4;
constexpr int kFewColumns = 4;
#elif defined(__AVX2__) && !defined(FIRN_KERNELS_SMALL)
constexpr int kOneRow = 4;  // 4 sums of 2 registers each, of 16
constexpr int kFewRows = 2;
constexpr int kFewColumns = 2;
#else
constexpr int kOneRow = 2;  // 2 sums of 4 registers each
constexpr int kFewRows = 2;
constexpr int kFewColumns = 1;
#endif

/// Elements [begin, end) of k.
struct Range {
  size_t begin;
  size_t end;
};

/// Rows of weights in f16. Those beyond the last are the last, so tiles need not know where a matrix ends.
struct HalfRows {
  const uint16_t* data;
  size_t stride;
  size_t count;

  FIRN_INLINE F32 load(size_t row, size_t k, size_t n) const {
    return loadHalves(data + least(row, count - 1) * stride + k, n);
  }
};

/// The operands of a tile: `a` from its first row on, and weights of any kind with a load(row, k, n), row 0 being its
/// first column.
template <typename Weights>
struct TileOperands {
  HalfRows a;
  Weights w;
  Range k;
};

/// The sums of kRows x kColumns outputs of a tile kWidth columns wide, lanes not folded.
template <int kRows, int kColumns, int kWidth, typename Weights>
FIRN_INLINE void addTile(const TileOperands<Weights>& tile, int firstRow, int firstColumn, F32* sums) {
  F32 acc[kRows][kColumns];
  FIRN_UNROLL
  for (int i = 0; i < kRows; ++i) {
    FIRN_UNROLL
    for (int j = 0; j < kColumns; ++j) acc[i][j] = splat(0);
  }
  const auto step = [&](size_t k, size_t n) __attribute__((always_inline)) {
    F32 rows[kRows];
    FIRN_UNROLL
    for (int i = 0; i < kRows; ++i) rows[i] = tile.a.load(firstRow + i, k, n);
    FIRN_UNROLL
    for (int j = 0; j < kColumns; ++j) {
      const F32 w = tile.w.load(firstColumn + j, k, n);
      FIRN_UNROLL
      for (int i = 0; i < kRows; ++i) acc[i][j] = addProduct(acc[i][j], rows[i], w);
    }
  };
  size_t k = tile.k.begin;
  for (; k + 16 <= tile.k.end; k += 16) step(k, 16);
  if (k < tile.k.end) step(k, tile.k.end - k);
  FIRN_UNROLL
  for (int i = 0; i < kRows; ++i) {
    FIRN_UNROLL
    for (int j = 0; j < kColumns; ++j) sums[(firstRow + i) * kWidth + firstColumn + j] = acc[i][j];
  }
}

/// The 16 outputs of a tile of 16 / kWidth rows.
template <int kWidth, typename Weights>
FIRN_INLINE F32 tileSums(const TileOperands<Weights>& tile) {
  constexpr int kRows = 16 / kWidth;
  constexpr int kRowStep = kRows == 1 ? 1 : kFewRows;
  constexpr int kColumnStep = kRows == 1 ? kOneRow : kFewColumns;
  F32 sums[16];
  for (int i = 0; i < kRows; i += kRowStep) {
    for (int j = 0; j < kWidth; j += kColumnStep) addTile<kRowStep, kColumnStep, kWidth>(tile, i, j, sums);
  }
  return sumEach(sums);
}

/// Where a tile of outputs goes.
struct TileOut {
  const FloatView& out;
  bool accumulate;
  size_t row;
  size_t column;
};

/// The one row of a tile.
FIRN_INLINE void writeRow(const TileOut& at, F32 sums) {
  if (at.accumulate) {
    const float* old = static_cast<const float*>(at.out.data) + at.row * at.out.rowStride + at.column;
    sums = add(loadN(old, lanesAt(at.column, at.out.columns)), sums);
  }
  storeFloats(at.out, at.row, at.column, sums);
}

/// The four rows of a tile, or those of them that there are.
FIRN_INLINE void writeRows(const TileOut& at, F32 sums) {
  float values[16];
  uint16_t halves[16];
  if (at.out.type == DType::kF16) {
    storeF16N(halves, sums, 16);
  } else {
    store(values, sums);
  }
  const size_t rows = least(4, at.out.rows - at.row);
  const size_t columns = least(4, at.out.columns - at.column);
  for (size_t i = 0; i < rows; ++i) {
    const size_t first = (at.row + i) * at.out.rowStride + at.column;
    for (size_t j = 0; j < columns; ++j) {
      if (at.out.type == DType::kF16) {
        static_cast<uint16_t*>(at.out.data)[first + j] = halves[4 * i + j];
        continue;
      }
      float& to = static_cast<float*>(at.out.data)[first + j];
      to = at.accumulate ? to + values[4 * i + j] : values[4 * i + j];
    }
  }
}

}  // namespace
}  // namespace firn::npu
