// The npu ops that have a text for each instruction set, one table per set. Every table gives the same bits; the
// functions of the op headers (matmul.h ...) use that of the widest set of this machine. NaN results are NaN
// everywhere, with any payload.
#pragma once

#include "kernels/cpu/kernels.h"
#include "kernels/npu/accumulate.h"
#include "kernels/npu/elementwise.h"
#include "kernels/npu/expand.h"
#include "kernels/npu/expand_groups.h"
#include "kernels/npu/group_sums.h"
#include "kernels/npu/matmul.h"
#include "kernels/npu/matmul_groups.h"
#include "kernels/npu/rms_norm.h"
#include "kernels/npu/softmax.h"

namespace firn::npu {

using cpu::InstructionSet;

/// Tables are immutable and live as long as the program.
struct NpuKernels {
  InstructionSet isa;
  void (*matmul)(const MatmulArgs&);
  void (*matmulGroups)(const MatmulGroupsArgs&);
  void (*expand)(const ExpandArgs&);
  void (*expandGroups)(const ExpandGroupsArgs&);
  void (*embedGroups)(const EmbedGroupsArgs&);
  void (*rmsNorm)(const RmsNormArgs&);
  void (*accumulate)(const AccumulateArgs&);
  void (*groupSums)(const GroupSumsArgs&);
  void (*add)(const BinaryArgs&);
  void (*mul)(const BinaryArgs&);
  void (*bias)(const BiasArgs&);
  void (*scale)(const ScaleArgs&);
  void (*cast)(const CastArgs&);
  void (*siluMul)(const GatedArgs&);
  void (*geluMul)(const GatedArgs&);
  void (*softcap)(const SoftcapArgs&);
  void (*softmax)(const SoftmaxArgs&);
  void (*rescale)(const RescaleArgs&);
  void (*finish)(const FinishArgs&);
};

/// The table of `isa`, which must be supported on this machine.
const NpuKernels& kernelsOf(InstructionSet isa);

}  // namespace firn::npu
