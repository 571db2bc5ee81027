// bind, submit and wait allocate nothing: this program counts every allocation it makes.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "runtime/cts/device_cases.h"

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FIRN_SANITIZED_MALLOC
#endif
#endif

namespace {

std::atomic<uint64_t> allocations{0};

}  // namespace

#if defined(FIRN_SANITIZED_MALLOC)
// Sanitizers bring their own malloc, which calls this for every block (sanitizer/allocator_interface.h).
extern "C" void __sanitizer_malloc_hook(const volatile void* /*memory*/, size_t /*bytes*/) { ++allocations; }
#else
// operator new comes here too.
extern "C" {
void* libcMalloc(size_t bytes) __asm__("__libc_malloc");
void* libcCalloc(size_t count, size_t bytes) __asm__("__libc_calloc");
void* libcRealloc(void* memory, size_t bytes) __asm__("__libc_realloc");
void* libcMemalign(size_t alignment, size_t bytes) __asm__("__libc_memalign");
void* malloc(size_t bytes) {
  ++allocations;
  return libcMalloc(bytes);
}
void* calloc(size_t count, size_t bytes) {
  ++allocations;
  return libcCalloc(count, bytes);
}
void* realloc(void* memory, size_t bytes) {
  ++allocations;
  return libcRealloc(memory, bytes);
}
void* aligned_alloc(size_t alignment, size_t bytes) {
  ++allocations;
  return libcMemalign(alignment, bytes);
}
}
#endif

namespace firn::runtime::cts {
namespace {

class AllocationTest : public DeviceTest {};

TEST_P(AllocationTest, TheCounterCounts) {
  const uint64_t before = allocations;
  void* volatile memory = std::malloc(1000);  // volatile: the compiler must not leave the pair out
  EXPECT_GT(allocations.load(), before);
  std::free(memory);
}

TEST_P(AllocationTest, BindSubmitAndWaitAllocateNothing) {
  std::unique_ptr<Rig> rig = Rig::open(GetParam());
  ASSERT_NE(rig, nullptr);
  Device& device = rig->device();
  rig->setInputs({.ids = someIds(1), .row0 = 0});
  for (const bool isMeasuring : {false, true}) {
    if (isMeasuring) device.profile();
    for (uint32_t entry = 0; entry < rig->blob().entries().size(); ++entry) {
      const Bindings bindings = rig->bindings(entry);
      const uint64_t before = allocations;
      bool isFine = true;
      for (int repeat = 0; repeat < 20; ++repeat) {
        isFine = isFine && device.bind(rig->program(), entry, bindings) && device.submit(rig->program(), entry) &&
                 device.wait();
      }
      const uint64_t after = allocations;
      EXPECT_TRUE(isFine);
      EXPECT_EQ(after, before) << rig->blob().string(rig->blob().entries()[entry].name);
    }
  }
}

FIRN_ON_EVERY_DEVICE(AllocationTest);

}  // namespace
}  // namespace firn::runtime::cts
