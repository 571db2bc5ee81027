#include "kernels/quant/panel.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <string>

#include "kernels/quant/bf16.h"
#include "kernels/quant/f16.h"
#include "kernels/quant/f32.h"
#include "kernels/quant/format.h"
#include "kernels/quant/q4_0.h"
#include "kernels/quant/q4_1.h"
#include "kernels/quant/q4_k.h"
#include "kernels/quant/q5_0.h"
#include "kernels/quant/q5_1.h"
#include "kernels/quant/q5_k.h"
#include "kernels/quant/q6_k.h"
#include "kernels/quant/q8_0.h"

namespace firn::quant {
namespace {

/// Every format that has panels; a new one is one row.
constexpr std::array kFormats{f32Format, f16Format, bf16Format, q40Format, q41Format, q80Format,
                              q50Format, q51Format, q4kFormat,  q5kFormat, q6kFormat};

const PanelFormat* findFormat(DType type) {
  for (const auto& format : kFormats) {
    if (format().type == type) return &format();
  }
  return nullptr;
}

std::string describe(const PackSource& source) {
  const DTypeInfo* info = dtypeInfo(source.type);
  return "columns [" + std::to_string(source.firstColumn) + ", +" + std::to_string(source.columnCount) + ") of a " +
         (info == nullptr ? std::string("unknown type") : std::string(info->name)) + " matrix of " +
         std::to_string(source.columns) + " columns in " + std::to_string(source.bytes.size()) + " bytes";
}

/// What packPanels needs to know of a source, once it has been checked.
struct SourceRows {
  uint64_t rowBytes;
  uint64_t firstBlockBytes;  ///< from the start of a row to the block of its first packed weight
  uint64_t skip;             ///< PanelRows::skip
  uint64_t count;
};

/// Panels hold whole groups of quantized types, which may be parts of a block.
bool isWholeGroups(DType type, uint64_t columns) { return !dtypeInfo(type)->isQuantized || columns % kGroup == 0; }

Result<SourceRows> checkSource(const PackSource& source) {
  const std::optional<uint64_t> rowBytes = dtypeBytes(source.type, source.columns);
  const bool inside = source.firstColumn <= source.columns && source.columnCount <= source.columns - source.firstColumn;
  if (!rowBytes || !inside || *rowBytes == 0 || !isWholeGroups(source.type, source.firstColumn) ||
      !panelShape(source.type, source.columnCount)) {
    return internalError("cannot pack " + describe(source) + ": expected whole groups inside the matrix");
  }
  if (source.bytes.size() % *rowBytes != 0) {
    return internalError("cannot pack " + describe(source) + ": expected whole rows of " + std::to_string(*rowBytes) +
                         " bytes");
  }
  const DTypeInfo& info = *dtypeInfo(source.type);
  return SourceRows{*rowBytes, source.firstColumn / info.blockElements * info.blockBytes,
                    source.firstColumn % info.blockElements, source.bytes.size() / *rowBytes};
}

}  // namespace

Status packPanels(const PackSource& source, std::span<const uint32_t> rowOrder, std::span<std::byte> out) {
  FIRN_ASSIGN_OR_RETURN(const SourceRows rows, checkSource(source));
  const std::optional<uint64_t> expected = panelBytes(source.type, rowOrder.size(), source.columnCount);
  if (!expected || out.size() != *expected) {
    return internalError("cannot pack " + std::to_string(rowOrder.size()) + " rows of " + describe(source) +
                         ": the output has " + std::to_string(out.size()) + " bytes, expected " +
                         (expected ? std::to_string(*expected) : std::string("a size below 2^64")));
  }
  for (const uint32_t row : rowOrder) {
    if (row >= rows.count) {
      return internalError("cannot pack row " + std::to_string(row) + " of " + describe(source) + ": it has " +
                           std::to_string(rows.count) + " rows");
    }
  }
  const PanelFormat& format = *findFormat(source.type);
  const uint64_t stride = panelShape(source.type, source.columnCount)->panelBytes;
  for (uint64_t first = 0, panel = 0; first < rowOrder.size(); first += kPanelRows, ++panel) {
    PanelRows panelRows;
    panelRows.skip = rows.skip;
    const uint64_t count = std::min<uint64_t>(kPanelRows, rowOrder.size() - first);
    for (uint64_t r = 0; r < count; ++r) {
      panelRows.blocks[r] = source.bytes.data() + rowOrder[first + r] * rows.rowBytes + rows.firstBlockBytes;
    }
    format.pack(panelRows, source.columnCount, out.data() + panel * stride);
  }
  return Status::ok();
}

void unpackPanelRow(DType type, std::span<const std::byte> packed, uint64_t row, uint64_t columns,
                    std::span<float> out) {
  const PanelFormat* format = findFormat(type);
  assert(format != nullptr && panelShape(type, columns) && out.size() == columns);
  const uint64_t stride = panelShape(type, columns)->panelBytes;
  const uint64_t panel = row / kPanelRows;
  assert(packed.size() / std::max<uint64_t>(stride, 1) > panel || columns == 0);
  format->unpackRow(packed.data() + panel * stride, static_cast<uint32_t>(row % kPanelRows), out);
}

void dequantizeRow(DType type, std::span<const std::byte> bytes, std::span<float> out) {
  const PanelFormat* format = findFormat(type);
  assert(format != nullptr && dtypeBytes(type, out.size()) && *dtypeBytes(type, out.size()) <= bytes.size());
  format->dequantize(bytes.data(), out);
}

}  // namespace firn::quant
