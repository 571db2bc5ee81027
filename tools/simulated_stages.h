// What the times of a stage are that runs on a simulated device, as npu: host time, which says nothing of the machine.
#pragma once

#include <string>

#include "blob/reader.h"

namespace firn::tools {

/// The stages of a run that have a part on a simulated device.
struct SimulatedStages {
  bool prefill = false;  ///< a chunk, or the head behind the last
  bool decode = false;   ///< a step, its head within
};

SimulatedStages simulatedStages(const blob::Blob& blob);

/// "host time of the simulation"; with "prefill: " or "decode: " in front where only that stage is simulated; empty
/// where none is.
std::string simulatedTimesText(const SimulatedStages& stages);

}  // namespace firn::tools
