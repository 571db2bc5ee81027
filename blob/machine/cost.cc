#include "blob/machine/cost.h"

#include <algorithm>
#include <cassert>

namespace firn::machine {
namespace {

// Everything is computed in 128 bits. With 32-bit dims the cycles of a matmul stay below 2^101, and 10^6 times that
// below 2^121. Bytes are cut to 2^80, which no machine moves in kMostPicoseconds: 10^6 x MHz (2^14) times that stays
// below 2^114. __extension__: the type is not ISO C++.
__extension__ using Wide = unsigned __int128;

/// A cycle at f MHz lasts 10^6 / f picoseconds.
constexpr uint64_t kPicosecondsPerMicrosecond = 1'000'000;

Wide ceilDiv(Wide a, Wide b) { return (a + b - 1) / b; }

uint64_t cut(Wide value, uint64_t most) { return value > most ? most : static_cast<uint64_t>(value); }

/// Cycles of the MACs. A grid of rows x channels x depth MACs works on one block of the iteration space [m, n, k] per
/// cycle, and a block that is not full takes as long as a full one, so
///   ceil(m / rows) * ceil(n / channels) * groups * ceil(k / groups / depth);
/// sums of different groups are never in one block. The best grid is taken: a task names one. Source: the theoretical
/// cycles of VPUNN, the public cost model of such units (DPUTheoreticalCycles: MACs over MACs per cycle, the dims
/// rounded up to the grid), which also gives the factor of fp16 activations, whatever the weights: a MAC of 16 bits
/// takes the room of two of 8, and weights are widened on the way in.
Wide macCycles(const Machine& machine, const Matmul& matmul) {
  Wide best = 0;
  for (const Grid& grid : machine.grids) {
    const Wide cycles = ceilDiv(matmul.m, grid.rows) * ceilDiv(matmul.n, grid.channels) * matmul.groups *
                        ceilDiv(matmul.k / matmul.groups, grid.depth);
    if (best == 0 || cycles < best) best = cycles;
  }
  return best * machine.fp16Factor;
}

/// Bytes between CMX and DPU: activations and weights once each, what is written, and what is read to be added to.
/// Rereads are not counted: the grids' modes trade them against each other, and the published figures hold without.
Wide matmulCmxBytes(const Matmul& matmul) {
  const Wide activations = Wide{matmul.m} * matmul.k * 2;
  const Wide weights = ceilDiv(Wide{matmul.n} * matmul.k * matmul.weightBits, 8);
  const Wide out = Wide{matmul.m} * matmul.n * matmul.groups * matmul.outBytes;
  return std::min(activations + weights + (matmul.accumulates ? 2 * out : out), Wide{1} << 80);
}

const KernelCost& costOf(const Machine& machine, std::string_view kernel) {
  const auto* found = std::ranges::find(kShaveKernels, kernel);
  assert(found != kShaveKernels.end());
  return machine.kernels[static_cast<size_t>(found - kShaveKernels.begin())];
}

}  // namespace

// Time = start-up + the larger of MACs and CMX traffic, since the reads run beside the MACs (double buffered in the
// DPU). The first two are in DPU cycles, the traffic in CMX cycles; VPUNN likewise takes the maximum of the two.
//   macs:    (start + cycles) / dpu MHz
//   traffic: start / dpu MHz + bytes / (bytes per cycle * cmx MHz)
Work dpuWork(const Machine& machine, const Matmul& matmul) {
  assert(matmul.groups > 0 && matmul.k % matmul.groups == 0);
  const Wide bytes = matmulCmxBytes(matmul);
  const Wide macs =
      ceilDiv((machine.dpuStartCycles + macCycles(machine, matmul)) * kPicosecondsPerMicrosecond, machine.dpuMhz);
  const Wide cmxRate = Wide{machine.cmxReadBytesPerCycle} * machine.shaveMhz;
  const Wide traffic = ceilDiv((machine.dpuStartCycles * cmxRate + bytes * machine.dpuMhz) * kPicosecondsPerMicrosecond,
                               cmxRate * machine.dpuMhz);
  return {.fixedPicoseconds = cut(std::max(macs, traffic), kMostPicoseconds),
          .ddrBytes = 0,
          .cmxBytes = cut(bytes, UINT64_MAX)};
}

// cycles = start + elements * max(memory, ops) / lanes / efficiency.
// The cost line counts instructions for 32 elements on 32 lanes, so one element on one lane takes max(memory, ops)
// cycles; loads and arithmetic are issued in the same cycle, hence the maximum. `lanes` are those of all SHAVEs of the
// tile. Efficiency covers what is not counted: loop ends, addresses, stalls; start-up is the call of the kernel.
// In terms of one fraction, with d = lanes * efficiency in percent: (start * d + elements * max * 100) / d.
Work shaveWork(const Machine& machine, std::string_view kernel, uint64_t elements) {
  const KernelCost& cost = costOf(machine, kernel);
  const Wide divisor = Wide{machine.shavesPerTile} * machine.shaveLanes * machine.shaveEfficiencyPercent;
  const Wide cycles = machine.shaveStartCycles * divisor + Wide{elements} * std::max(cost.memory, cost.ops) * 100;
  return {.fixedPicoseconds =
              cut(ceilDiv(cycles * kPicosecondsPerMicrosecond, divisor * machine.shaveMhz), kMostPicoseconds),
          .ddrBytes = 0,
          .cmxBytes = 0};
}

// Latency of the slower end, then the bytes at the smaller of the engine's rate and its share of DDR (timeline.cc).
// Source: VPUNN, which gives the latency to DDR in ns and to CMX in cycles of its clock.
Work dmaWork(const Machine& machine, uint64_t bytes, bool touchesDdr) {
  const Wide latency = touchesDdr
                           ? Wide{machine.dmaDdrLatencyNs} * 1000
                           : ceilDiv(Wide{machine.dmaCmxLatencyCycles} * kPicosecondsPerMicrosecond, machine.shaveMhz);
  return {.fixedPicoseconds = cut(latency, kMostPicoseconds), .ddrBytes = touchesDdr ? bytes : 0, .cmxBytes = bytes};
}

// bytes per cycle * cycles per microsecond.
uint64_t engineBytesPerMicrosecond(const Machine& machine) {
  return uint64_t{machine.dmaBytesPerCycle} * machine.shaveMhz;
}

uint64_t transferPicoseconds(uint64_t bytes, uint64_t bytesPerMicrosecond) {
  return cut(ceilDiv(Wide{bytes} * kPicosecondsPerMicrosecond, bytesPerMicrosecond), kMostPicoseconds);
}

}  // namespace firn::machine
