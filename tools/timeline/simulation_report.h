// What firn simulate says: each time beside its limit, where the engines' time went, for people and as JSON.
#pragma once

#include <span>
#include <string>

#include <nlohmann/json.hpp>

#include "engine/simulation.h"

namespace firn::tools {

/// One length, simulated.
struct SimulatedLength {
  uint32_t context = 0;  ///< of a sweep
  engine::Simulation simulation;
  double hostSeconds = 0;  ///< that the simulation took here
};

/// Where a report is about more than its numbers.
struct SimulatedSubject {
  const machine::Machine& machine;
  const blob::Blob& blob;
};

/// Keys ttft_ms, tpot_ms, prefill_tok_s, decode_tok_s, bound_ttft_ms, bound_tpot_ms, busy {dpu, shave, dma},
/// mac_utilization, ddr_bytes, cycles, host_s, and what was simulated. What no step can tell is null without steps.
nlohmann::ordered_json simulationJson(const SimulatedLength& length, const SimulatedSubject& subject);

std::string simulationText(const SimulatedLength& length, const SimulatedSubject& subject);
/// A table with a line for each.
std::string sweepText(std::span<const SimulatedLength> lengths, const SimulatedSubject& subject);

}  // namespace firn::tools
