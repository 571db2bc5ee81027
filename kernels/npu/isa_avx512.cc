// The kernel texts over the avx512 vector; compiled with that instruction set's flags (CMakeLists.txt).
#include "kernels/cpu/vector_avx512.h"
// The texts need a vector first.
#include "kernels/npu/table_text.h"

namespace firn::npu {

constinit const NpuKernels kAvx512Kernels = makeTable(InstructionSet::kAvx512);

}  // namespace firn::npu
