// Views that the npu ops take: memory that somebody else owns, with dims and strides, as in kernels/reference/view.h.
// Strides count elements. f16 is uint16_t. Views have no functions: kernel texts are compiled for several instruction
// sets, and a function of one must not be linked into another.
// Ops are pure functions of their arguments: no state, no allocation, any thread, nothing written outside the dims of
// their outputs, rows and columns of 0 are no-ops. Sizes and types were checked by the caller (the verifier of the task
// list); data is trusted in nothing: NaN and Inf may stand anywhere. Pointers need the alignment of an element only.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/dtype.h"

namespace firn::npu {

/// Elements [rows, columns]; element [i, j] is data[i * rowStride + j].
template <typename T>
struct MatrixView {
  T* data = nullptr;
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t rowStride = 0;
};

/// Elements [parts, rows, columns]; element [p, i, j] is data[p * partStride + i * rowStride + j].
template <typename T>
struct PartsView {
  T* data = nullptr;
  uint64_t parts = 0;
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t partStride = 0;
  uint64_t rowStride = 0;
};

/// An output [rows, columns] of f32 or f16. What is beyond the largest f16 becomes infinite (f32ToF16).
struct FloatView {
  DType type = DType::kF32;
  void* data = nullptr;
  uint64_t rows = 0;
  uint64_t columns = 0;
  uint64_t rowStride = 0;
};

/// Rows of weights in their source type, as in the model file, rowBytes apart, any alignment.
struct RawView {
  DType type = DType::kF32;
  const std::byte* data = nullptr;
  uint64_t rows = 0;
  uint64_t columns = 0;  ///< weights of a row, whole blocks
  uint64_t rowBytes = 0;
};

}  // namespace firn::npu
