#include "runtime/cts/tiny_npu_weights.h"

namespace firn::runtime::cts {
namespace {

NpuMatrix pack(const TinyTensor& tensor, WeightArena& arena) {
  if (tensor.type != DType::kQ8_0) return {.rows = arena.add(tensor.bytes), .scales = 0};
  constexpr size_t kScaleBytes = 2;
  constexpr size_t kBlockBytes = kScaleBytes + 32;
  std::vector<std::byte> codes, scales;
  for (size_t at = 0; at < tensor.bytes.size(); at += kBlockBytes) {
    const auto block = std::span(tensor.bytes).subspan(at, kBlockBytes);
    scales.insert(scales.end(), block.begin(), block.begin() + kScaleBytes);
    codes.insert(codes.end(), block.begin() + kScaleBytes, block.end());
  }
  return {.rows = arena.add(codes), .scales = arena.add(scales)};
}

}  // namespace

const TinyTensor& npuTensor(const TinyLayer& layer, NpuWeight weight) {
  switch (weight) {
    case NpuWeight::kQ: return layer.q;
    case NpuWeight::kK: return layer.k;
    case NpuWeight::kV: return layer.v;
    case NpuWeight::kO: return layer.o;
    case NpuWeight::kGate: return layer.gate;
    case NpuWeight::kUp: return layer.up;
    case NpuWeight::kDown: break;
  }
  return layer.down;
}

TinyNpuWeights packTinyNpuWeights(const TinyWeights& weights, const TinyOptions& options, WeightArena& arena) {
  TinyNpuWeights packed;
  packed.embedding = pack(weights.embedding, arena);
  packed.outputNorm = arena.add(weights.outputNorm.bytes);
  packed.freqs = arena.add(std::as_bytes(std::span(weights.ropeFreqs)));
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    const TinyLayer& t = weights.layers[layer];
    std::vector<uint64_t> args = {arena.add(t.attnNorm.bytes), arena.add(t.ffnNorm.bytes), arena.add(t.kBias.bytes)};
    for (uint32_t i = 0; i < kNpuWeights; ++i) {
      const NpuMatrix matrix = pack(npuTensor(t, static_cast<NpuWeight>(i)), arena);
      args.insert(args.end(), {matrix.rows, matrix.scales});
    }
    args.push_back(kvOffset(layer, false, options.cacheType()));
    args.push_back(kvOffset(layer, true, options.cacheType()));
    packed.layerArgs.push_back(args);
  }
  return packed;
}

}  // namespace firn::runtime::cts
