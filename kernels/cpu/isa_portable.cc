// The kernel texts over the portable vector; compiled with that instruction set's flags (CMakeLists.txt).
#include "kernels/cpu/vector_portable.h"
// The texts need a vector first.
#include "kernels/cpu/table_text.h"

namespace firn::cpu {

constinit const CpuKernels kPortableKernels = makeTable(InstructionSet::kPortable);

}  // namespace firn::cpu
