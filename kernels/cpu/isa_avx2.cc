// The kernel texts over the avx2 vector; compiled with that instruction set's flags (CMakeLists.txt).
#include "kernels/cpu/vector_avx2.h"
// The texts need a vector first.
#include "kernels/cpu/table_text.h"

namespace firn::cpu {

constinit const CpuKernels kAvx2Kernels = makeTable(InstructionSet::kAvx2);

}  // namespace firn::cpu
