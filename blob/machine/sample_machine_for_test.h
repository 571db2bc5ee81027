// A small machine with round figures for tests: a picosecond of it can be computed by hand.
#pragma once

#include <nlohmann/json.hpp>

#include "blob/machine/machine.h"

namespace firn::machine {

/// Two tiles, two DMA engines of 64 GB/s, DDR of 80 GB/s, 1 GHz everywhere: a cycle is 1000 ps.
inline nlohmann::json sampleMachineJson() {
  nlohmann::json kernels = nlohmann::json::object();
  for (const std::string_view kernel : kShaveKernels) kernels[std::string(kernel)] = {{"memory", 2}, {"ops", 1}};
  return {{"name", "sample"},
          {"source", "made up"},
          {"tiles", 2},
          {"clocks", {{"source", "made up"}, {"dpu_mhz", 1000}, {"shave_mhz", 1000}}},
          {"dpu",
           {{"source", "made up"},
            {"macs_per_cycle", 2048},
            {"grids", {{16, 16, 8}, {4, 64, 8}}},
            {"fp16_factor", 2},
            {"start_cycles", 10}}},
          {"shave",
           {{"source", "made up"},
            {"per_tile", 2},
            {"lanes", 32},
            {"start_cycles", 1000},
            {"efficiency_percent", 50},
            {"kernels", kernels}}},
          {"cmx", {{"source", "made up"}, {"bytes_per_tile", 1 << 20}, {"read_bytes_per_cycle", 256}}},
          {"dma",
           {{"source", "made up"},
            {"engines", 2},
            {"bytes_per_cycle", 64},
            {"ddr_latency_ns", 100},
            {"cmx_latency_cycles", 20}}},
          {"ddr", {{"source", "made up"}, {"megabytes_per_second", 80'000}, {"bytes", uint64_t{1} << 32}}},
          {"barriers", {{"source", "made up"}, {"count", 16}}},
          {"calls", {{"source", "made up"}, {"start_ns", 0}}}};
}

inline Machine sampleMachine() { return *parseMachine(sampleMachineJson().dump(), "sample"); }

}  // namespace firn::machine
