// Views that the reference ops take: pointers into memory that somebody else owns, with explicit dims and strides.
// Strides count elements, not bytes. A view of one row may have any row stride. Where in and out both have rows, an op
// computes out.rows of them, and `in` has at least as many.
// Ops are pure functions of their arguments: no state, no allocation, any thread. Shapes were checked by the caller
// (the verifier of the task list); a wrong one is a bug and asserts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"

namespace firn::reference {

/// Elements [rows, columns]; element [i, j] is data[i * rowStride + j].
template <typename T>
struct MatrixView {
  T* data = nullptr;
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t rowStride = 0;

  T* row(uint64_t i) const { return data + i * rowStride; }
};

using ConstMatrix = MatrixView<const float>;
using Matrix = MatrixView<float>;

/// Elements [rows, heads, headDim]; element [i, h, k] is data[i * rowStride + h * headStride + k]. Activations have
/// headStride = headDim; a cache [heads, T, headDim] is seen with rowStride = headDim and headStride = T * headDim.
template <typename T>
struct HeadsView {
  T* data = nullptr;
  uint64_t rows = 0;
  uint64_t heads = 0;
  uint64_t headDim = 0;
  uint64_t rowStride = 0;
  uint64_t headStride = 0;

  T* head(uint64_t i, uint64_t h) const { return data + i * rowStride + h * headStride; }
};

using ConstHeads = HeadsView<const float>;
using Heads = HeadsView<float>;

/// A K or V cache [heads, T, headDim] of f32, f16 or i8, as HeadsView sees it. A row of i8 has a scale, at
/// scales[h * scaleHeadStride + i].
struct CacheView {
  DType type = DType::kF32;
  std::byte* data = nullptr;
  float* scales = nullptr;  ///< null: the type has none
  uint64_t rows = 0;
  uint64_t heads = 0;
  uint64_t headDim = 0;
  uint64_t rowStride = 0;
  uint64_t headStride = 0;
  uint64_t scaleHeadStride = 0;

  /// First element of a row, as type T.
  template <typename T>
  T* head(uint64_t i, uint64_t h) const {
    return reinterpret_cast<T*>(data) + i * rowStride + h * headStride;
  }
  float& scale(uint64_t i, uint64_t h) const { return scales[h * scaleHeadStride + i]; }
};

/// A cache of f32.
inline CacheView cacheOf(const Heads& heads) {
  return {.type = DType::kF32,
          .data = reinterpret_cast<std::byte*>(heads.data),
          .rows = heads.rows,
          .heads = heads.heads,
          .headDim = heads.headDim,
          .rowStride = heads.rowStride,
          .headStride = heads.headStride};
}

/// A weight matrix [rows, columns] in its source type (f32, f16, bf16 or a quantized type of kernels/quant/), row-major
/// as in the model file, any byte alignment. Rows lie rowStride weights apart: columns, or another whole number of
/// blocks. A vector is a matrix of one row.
struct WeightView {
  DType type = DType::kF32;
  const std::byte* data = nullptr;
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t rowStride = 0;
};

/// Weights [first, first + out.size()) of row `row` as fp32, exact. `first` and the size are whole blocks (or the size
/// reaches the end of the row).
void readWeights(const WeightView& weights, uint64_t row, uint64_t first, std::span<float> out);

/// Ops that read weights do so in pieces of this many, in a buffer on the stack: a multiple of every block length, and
/// small enough to stay in the L1 cache. So no op needs memory of its own.
inline constexpr uint64_t kWeightPiece = 1024;

}  // namespace firn::reference
