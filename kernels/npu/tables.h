// The tables that kernelsOf() chooses from, one translation unit each. Inside firn_kernels_npu only.
#pragma once

#include "kernels/npu/kernels.h"

namespace firn::npu {

extern const NpuKernels kPortableKernels;
#ifdef FIRN_CPU_X86
extern const NpuKernels kAvx2Kernels;
extern const NpuKernels kAvx512Kernels;
#endif

}  // namespace firn::npu
