// The kernel texts over the avx2 vector; compiled with that instruction set's flags (CMakeLists.txt).
#include "kernels/cpu/vector_avx2.h"
// The texts need a vector first.
#include "kernels/npu/table_text.h"

namespace firn::npu {

constinit const NpuKernels kAvx2Kernels = makeTable(InstructionSet::kAvx2);

}  // namespace firn::npu
