#include "kernels/npu/kernels.h"

#include <cassert>

#include "kernels/npu/tables.h"

namespace firn::npu {
namespace {

const NpuKernels& best() {
  static const NpuKernels& table = kernelsOf(cpu::bestInstructionSet());
  return table;
}

}  // namespace

const NpuKernels& kernelsOf(InstructionSet isa) {
  assert(cpu::isSupported(isa));
#ifdef FIRN_CPU_X86
  if (isa == InstructionSet::kAvx512) return kAvx512Kernels;
  if (isa == InstructionSet::kAvx2) return kAvx2Kernels;
#endif
  return kPortableKernels;
}

void matmul(const MatmulArgs& args) { best().matmul(args); }
void matmulGroups(const MatmulGroupsArgs& args) { best().matmulGroups(args); }
void expand(const ExpandArgs& args) { best().expand(args); }
void expandGroups(const ExpandGroupsArgs& args) { best().expandGroups(args); }
void embedGroups(const EmbedGroupsArgs& args) { best().embedGroups(args); }
void rmsNorm(const RmsNormArgs& args) { best().rmsNorm(args); }
void accumulate(const AccumulateArgs& args) { best().accumulate(args); }
void groupSums(const GroupSumsArgs& args) { best().groupSums(args); }
void add(const BinaryArgs& args) { best().add(args); }
void mul(const BinaryArgs& args) { best().mul(args); }
void bias(const BiasArgs& args) { best().bias(args); }
void scale(const ScaleArgs& args) { best().scale(args); }
void cast(const CastArgs& args) { best().cast(args); }
void siluMul(const GatedArgs& args) { best().siluMul(args); }
void geluMul(const GatedArgs& args) { best().geluMul(args); }
void softcap(const SoftcapArgs& args) { best().softcap(args); }
void softmax(const SoftmaxArgs& args) { best().softmax(args); }
void rescale(const RescaleArgs& args) { best().rescale(args); }
void finish(const FinishArgs& args) { best().finish(args); }

}  // namespace firn::npu
