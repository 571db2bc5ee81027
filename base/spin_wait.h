// How a thread waits for a word of memory to change: it spins, then yields, then sleeps in the kernel.
// Not a lock, and not a queue: the word has one writer.
#pragma once

#include <atomic>
#include <cstdint>

namespace firn {

/// How long to try before sleeping. A pause takes 10 to 40 ns, a yield about 300 ns when nothing else wants the CPU.
struct SpinPolicy {
  uint32_t pauses = 4000;
  uint32_t yields = 100;

  /// For more threads than CPUs: whoever we wait for may need this CPU, so never spin.
  static SpinPolicy oversubscribed() { return {.pauses = 0, .yields = 8}; }
};

/// A counter that its one writer only ever raises (wrapping) and that others wait for. On a cache line of its own.
class alignas(128) WaitWord {
 public:
  /// Raises the value by one and wakes whoever sleeps on it; what the writer did before is visible to them.
  void raise();

  /// Returns when the counter has reached `target` (counting with wrap-around).
  void waitFor(uint32_t target, const SpinPolicy& policy);

  uint32_t value() const { return value_.load(std::memory_order_acquire); }

 private:
  bool reached(uint32_t target) const { return static_cast<int32_t>(value() - target) >= 0; }

  std::atomic<uint32_t> value_{0};
  std::atomic<uint32_t> sleepers_{0};
};

}  // namespace firn
