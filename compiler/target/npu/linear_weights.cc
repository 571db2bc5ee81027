#include "compiler/target/npu/linear_weights.h"

#include <bit>

namespace firn::target::npu {

OnChip WeightsOnChip::plane(const Tensor& stored, uint64_t tiles, const WeightBlock& block, llvm::StringRef name) {
  const int64_t width = stored.dims[1];
  const Range columns = {block.depth.first * width / block.k, block.depth.count * width / block.k};
  const OnChip loaded = npu_.onChip("w", tiles, stored.dtype, {block.rows.count, columns.count});
  npu_.load(part(stored, block.rows, columns), loaded, name);
  return loaded;
}

WeightPlanes WeightsOnChip::planes(const Layer& layer, uint64_t tiles, const WeightBlock& block) {
  const StoredWeights& weights = layer.weights;
  WeightPlanes planes = {plane(weights.rows, tiles, block, layer.name), {}, {}};
  if (weights.form != WeightForm::kGroups) return planes;
  planes.scales = plane(weights.scales, tiles, block, layer.name);
  if (weights.mins) planes.mins = plane(*weights.mins, tiles, block, layer.name);
  return planes;
}

OnChip WeightsOnChip::half(const Layer& layer, uint64_t tiles, const WeightBlock& block) {
  if (layer.weights.form == WeightForm::kHalf) {
    OnChip half = plane(layer.weights.rows, tiles, block, layer.name);
    half.dtype = DType::kF16;
    half.dims = {block.rows.count, block.depth.count};
    return half;
  }
  const OnChip half = npu_.onChip("half", tiles, DType::kF16, {block.rows.count, block.depth.count});
  const std::vector<Range> parts = splitEvenly(block.rows.count, std::popcount(tiles), 1);
  uint64_t rest = tiles;
  for (const Range rows : parts) {
    const auto tile = static_cast<int64_t>(std::countr_zero(rest));
    rest &= rest - 1;
    if (rows.count == 0) continue;
    const Tensor own = half.in(tile).slice(rows.first, rows.count);
    expand(layer, tile, {{block.rows.first + rows.first, rows.count}, block.depth, block.k}, own);
    OnChip others = half;
    others.tiles &= ~(uint64_t{1} << tile);
    if (others.tiles != 0) npu_.multicast(own, others, rows, layer.name);
  }
  return half;
}

void WeightsOnChip::expand(const Layer& layer, int64_t tile, const WeightBlock& block, const Tensor& to) {
  const StoredWeights& weights = layer.weights;
  const WeightPlanes stored = planes(layer, uint64_t{1} << tile, block);
  if (weights.form == WeightForm::kRaw) {
    npu_.run("npu.expand", layer.name, {stored.codes.in(tile), to}, {npu_.integer(static_cast<int64_t>(weights.type))});
    return;
  }
  llvm::SmallVector<Tensor> operands = {stored.codes.in(tile), stored.scales->in(tile)};
  if (stored.mins) operands.push_back(stored.mins->in(tile));
  operands.push_back(to);
  npu_.run("npu.expand_groups", layer.name, operands, {npu_.integer(weights.bits), npu_.integer(weights.zero)});
}

}  // namespace firn::target::npu
