#include "base/allocation_counter_for_test.h"

#include <atomic>
#include <cerrno>
#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FIRN_SANITIZED_MALLOC
#endif
#endif

namespace {

std::atomic<uint64_t> allocations{0};
std::atomic<uint64_t> allBytes{0};

void count(size_t bytes) {
  ++allocations;
  allBytes += bytes;
}

}  // namespace

#if defined(FIRN_SANITIZED_MALLOC)
// Sanitizers bring their own malloc, which calls this for every block (sanitizer/allocator_interface.h).
extern "C" void __sanitizer_malloc_hook(const volatile void* /*memory*/, size_t bytes) { count(bytes); }
#else
// operator new comes here too.
extern "C" {
void* libcMalloc(size_t bytes) __asm__("__libc_malloc");
void* libcCalloc(size_t count, size_t bytes) __asm__("__libc_calloc");
void* libcRealloc(void* memory, size_t bytes) __asm__("__libc_realloc");
void* libcMemalign(size_t alignment, size_t bytes) __asm__("__libc_memalign");
void* malloc(size_t bytes) {
  count(bytes);
  return libcMalloc(bytes);
}
void* calloc(size_t elements, size_t bytes) {
  count(elements * bytes);
  return libcCalloc(elements, bytes);
}
void* realloc(void* memory, size_t bytes) {
  count(bytes);
  return libcRealloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  count(bytes);
  return libcMemalign(alignment, bytes);
}
int posix_memalign(void** memory, size_t alignment, size_t bytes) {
  count(bytes);
  *memory = libcMemalign(alignment, bytes);
  return *memory == nullptr ? ENOMEM : 0;
}
}
#endif

namespace firn {

uint64_t allocationCount() { return allocations; }
uint64_t allocatedBytes() { return allBytes; }

}  // namespace firn
