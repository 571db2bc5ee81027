// What tasks cost on a machine: every formula of the npu target, and nothing else knows one. Times are whole
// picoseconds, computed exactly and rounded up once. docs/npu.md says the same in words. Not here: when tasks run
// (timeline.h).
#pragma once

#include <cstdint>
#include <string_view>

#include "blob/machine/machine.h"

namespace firn::machine {

/// No single task is given more than this, about 26 days: longer ones are cut to it, and the sum of two still fits.
inline constexpr uint64_t kMostPicoseconds = uint64_t{1} << 61;

/// What a task asks of the machine.
struct Work {
  uint64_t fixedPicoseconds = 0;  ///< DPU, SHAVE: all its time. DMA: the latency, in which it uses no bandwidth
  uint64_t ddrBytes = 0;          ///< read from or written to DDR. A DMA that has some moves these after its latency
  uint64_t cmxBytes = 0;          ///< DPU: read from or written to CMX. DMA: all it moves; without ddrBytes, within CMX
};

/// a f16[m,k] times w[n,k] (transposed), into groups x [m,n].
struct Matmul {
  uint32_t m = 0;
  uint32_t n = 0;
  uint32_t k = 0;
  uint32_t weightBits = 16;  ///< of one weight in CMX: 4, 8 or 16
  uint32_t groups = 1;       ///< parts of k that are summed apart; k is a multiple of it
  uint32_t outBytes = 4;     ///< of one number of the result: 2 or 4
  bool accumulates = false;  ///< the result is added to what stands there, which is read too
};

Work dpuWork(const Machine& machine, const Matmul& matmul);

/// All SHAVEs of a tile on `elements` elements of a kernel; docs/npu.md says what each kernel counts. `kernel` is one
/// of kShaveKernels. Bytes of CMX are not known here.
Work shaveWork(const Machine& machine, std::string_view kernel, uint64_t elements);

/// A copy of `bytes`, multicast or not. One from DDR to DDR passes the memory twice: it counts twice its bytes.
Work dmaWork(const Machine& machine, uint64_t bytes, bool touchesDdr);

/// What one DMA engine moves, bytes per microsecond (MB/s).
uint64_t engineBytesPerMicrosecond(const Machine& machine);

/// `bytes` at that many bytes per microsecond.
uint64_t transferPicoseconds(uint64_t bytes, uint64_t bytesPerMicrosecond);

}  // namespace firn::machine
