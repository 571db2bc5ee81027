// npu.accumulate and npu.group_sums. Kernel text: included after a vector header.
#pragma once

#include "kernels/npu/accumulate.h"
#include "kernels/npu/group_sums.h"
#include "kernels/npu/lanes_text.h"

namespace firn::npu {
namespace {

/// Scales of 16 groups of 16 outputs, turned: a vector of outputs for each group. Rows beyond the last repeat it.
struct ScaleTile {
  float values[16][16];  ///< [group, output]

  FIRN_INLINE void load(const MatrixView<const uint16_t>& scales, size_t output, size_t group) {
    for (size_t o = 0; o < 16; ++o) {
      const uint16_t* row = rowOf(scales, least(output + o, scales.rows - 1)) + group;
      float lanes[16];
      store(lanes, loadHalves(row, lanesAt(group, scales.columns)));
      for (size_t g = 0; g < 16; ++g) values[g][o] = lanes[g];
    }
  }
};

/// 16 groups of 16 outputs of every row.
FIRN_INLINE void accumulateTile(const AccumulateArgs& args, size_t output, size_t group) {
  const bool hasMins = args.mins.data != nullptr;
  ScaleTile scales;
  ScaleTile mins;
  scales.load(args.scales, output, group);
  if (hasMins) mins.load(args.mins, output, group);
  const size_t n = lanesAt(output, args.out.columns);
  const size_t groups = lanesAt(group, args.partials.parts);
  for (size_t i = 0; i < args.out.rows; ++i) {
    float* out = rowOf(args.out, i) + output;
    F32 acc = group == 0 && !args.accumulate ? splat(0) : loadN(out, n);
    const float* partials = args.partials.data + i * args.partials.rowStride + output;
    for (size_t g = 0; g < groups; ++g) {
      F32 term = mul(loadN(partials + (group + g) * args.partials.partStride, n), firn::cpu::load(scales.values[g]));
      if (hasMins) term = add(term, mul(firn::cpu::load(mins.values[g]), splat(rowOf(args.sums, i)[group + g])));
      acc = add(acc, term);
    }
    storeN(out, acc, n);
  }
}

void accumulateKernel(const AccumulateArgs& args) {
  for (size_t output = 0; output < args.out.columns; output += 16) {
    for (size_t group = 0; group < args.partials.parts; group += 16) accumulateTile(args, output, group);
  }
}

void groupSumsKernel(const GroupSumsArgs& args) {
  const size_t groups = args.sums.columns;
  const size_t size = groups == 0 ? 0 : args.a.columns / groups;
  for (size_t i = 0; i < args.sums.rows; ++i) {
    for (size_t g = 0; g < groups; ++g) {
      const uint16_t* a = rowOf(args.a, i) + g * size;
      F32 total = splat(0);
      for (size_t k = 0; k < size; k += 16) total = add(total, loadHalves(a + k, lanesAt(k, size)));
      rowOf(args.sums, i)[g] = sum(total);
    }
  }
}

}  // namespace
}  // namespace firn::npu
