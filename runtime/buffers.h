// Memory of a device that lives in the host's address space: a table of buffers by id.
// Not for device programs' weights (they stay mapped in the blob).
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>

#include "base/status.h"
#include "runtime/device.h"

namespace firn::runtime {

/// Zeroed pages of our own, given back when destroyed. Movable.
class PageMemory {
 public:
  PageMemory() = default;
  PageMemory(PageMemory&& other) noexcept;
  PageMemory& operator=(PageMemory&& other) noexcept;
  ~PageMemory();

  /// `bytes` rounded up to pages; from 2 MiB on aligned to 2 MiB and in huge pages where the system has them.
  /// resource_exhausted when the system refuses, or when it has less memory than that: pages are handed out lazily, and
  /// a promise that cannot be kept would end in a kill much later.
  static Result<PageMemory> allocate(uint64_t bytes);

  std::byte* data() const { return data_; }
  uint64_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  uint64_t bytes_ = 0;       ///< as asked for
  void* mapping_ = nullptr;  ///< what munmap gets
  uint64_t mappedBytes_ = 0;
};

/// Buffers by id; ids are never used twice. One thread at a time.
class BufferTable {
 public:
  Result<BufferId> alloc(uint64_t bytes);
  Status free(BufferId id);
  /// The bytes of a buffer; invalid_argument for an unknown id. Allocates nothing when it succeeds.
  Result<std::span<std::byte>> find(BufferId id) const;
  void clear() { buffers_.clear(); }

 private:
  std::map<uint32_t, PageMemory> buffers_;
  uint32_t nextId_ = 1;
};

}  // namespace firn::runtime
