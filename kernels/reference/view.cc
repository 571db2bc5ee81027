#include "kernels/reference/view.h"

#include <cassert>

#include "kernels/quant/panel.h"

namespace firn::reference {

void readWeights(const WeightView& weights, uint64_t row, uint64_t first, std::span<float> out) {
  assert(row < weights.rows && first + out.size() <= weights.columns);
  const DTypeInfo& info = *dtypeInfo(weights.type);
  const uint64_t offset = (row * weights.rowStride + first) / info.blockElements * info.blockBytes;
  const uint64_t bytes = out.size() / info.blockElements * info.blockBytes;
  quant::dequantizeRow(weights.type, {weights.data + offset, bytes}, out);
}

}  // namespace firn::reference
