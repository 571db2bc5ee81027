// What one machine can do at most, measured in the same process as the kernels that are compared with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace firn::bench {

/// Memory for each thread, larger than the caches, touched once.
class ReadBuffer {
 public:
  ReadBuffer(size_t bytesPerThread, int threads);
  /// Reads all bytes of thread `t` once, as four streams.
  void read(int t) const;

 private:
  size_t words_;
  std::vector<std::unique_ptr<uint64_t[]>> data_;
};

/// A loop of independent int8 dot products in registers (VPDPBUSD where this machine has it, else VPMADDUBSW and
/// VPMADDWD, else plain C++), and how many multiplications and additions it does.
void runInt8Peak();
double int8PeakOperations();

}  // namespace firn::bench
