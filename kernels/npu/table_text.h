// The kernel table of one instruction set. Kernel text: included after a vector header.
#pragma once

#include "kernels/npu/accumulate_text.h"
#include "kernels/npu/elementwise_text.h"
#include "kernels/npu/expand_groups_text.h"
#include "kernels/npu/expand_text.h"
#include "kernels/npu/matmul_groups_text.h"
#include "kernels/npu/matmul_text.h"
#include "kernels/npu/rms_norm_text.h"
#include "kernels/npu/softmax_text.h"
#include "kernels/npu/tables.h"

namespace firn::npu {
namespace {

constexpr NpuKernels makeTable(InstructionSet isa) {
  return {.isa = isa,
          .matmul = matmulKernel,
          .matmulGroups = matmulGroupsKernel,
          .expand = expandKernel,
          .expandGroups = expandGroupsKernel,
          .embedGroups = embedGroupsKernel,
          .rmsNorm = rmsNormKernel,
          .accumulate = accumulateKernel,
          .groupSums = groupSumsKernel,
          .add = addKernel,
          .mul = mulKernel,
          .bias = biasKernel,
          .scale = scaleKernel,
          .cast = castKernel,
          .siluMul = siluMulKernel,
          .geluMul = geluMulKernel,
          .softcap = softcapKernel,
          .softmax = softmaxKernel,
          .rescale = rescaleKernel,
          .finish = finishKernel};
}

}  // namespace
}  // namespace firn::npu
