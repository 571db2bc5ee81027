// Plans to schedule in tests: like those of a decode step and of a prefill, and random ones.
#pragma once

#include <cstdint>

#include "compiler/target/npu/plan.h"

namespace firn::target {

/// Six tiles of 1440 KiB, two DMA engines of 62 GB/s, DDR of 68 GB/s with a latency of 300 ns, 64 barriers.
machine::Machine sixTileMachine();

/// One or more tiles of 8 KiB for plans of small buffers.
machine::Machine smallMachine(uint32_t tiles);

struct DecodeShape {
  uint32_t weightTiles = 200;  ///< loads of 128 KiB, dealt out to the tiles in turn
  uint32_t chainEvery = 40;    ///< so many make a vector, which the next so many read
};
/// A decode step: each weight tile is loaded with its scales, multiplied on DPU and accumulated on SHAVE; the results
/// of a link of the chain are gathered in DDR by one task a tile, sent to all tiles and normed there.
Plan decodePlan(const machine::Machine& machine, const DecodeShape& shape);

/// A prefill: each of `steps` multicasts a weight tile, which SHAVE expands and DPU multiplies with the rows of its
/// tile; the results go to DDR, and the next op reads them back.
Plan prefillPlan(const machine::Machine& machine, uint32_t steps);

struct RandomShape {
  uint32_t seed = 0;
  uint32_t tasks = 0;
  uint32_t liveBuffers = 8;  ///< that tasks read, at most
  bool hasMixedStrides = true;
};
/// A plan of small buffers in all kinds of memory, written whole or by rectangles, changed in place and read in parts.
/// It reads no byte that was not written.
Plan randomPlan(const machine::Machine& machine, const RandomShape& shape);

}  // namespace firn::target
