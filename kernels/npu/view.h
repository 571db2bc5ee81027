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

/// Weights [n, K] as planes, in groups of K / scales.columns columns, an even number. Value of a weight: scale * (code
/// - zero) of its group, + min where there are mins; in fp32, rounded after each operation.
struct GroupsView {
  MatrixView<const uint8_t> codes;    ///< [n, K * bits / 8], as in matmul_groups.h
  MatrixView<const uint16_t> scales;  ///< [n, groups]
  MatrixView<const uint16_t> mins;    ///< [n, groups], or without data: none
  uint32_t bits = 4;                  ///< 4 or 8
  int32_t zero = 0;                   ///< a code of so many bits; 0 with 8 bits: codes are signed
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
