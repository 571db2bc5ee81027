// The kernel table of one instruction set. Kernel text: included after a vector header.
#pragma once

#include "kernels/cpu/attention_text.h"
#include "kernels/cpu/elementwise_text.h"
#include "kernels/cpu/exp_text.h"
#include "kernels/cpu/kv_write_text.h"
#include "kernels/cpu/linear_f32_text.h"
#include "kernels/cpu/linear_i8_text.h"
#include "kernels/cpu/quantize_text.h"
#include "kernels/cpu/rms_norm_text.h"
#include "kernels/cpu/rope_text.h"
#include "kernels/cpu/tables.h"
#include "kernels/cpu/top_k_text.h"

namespace firn::cpu {
namespace {

constexpr CpuKernels makeTable(InstructionSet isa) {
  return {.isa = isa,
          .embed = embed,
          .rmsNorm = rmsNorm,
          .quantize = quantize,
          .linearI8 = linearI8,
          .linearF32 = linearF32,
          .rope = rope,
          .kvWrite = kvWrite,
          .attention = attention,
          .siluMul = siluMul,
          .geluMul = geluMul,
          .scale = scaleRows,
          .addPartials = addPartials,
          .copy = copy,
          .topK = topK,
          .topKMerge = topKMerge,
          .exp = expKernel};
}

}  // namespace
}  // namespace firn::cpu
