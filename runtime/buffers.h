// Memory of a device that lives in the host's address space: a table of buffers by id.
// Not for weights (they stay mapped in the blob).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "base/page_buffer.h"
#include "base/status.h"
#include "runtime/device.h"

namespace firn::runtime {

/// resource_exhausted when the machine has less memory than `bytes`.
Status checkDeviceMemory(uint64_t bytes);

/// Zeroed pages for a device. resource_exhausted when the system refuses, or by checkDeviceMemory: pages are handed out
/// at first touch, and a promise that cannot be kept would end in a kill much later.
Result<PageBuffer> allocateDeviceMemory(uint64_t bytes);

/// Buffers by id; ids are never used twice. One thread at a time.
class BufferTable {
 public:
  /// Zeroed memory of the host, by allocateDeviceMemory; resource_exhausted when it is refused. With `host` it is the
  /// caller's memory there.
  Result<BufferId> alloc(uint64_t bytes, std::byte* host);
  /// invalid_argument for an unknown id.
  Status free(BufferId id);
  /// The bytes of a buffer; invalid_argument for an unknown id. Allocates nothing when it succeeds.
  Result<std::span<std::byte>> find(BufferId id);
  void clear() { buffers_.clear(); }

 private:
  struct Buffer {
    PageBuffer own;  ///< empty for memory of the caller
    std::span<std::byte> bytes;
  };
  std::map<uint32_t, Buffer> buffers_;
  uint32_t nextId_ = 1;
};

}  // namespace firn::runtime
