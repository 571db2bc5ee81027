#include "tools/bandwidth_probe.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <memory>
#include <thread>
#include <vector>

#include <sys/mman.h>

#include "base/memory_read.h"

namespace firn::tools {
namespace {

constexpr size_t kBytes = 256U << 20;
constexpr int kPasses = 8;

}  // namespace

double measureReadBandwidth(uint32_t threads) {
  void* memory = mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  madvise(memory, kBytes, MADV_HUGEPAGE);
  std::memset(memory, 1, kBytes);
  const size_t part = kBytes / threads / sizeof(uint64_t);
  std::atomic<uint64_t> sink{0};
  double best = 0;
  for (int pass = 0; pass < kPasses; ++pass) {
    const auto start = std::chrono::steady_clock::now();
    const auto read = [&](uint32_t thread) {
      sink ^= readMemory(static_cast<const uint64_t*>(memory) + thread * part, part);
    };
    std::vector<std::jthread> workers;
    for (uint32_t thread = 1; thread < threads; ++thread) workers.emplace_back(read, thread);
    read(0);
    workers.clear();
    const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
    best = std::max(best, static_cast<double>(kBytes) / seconds.count());
  }
  munmap(memory, kBytes);
  return best;
}

}  // namespace firn::tools
