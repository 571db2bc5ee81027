#include "kernels/npu/embed.h"

#include <cassert>
#include <span>

#include "kernels/quant/panel.h"

namespace firn::npu {

void embed(const EmbedArgs& args) {
  const uint64_t columns = args.out.columns;
  const uint64_t bytes = dtypeBytes(args.table.type, columns).value_or(0);
  for (uint64_t i = 0; i < args.out.rows; ++i) {
    const auto id = static_cast<uint64_t>(args.ids[i]);
    assert(id < args.table.rows && "callers have compared ids with the vocabulary");
    const std::span<const std::byte> row(args.table.data + id * args.table.rowBytes, bytes);
    quant::dequantizeRow(args.table.type, row, {args.out.data + i * args.out.rowStride, columns});
  }
}

}  // namespace firn::npu
