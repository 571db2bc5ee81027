// Turning cached keys back: after rows were dropped, the keys behind them get the positions of their new rows.
// Not here: which rows are dropped (session.h), the rope of new rows (the blob's program).
//
// A key k at position p is stored as R(p) k, R(p) turning pair i by p * freq[i]. R(p - d) k = R(-d) R(p) k, so rows
// move by d positions with one turn by -d, whatever p was; a magnitude (yarn) stays inside. In fp32:
//   x' = x * cos + y * sin,  y' = y * cos - x * sin,  each product and sum rounded; cos and sin of double(d) * freq[i],
// computed in double, rounded to fp32. A key of type f16 is rounded once more, one of type i8 is
// made anew from its turned values (base/row_i8.h). So one turn moves an element by at most (2^-11 + 2^-22) of the
// pair's length in f16, 2^-22 in f32, 1/253 of the largest element of the row in i8, and by what the rope of new rows
// differs from exact angles: theirs are rounded to fp32, up to 2^-24 * p * freq.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/dtype.h"
#include "base/status.h"
#include "blob/layout.h"

namespace firn::engine {

/// The rope of the keys of some layers.
struct LayerRope {
  uint32_t firstLayer = 0;
  uint32_t layers = 0;             ///< [firstLayer, firstLayer + layers) turn alike
  bool isInterleaved = false;      ///< pairs are (2i, 2i + 1), else (i, i + dims / 2)
  uint32_t dims = 0;               ///< turned width of a head
  std::vector<float> frequencies;  ///< dims / 2
};

/// The ropes of all layers in order, each layer in one of them, from the key "rope" of a model card. Empty when the
/// card has none. corrupt when it contradicts the program's header. Takes memory in proportion to the card.
Result<std::vector<LayerRope>> ropesOfCard(std::string_view card, const blob::ProgramHeader& header);

/// Rows of keys of one head, one after the other.
struct KeyRows {
  DType type = DType::kF16;  ///< f16, f32 or i8
  uint32_t headDim = 0;
  uint64_t count = 0;
  std::byte* data = nullptr;
  float* scales = nullptr;  ///< i8: one for each row; else not used
};

/// cos and sin of one turn; made once per rope and distance.
class RopeTurn {
 public:
  explicit RopeTurn(uint32_t headDim) : cosines_(headDim / 2), sines_(headDim / 2), row_(headDim) {}

  /// Sets the turn of `rope` by -`positions`. Allocates nothing.
  void set(const LayerRope& rope, uint32_t positions);
  /// Turns every row in place. Allocates nothing.
  void apply(const LayerRope& rope, const KeyRows& rows);

 private:
  void turnRow(const LayerRope& rope);

  std::vector<float> cosines_;
  std::vector<float> sines_;
  std::vector<float> row_;  ///< the one being turned
};

}  // namespace firn::engine
