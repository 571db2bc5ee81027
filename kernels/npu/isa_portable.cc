// The kernel texts over the portable vector; compiled with that instruction set's flags (CMakeLists.txt).
#include "kernels/cpu/vector_portable.h"
// The texts need a vector first.
#include "kernels/npu/table_text.h"

namespace firn::npu {

constinit const NpuKernels kPortableKernels = makeTable(InstructionSet::kPortable);

}  // namespace firn::npu
