#include "kernels/cpu/kernels.h"

#include <array>
#include <cassert>

#include "base/align.h"
#include "kernels/cpu/arithmetic.h"
#include "kernels/cpu/tables.h"

namespace firn::cpu {
namespace {

constexpr std::array<std::string_view, 3> kNames{"portable", "avx2", "avx512"};

}  // namespace

std::string_view instructionSetName(InstructionSet isa) { return kNames[static_cast<size_t>(isa)]; }

std::optional<InstructionSet> instructionSetFromName(std::string_view name) {
  for (size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<InstructionSet>(i);
  }
  return std::nullopt;
}

bool isSupported(InstructionSet isa) {
#ifdef FIRN_CPU_X86
  // These look at CPUID and at XGETBV, so the operating system's support counts too.
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
  if (isa == InstructionSet::kAvx2) return avx2;
  if (isa == InstructionSet::kAvx512) {
    return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
           __builtin_cpu_supports("avx512vnni");
  }
#endif
  return isa == InstructionSet::kPortable;
}

InstructionSet bestInstructionSet() {
  if (isSupported(InstructionSet::kAvx512)) return InstructionSet::kAvx512;
  if (isSupported(InstructionSet::kAvx2)) return InstructionSet::kAvx2;
  return InstructionSet::kPortable;
}

const CpuKernels& kernels(InstructionSet isa) {
  assert(isSupported(isa));
#ifdef FIRN_CPU_X86
  if (isa == InstructionSet::kAvx512) return kAvx512Kernels;
  if (isa == InstructionSet::kAvx2) return kAvx2Kernels;
#endif
  return kPortableKernels;
}

uint64_t attentionWorkspaceFloats(uint32_t rows, uint32_t group, uint32_t headDim) {
  // One block of K and of V in fp32, one query vector, and a maximum and a sum for each row and head of a KV head.
  const uint64_t paddedDim = roundUp(uint64_t{headDim}, kLanes);
  return (2 * kAttentionBlock + 1) * paddedDim + 2 * uint64_t{rows} * group;
}

}  // namespace firn::cpu
