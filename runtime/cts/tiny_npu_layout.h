// Where the values of the tiny model lie in CMX on the npu target: the same offsets in both tiles. Not here: the tasks
// that use them (tiny_npu.cc).
#pragma once

#include "runtime/cts/tiny_model.h"
#include "runtime/cts/tiny_npu_tasks.h"

namespace firn::runtime::cts {

inline constexpr uint32_t kTiles = 2;
inline constexpr uint64_t kBothTiles = 3;  ///< as the attribute `tiles` of a copy
inline constexpr uint32_t kGroup = kHeads / kKvHeads;
inline constexpr uint32_t kBlockRows = 32;  ///< cache rows that attention takes at a time

/// A view that every tile has.
struct NpuPlace {
  DType type = DType::kF32;
  Dims dims;
  uint64_t offset = 0;

  blob::OperandRecord in(uint32_t tile) const { return cmx(tile, type, dims, offset); }
};

/// CMX of a body of m rows. A tile has one KV head with its kGroup query heads, and half of the columns of every
/// linear.
class NpuLayout {
 public:
  explicit NpuLayout(uint32_t m) : rows(m) {}

  NpuPlace take(DType type, const Dims& dims) {
    NpuPlace place = {.type = type, .dims = dims, .offset = 0};
    place.offset = arena_.take(place.in(0).bytes);
    return place;
  }
  NpuPlace f32(uint32_t columns) { return take(DType::kF32, {rows, columns}); }
  NpuPlace f16(uint32_t columns) { return take(DType::kF16, {rows, columns}); }

  uint32_t rows;

 private:
  ScratchArena arena_;
};

}  // namespace firn::runtime::cts
