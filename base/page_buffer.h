// Page-aligned memory straight from the system, zeroed: for large copies that must be aligned and cheap to touch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/status.h"

namespace firn {

/// Owns zeroed read-write memory aligned to 4096 bytes (to 2 MiB, with huge pages asked for, from 1 MiB on). Movable;
/// the memory does not move with it.
class PageBuffer {
 public:
  /// resource_exhausted when the system refuses. 0 bytes gives an empty buffer.
  static Result<PageBuffer> allocate(uint64_t bytes);

  PageBuffer() = default;
  ~PageBuffer();
  PageBuffer(PageBuffer&& other) noexcept;
  PageBuffer& operator=(PageBuffer&& other) noexcept;

  std::span<std::byte> bytes() { return {data_, size_}; }
  std::span<const std::byte> bytes() const { return {data_, size_}; }

 private:
  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
  uint64_t mappedBytes_ = 0;
};

/// Advice about memory that is touched here and there: each first touch zeroes a page of 4 KiB and not one of 2 MiB.
/// Contents stay. Whole pages inside `bytes` only; nothing happens where the system knows no such advice.
void useSmallPages(std::span<std::byte> bytes);
/// The opposite, for memory that is used densely: pages touched later are huge, those touched already become so where
/// the system can do that (Linux 6.1), which copies them.
void useHugePages(std::span<std::byte> bytes);

}  // namespace firn
