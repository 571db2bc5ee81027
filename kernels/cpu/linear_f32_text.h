// linear_f32: fp32 activations times panels of f32, f16 or bf16; fp32 fma in ascending k, whatever the number of rows.
// Kernel text: included after a vector header.
#pragma once

#include <cassert>

#include "kernels/cpu/panels_text.h"

namespace firn::cpu {
namespace {

struct WeightF32 {
  static constexpr DType kType = DType::kF32;
  static constexpr size_t kBytes = 4;
  FIRN_INLINE static F32 load16(const uint8_t* p) { return load(reinterpret_cast<const float*>(p)); }
};
struct WeightF16 {
  static constexpr DType kType = DType::kF16;
  static constexpr size_t kBytes = 2;
  FIRN_INLINE static F32 load16(const uint8_t* p) { return loadF16(reinterpret_cast<const uint16_t*>(p)); }
};
struct WeightBf16 {
  static constexpr DType kType = DType::kBf16;
  static constexpr size_t kBytes = 2;
  FIRN_INLINE static F32 load16(const uint8_t* p) { return loadBf16(reinterpret_cast<const uint16_t*>(p)); }
};

/// kRows rows from `row` on times kPanels panels from `panel` on.
template <class Weight, int kPanels, int kRows>
void floatTile(const LinearF32Args& args, size_t row, size_t panel) {
  constexpr size_t kStep = kLanes * Weight::kBytes;
  const size_t panelBytes = panelPlanes(Weight::kType, args.columns).panelBytes;
  const uint8_t* weight = static_cast<const uint8_t*>(args.weight) + panel * panelBytes;
  const float* in = args.in.data + row * args.in.rowStride;
  F32 acc[kRows][kPanels];
  for (int t = 0; t < kRows; ++t) {
    for (int r = 0; r < kPanels; ++r) acc[t][r] = splat(0);
  }
  for (size_t k = 0; k < args.columns; ++k) {
    F32 w[kPanels];
    FIRN_UNROLL
    for (int r = 0; r < kPanels; ++r) w[r] = Weight::load16(weight + r * panelBytes + k * kStep);
    FIRN_UNROLL
    for (int t = 0; t < kRows; ++t) {
      const F32 x = splat(in[t * args.in.rowStride + k]);
      for (int r = 0; r < kPanels; ++r) acc[t][r] = fma(x, w[r], acc[t][r]);
    }
  }
  float* out = args.out.data + row * args.out.rowStride;
  for (int t = 0; t < kRows; ++t) {
    for (int r = 0; r < kPanels; ++r) {
      const size_t count = panelRows(panel + r, args.outputs);
      const F32 result = withBias(acc[t][r], args.bias, panel + r, count);
      storeN(out + t * args.out.rowStride + (panel + r) * kLanes, result, count);
    }
  }
}

template <class Weight, int kPanels, int kRows>
void lastFloatTile(const LinearF32Args& args, size_t row, size_t panel, size_t count) {
  if constexpr (kRows > 0) {
    if (count == kRows) return floatTile<Weight, kPanels, kRows>(args, row, panel);
    lastFloatTile<Weight, kPanels, kRows - 1>(args, row, panel, count);
  }
}

template <class Weight, int kPanels>
void floatPanels(const LinearF32Args& args, size_t panel) {
  size_t row = 0;
  for (; row + kFloatTokens <= args.rows; row += kFloatTokens) {
    floatTile<Weight, kPanels, kFloatTokens>(args, row, panel);
  }
  lastFloatTile<Weight, kPanels, kFloatTokens - 1>(args, row, panel, args.rows - row);
}

template <class Weight>
void linearWeight(const LinearF32Args& args) {
  const size_t panels = (size_t{args.outputs} + kLanes - 1) / kLanes;
  size_t panel = 0;
  if (args.rows == 1) {
    for (; panel + kFloatPanels <= panels; panel += kFloatPanels) floatTile<Weight, kFloatPanels, 1>(args, 0, panel);
  } else {
    for (; panel + kTilePanels <= panels; panel += kTilePanels) floatPanels<Weight, kTilePanels>(args, panel);
  }
  for (; panel < panels; ++panel) floatPanels<Weight, 1>(args, panel);
}

void linearF32(const LinearF32Args& args) {
  switch (args.type) {
    case DType::kF32: return linearWeight<WeightF32>(args);
    case DType::kF16: return linearWeight<WeightF16>(args);
    case DType::kBf16: return linearWeight<WeightBf16>(args);
    default: assert(false && "a verifier refuses every other type"); return;
  }
}

}  // namespace
}  // namespace firn::cpu
