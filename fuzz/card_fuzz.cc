// Arbitrary bytes as a model card: ropes that are accepted name every layer once, fit its heads and turn keys to
// numbers.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "engine/rope_turn.h"
#include "fuzz/accepted.h"

namespace firn::engine {
namespace {

constexpr uint32_t kLayers = 3;
constexpr uint32_t kHeadDim = 8;
constexpr uint32_t kMostPositions = 1U << 20;

void check(bool holds) {
  if (!holds) std::abort();
}

void turnWith(const LayerRope& rope) {
  RopeTurn turn(kHeadDim);
  for (const uint32_t positions : {1U, kMostPositions}) {
    std::vector<float> keys(2 * kHeadDim, 1.0F);
    turn.set(rope, positions);
    turn.apply(rope, {.type = DType::kF32,
                      .headDim = kHeadDim,
                      .count = 2,
                      .data = reinterpret_cast<std::byte*>(keys.data()),
                      .scales = nullptr});
    for (const float key : keys) check(std::abs(key) < 1.5F);
    for (uint32_t i = rope.dims; i < kHeadDim; ++i) check(keys[i] == 1.0F);
  }
}

void use(std::string_view card) {
  blob::ProgramHeader header{};
  header.layers = kLayers;
  header.headDim = kHeadDim;
  const auto ropes = ropesOfCard(card, header);
  if (!ropes.isOk()) {
    check(!ropes.status().message().empty());
    return;
  }
  ++fuzz::acceptedInputs;
  uint32_t layers = 0;
  for (const LayerRope& rope : *ropes) {
    check(rope.firstLayer == layers && rope.layers > 0);
    check(rope.dims >= 2 && rope.dims <= kHeadDim && rope.frequencies.size() == rope.dims / 2);
    layers += rope.layers;
    turnWith(rope);
  }
  check(ropes->empty() || layers == kLayers);
}

}  // namespace
}  // namespace firn::engine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  firn::engine::use({reinterpret_cast<const char*>(data), size});
  return 0;
}
