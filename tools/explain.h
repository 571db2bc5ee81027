// What `firn run --explain` prints: the plan of a prompt with its predicted times, and where the time went.
#pragma once

#include <string>

#include "engine/prefill_plan.h"
#include "engine/session.h"

namespace firn::tools {

/// "plan: 300 tokens in 3 steps, predicted 41.2 ms", then a line for each run of steps of one entry: entry, rows,
/// predicted time of all. Of a blob for several devices each names its own, and a line for each part what it runs.
std::string explainPlan(const engine::PrefillPlan& plan, const blob::Blob& blob);

/// Each stage measured, chunks beside their prediction, of a blob for several devices with their names, and the bytes
/// that went over the memory bus in all of them.
std::string explainTimes(const engine::StageTimes& times, const blob::Blob& blob);

}  // namespace firn::tools
