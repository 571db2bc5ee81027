// npu.expand_groups and npu.embed_groups. Kernel text: included after a vector header.
#pragma once

#include "kernels/npu/codes_text.h"
#include "kernels/npu/expand_groups.h"
#include "kernels/npu/expand_text.h"

namespace firn::npu {
namespace {

/// store(column, codes, affine, n) for up to 16 weights at a time of a row, none of them of two groups.
template <typename Kind, bool kHasMins, typename Store>
FIRN_INLINE void walkRow(const GroupsView& in, size_t row, size_t columns, const Store& store) {
  const size_t groups = in.scales.columns;
  const size_t size = groups == 0 ? 0 : columns / groups;
  const auto zero = static_cast<float>(in.zero);
  const float maxCode = Kind::kBits == 4 ? 15 : 255;
  const uint8_t* codes = rowOf(in.codes, row);
  for (size_t first = 0; first < groups; first += 16) {
    const size_t count = lanesAt(first, groups);
    float scales[16];
    float mins[16];
    firn::cpu::store(scales, loadHalves(rowOf(in.scales, row) + first, count));
    if constexpr (kHasMins) firn::cpu::store(mins, loadHalves(rowOf(in.mins, row) + first, count));
    for (size_t g = 0; g < count; ++g) {
      const Affine to = affine(scales[g], kHasMins ? mins[g] : 0.0F, maxCode);
      const auto step = [&](size_t k, size_t n) { store(k, codesAt<Kind>(codes, k, n, zero), to, n); };
      const size_t end = (first + g + 1) * size;
      size_t k = (first + g) * size;
      for (; k + 16 <= end; k += 16) step(k, 16);
      if (k < end) step(k, end - k);
    }
  }
}

template <typename Kind, bool kHasMins>
void expandPlanes(const ExpandGroupsArgs& args) {
  constexpr MinKind kMin = kHasMins ? MinKind::kAdded : MinKind::kNone;
  for (size_t i = 0; i < args.out.rows; ++i) {
    uint16_t* out = rowOf(args.out, i);
    walkRow<Kind, kHasMins>(args.in, i, args.out.columns, [&](size_t k, F32 codes, const Affine& to, size_t n) {
      storeWeights<kMin>(out + k, codes, to, n);
    });
  }
}

template <typename Kind, bool kHasMins>
void embedPlanes(const EmbedGroupsArgs& args) {
  for (size_t i = 0; i < args.out.rows; ++i) {
    float* out = rowOf(args.out, i);
    const auto id = static_cast<size_t>(args.ids[i]);
    walkRow<Kind, kHasMins>(args.table, id, args.out.columns, [&](size_t k, F32 codes, const Affine& to, size_t n) {
      const F32 product = mul(splat(to.scale), codes);
      storeN(out + k, kHasMins ? add(product, splat(to.min)) : product, n);
    });
  }
}

void expandGroupsKernel(const ExpandGroupsArgs& args) {
  withCodeKind(args.in.bits, args.in.zero, [&]<typename Kind>(Kind) {
    if (args.in.mins.data == nullptr) return expandPlanes<Kind, false>(args);
    expandPlanes<Kind, true>(args);
  });
}

void embedGroupsKernel(const EmbedGroupsArgs& args) {
  withCodeKind(args.table.bits, args.table.zero, [&]<typename Kind>(Kind) {
    if (args.table.mins.data == nullptr) return embedPlanes<Kind, false>(args);
    embedPlanes<Kind, true>(args);
  });
}

}  // namespace
}  // namespace firn::npu
