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

namespace firn::tools {
namespace {

constexpr size_t kBytes = 256U << 20;
constexpr size_t kStreams = 4;
constexpr int kPasses = 8;

/// Reads `count` 64-bit words in kStreams streams; the sum keeps the reads from being optimized away.
uint64_t readAll(const uint64_t* words, size_t count) {
  const size_t part = count / kStreams;
  uint64_t sum[kStreams][8] = {};
  for (size_t i = 0; i + 8 <= part; i += 8) {
    for (size_t stream = 0; stream < kStreams; ++stream) {
      const uint64_t* line = words + stream * part + i;
      for (size_t j = 0; j < 8; ++j) sum[stream][j] ^= line[j];
    }
  }
  uint64_t total = 0;
  for (const auto& stream : sum) {
    for (const uint64_t value : stream) total ^= value;
  }
  return total;
}

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
      sink ^= readAll(static_cast<const uint64_t*>(memory) + thread * part, part);
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
