// What a weight format must provide: one PanelFormat, made in <format>.cc and listed in panel.cc.
// Not the public interface: that is panel.h, which also describes the bytes of a panel.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/dtype.h"
#include "kernels/quant/panel.h"

namespace firn::quant {

/// The sources of the rows of a panel.
struct PanelRows {
  /// The block that holds the first weight of each row (any alignment); nullptr: a row of zeros beyond the matrix.
  std::array<const std::byte*, kPanelRows> blocks{};
  /// Weights of that block in front of the first one: 0 but where a block is more than one group of 32.
  uint64_t skip = 0;

  const std::byte* operator[](uint32_t row) const { return blocks[row]; }
};

/// The functions of one weight format. All are pure and may run on any thread; sizes were checked by the caller:
/// `columns` (or out.size()) is a whole number of groups of 32 (of blocks, where a source is dequantized), and every
/// pointer has that many weights behind it.
struct PanelFormat {
  DType type;
  /// Source row to fp32.
  void (*dequantize)(const std::byte* source, std::span<float> out);
  /// 16 source rows to one panel of panelShape(type, columns)->panelBytes, every byte of it written.
  void (*pack)(const PanelRows& rows, uint64_t columns, std::byte* panel);
  /// Row `row` (0..15) of a panel of out.size() columns to fp32, with the operations and order of dequantize.
  void (*unpackRow)(const std::byte* panel, uint32_t row, std::span<float> out);
};

}  // namespace firn::quant
