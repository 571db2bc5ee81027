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

}  // namespace firn
