// What simulated devices report beside values: the time that the machine would have taken. The tasks behind it:
// runtime/devices/npu/entry_timeline.h. Not here: real time (profiler.h).
#pragma once

#include <array>
#include <cstdint>

namespace firn::runtime {

/// What a simulated device does in submit.
enum class SimulationMode : uint8_t {
  kFunctional,  ///< computes the values, and the time
  kTiming,      ///< only the time: outputs and the cache stay as they are, weights are not touched
  kChecked,     ///< as functional, and looks for races, reads of what nobody wrote, and accesses out of bounds
};

/// Picoseconds of all queues of one kind; busy + barrierWait + idle is the time times the queues.
struct EngineTime {
  uint64_t busy = 0;
  uint64_t barrierWait = 0;    ///< the next task waited for a barrier
  uint64_t idle = 0;           ///< no task was left, or a call was being started
  uint64_t bandwidthWait = 0;  ///< part of busy: transfers beyond what one engine alone would take
};

/// The kinds of queues, in the order of machine::Engine.
inline constexpr uint32_t kEngineKinds = 3;

/// The cost of a run, or of several.
struct SimulatedRun {
  uint64_t picoseconds = 0;
  uint64_t ddrBytes = 0;
  uint64_t macs = 0;
  std::array<EngineTime, kEngineKinds> engines{};  ///< DMA, DPU, SHAVE

  void add(const SimulatedRun& other) {
    picoseconds += other.picoseconds;
    ddrBytes += other.ddrBytes;
    macs += other.macs;
    for (uint32_t i = 0; i < kEngineKinds; ++i) {
      engines[i].busy += other.engines[i].busy;
      engines[i].barrierWait += other.engines[i].barrierWait;
      engines[i].idle += other.engines[i].idle;
      engines[i].bandwidthWait += other.engines[i].bandwidthWait;
    }
  }
};

/// Where a device adds up what its runs took, given to it when it is opened (DeviceOptions::simulated).
struct SimulatedTime {
  uint64_t runs = 0;
  SimulatedRun total;
  SimulatedRun last;  ///< of the last submit
};

}  // namespace firn::runtime
