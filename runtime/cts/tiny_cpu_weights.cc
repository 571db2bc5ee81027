#include "runtime/cts/tiny_cpu_weights.h"

#include <cmath>

#include "kernels/quant/panel.h"

namespace firn::runtime::cts {
namespace {

uint64_t pack(const TinyTensor& tensor, const Share& rows, const Share& columns, WeightArena& arena) {
  std::vector<uint32_t> order(rows.count);
  for (uint32_t i = 0; i < rows.count; ++i) order[i] = rows.first + i;
  std::vector<std::byte> packed(quant::panelBytes(tensor.type, rows.count, columns.count).value_or(0));
  const Status status = quant::packPanels({.type = tensor.type,
                                           .bytes = tensor.bytes,
                                           .columns = tensor.columns,
                                           .firstColumn = columns.first,
                                           .columnCount = columns.count},
                                          order, packed);
  return status.isOk() ? arena.add(packed) : UINT64_MAX;  // which the verifier refuses
}

/// The arguments of the body of one layer.
std::vector<uint64_t> packLayer(const TinyLayer& t, uint32_t layer, const TinyOptions& options, WeightArena& arena) {
  const Share all = {.first = 0, .count = kEmbed};
  std::vector<uint64_t> args = {arena.add(t.attnNorm.bytes), arena.add(t.ffnNorm.bytes),
                                kvOffset(layer, false, options.cacheType()),
                                kvOffset(layer, true, options.cacheType())};
  for (uint32_t lane = 0; lane < options.lanes; ++lane) {
    const Share q = share(kHeads * kHeadDim, options.lanes, lane);
    const Share kv = share(kKvHeads * kHeadDim, options.lanes, lane);
    const Share f = share(kFfn, options.lanes, lane);
    for (const uint64_t at :
         {pack(t.q, q, all, arena), pack(t.k, kv, all, arena), pack(t.v, kv, all, arena), pack(t.o, all, q, arena),
          pack(t.gate, f, all, arena), pack(t.up, f, all, arena), pack(t.down, all, f, arena)}) {
      args.push_back(at);
    }
    args.push_back(arena.add(std::span(t.kBias.bytes).subspan(kv.first * sizeof(float), kv.count * sizeof(float))));
  }
  return args;
}

uint64_t packRopeTable(const std::vector<float>& freqs, WeightArena& arena) {
  std::vector<float> table;
  for (uint32_t position = 0; position < kKvRows; ++position) {
    for (const float freq : freqs) {
      const double angle = static_cast<float>(position) * freq;
      table.push_back(static_cast<float>(std::cos(angle)));
      table.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return arena.add(std::as_bytes(std::span(table)));
}

}  // namespace

TinyCpuWeights packTinyCpuWeights(const TinyWeights& weights, const TinyOptions& options, WeightArena& arena) {
  TinyCpuWeights packed;
  packed.embedding = pack(weights.embedding, {.first = 0, .count = kVocab}, {.first = 0, .count = kEmbed}, arena);
  packed.outputNorm = arena.add(weights.outputNorm.bytes);
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    packed.layerArgs.push_back(packLayer(weights.layers[layer], layer, options, arena));
  }
  packed.ropeTable = packRopeTable(weights.ropeFreqs, arena);
  return packed;
}

}  // namespace firn::runtime::cts
