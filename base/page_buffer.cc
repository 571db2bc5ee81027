#include "base/page_buffer.h"

#include <sys/mman.h>

#include <utility>

#include "base/align.h"

namespace firn {

namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kHugePage = 2ULL << 20;
constexpr uint64_t kHugeFrom = 1ULL << 20;

/// Calls madvise for the whole pages of `bytes`. It is advice: what the system does not know it leaves.
void advise(std::span<std::byte> bytes, int advice) {
  const auto begin = reinterpret_cast<uintptr_t>(bytes.data());
  const uintptr_t first = roundUp(begin, kPage);
  const uintptr_t end = (begin + bytes.size()) / kPage * kPage;
  if (end > first) madvise(reinterpret_cast<void*>(first), end - first, advice);
}

}  // namespace

void useSmallPages(std::span<std::byte> bytes) { advise(bytes, MADV_NOHUGEPAGE); }

void useHugePages(std::span<std::byte> bytes) {
  advise(bytes, MADV_HUGEPAGE);
#ifdef MADV_COLLAPSE
  constexpr int kCollapse = MADV_COLLAPSE;
#else
  constexpr int kCollapse = 25;  // headers older than the kernel; an older kernel refuses it
#endif
  advise(bytes, kCollapse);
}

Result<PageBuffer> PageBuffer::allocate(uint64_t bytes) {
  PageBuffer buffer;
  if (bytes == 0) return buffer;
  const auto refused = [&] {
    return resourceExhausted("no memory for " + std::to_string(bytes) +
                             " bytes; close other programs, or ask for less: a smaller "
                             "model or a shorter --max-prompt-len");
  };
  if (bytes > (1ULL << 62)) return refused();
  // A page that is touched alone costs tens of times more than its share of a huge page.
  const bool huge = bytes >= kHugeFrom;
  const uint64_t alignment = huge ? kHugePage : kPage;
  const uint64_t mapped = roundUp(bytes, alignment);
  const uint64_t reserved = huge ? mapped + alignment : mapped;
  void* base = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return refused();
  const auto address = reinterpret_cast<uintptr_t>(base);
  const uintptr_t start = roundUp(address, alignment);
  if (start > address) munmap(base, start - address);
  if (const uint64_t tail = address + reserved - (start + mapped); tail > 0) {
    munmap(reinterpret_cast<void*>(start + mapped), tail);
  }
  if (huge) madvise(reinterpret_cast<void*>(start), mapped, MADV_HUGEPAGE);
  buffer.data_ = reinterpret_cast<std::byte*>(start);
  buffer.size_ = bytes;
  buffer.mappedBytes_ = mapped;
  return buffer;
}

PageBuffer::~PageBuffer() {
  if (data_ != nullptr) munmap(data_, mappedBytes_);
}

PageBuffer::PageBuffer(PageBuffer&& other) noexcept { *this = std::move(other); }

PageBuffer& PageBuffer::operator=(PageBuffer&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  std::swap(mappedBytes_, other.mappedBytes_);
  return *this;
}

}  // namespace firn
