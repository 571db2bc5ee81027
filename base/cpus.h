// Which CPUs this process may use, and where threads run. Not a thread pool.
#pragma once

#include <cstdint>
#include <vector>

namespace firn {

/// Numbers of the CPUs that the calling thread may use (its affinity mask), ascending; {0} when the system does not
/// say. A container limited by a mask sees only its own.
std::vector<uint32_t> allowedCpus();

/// Ties the calling thread to `cpu`; false when the system refuses, which changes nothing.
bool pinThisThread(uint32_t cpu);

/// Moves the calling thread to `cpu` now if it runs elsewhere, and leaves its affinity mask as it was. Allocates
/// nothing.
void moveThisThread(uint32_t cpu);

}  // namespace firn
