#include "base/spin_wait.h"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace firn {
namespace {

void pauseCpu() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void futex(std::atomic<uint32_t>& word, int operation, uint32_t value) {
  static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&word), operation, value, nullptr, nullptr, 0);
}

}  // namespace

void WaitWord::raise() {
  // Store then load, both sequentially consistent: a sleeper that this load misses has not yet compared the word in
  // the kernel, and will then find it changed.
  value_.fetch_add(1, std::memory_order_seq_cst);
  if (sleepers_.load(std::memory_order_seq_cst) != 0) futex(value_, FUTEX_WAKE_PRIVATE, INT_MAX);
}

void WaitWord::waitFor(uint32_t target, const SpinPolicy& policy) {
  for (uint32_t i = 0; i < policy.pauses; ++i) {
    if (reached(target)) return;
    pauseCpu();
  }
  for (uint32_t i = 0; i < policy.yields; ++i) {
    if (reached(target)) return;
    sched_yield();
  }
  sleepers_.fetch_add(1, std::memory_order_seq_cst);
  for (;;) {
    const uint32_t seen = value_.load(std::memory_order_seq_cst);
    if (static_cast<int32_t>(seen - target) >= 0) break;
    futex(value_, FUTEX_WAIT_PRIVATE, seen);
  }
  sleepers_.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace firn
