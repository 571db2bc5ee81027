#include <gtest/gtest.h>

#include <cstdlib>

#include "base/allocation_counter_for_test.h"

namespace firn {
namespace {

#if defined(__has_feature) && __has_feature(thread_sanitizer)
constexpr uint64_t kAligned = 0;  // its hook is not told of aligned_alloc
#else
constexpr uint64_t kAligned = 1;
#endif

TEST(AllocationCounterTest, Counts) {
  const uint64_t before = allocationCount();
  const uint64_t bytesBefore = allocatedBytes();
  auto* volatile byNew = new int[100];  // volatile: the compiler may otherwise leave them out
  EXPECT_EQ(allocationCount(), before + 1);
  void* volatile byMalloc = std::malloc(100);
  EXPECT_EQ(allocationCount(), before + 2);
  void* volatile aligned = std::aligned_alloc(64, 128);
  EXPECT_EQ(allocationCount(), before + 2 + kAligned);
  EXPECT_EQ(allocatedBytes(), bytesBefore + 100 * sizeof(int) + 100 + 128 * kAligned);
  delete[] byNew;
  std::free(byMalloc);
  std::free(aligned);
}

}  // namespace
}  // namespace firn
