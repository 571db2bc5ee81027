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

/// Where each row of a panel starts in the source (any alignment); nullptr: a row of zeros beyond the matrix.
using PanelRows = std::array<const std::byte*, kPanelRows>;

/// The functions of one weight format. All are pure and may run on any thread; sizes were checked by the caller:
/// `columns` (or out.size()) is a whole number of blocks, and every pointer has that many weights behind it.
struct PanelFormat {
  DType type;
  PanelShape (*shape)(uint64_t columns);
  /// Source row to fp32.
  void (*dequantize)(const std::byte* source, std::span<float> out);
  /// 16 source rows to one panel of shape(columns).panelBytes, every byte of it written.
  void (*pack)(const PanelRows& rows, uint64_t columns, std::byte* panel);
  /// Row `row` (0..15) of a panel of out.size() columns to fp32, with the operations and order of dequantize.
  void (*unpackRow)(const std::byte* panel, uint32_t row, std::span<float> out);
};

}  // namespace firn::quant
