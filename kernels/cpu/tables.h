// The tables that kernels() chooses from, one translation unit each. Inside firn_kernels_cpu only.
#pragma once

#include "kernels/cpu/kernels.h"

namespace firn::cpu {

extern const CpuKernels kPortableKernels;
#ifdef FIRN_CPU_X86
extern const CpuKernels kAvx2Kernels;
extern const CpuKernels kAvx512Kernels;
#endif

/// embed.cc: the same code for every table, since a gather is bound by memory.
void embed(const EmbedArgs& args);

}  // namespace firn::cpu
