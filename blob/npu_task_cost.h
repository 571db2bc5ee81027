// What a task of the npu asks of the machine, from its record. The formulas are those of blob/machine/cost.h.
#pragma once

#include <cstdint>
#include <span>

#include "blob/layout.h"
#include "blob/machine/cost.h"
#include "blob/task_op.h"

namespace firn::blob {

/// The work of a task that obeys verify/npu_task_verify.h. Multicast reads its bytes once. An embed reads its rows of
/// the table straight from DDR, after the latency of a copy, at the rate of one DMA engine that has the memory for
/// itself: its ddrBytes are counted, but share no bandwidth.
machine::Work npuTaskWork(const machine::Machine& machine, TaskOp op, std::span<const OperandRecord> operands,
                          std::span<const uint64_t> attrs);

/// Multiply-adds of a task of the DPU; 0 for others.
uint64_t npuTaskMacs(TaskOp op, std::span<const OperandRecord> operands);

/// Elements that a kernel of SHAVE works through (docs/npu.md has the list); 0 for other tasks.
uint64_t npuTaskElements(TaskOp op, std::span<const OperandRecord> operands);

/// Bytes that a task of the DPU or a DMA reads from CMX and writes to it, in each tile that it reaches: for energy.
/// What a DMA moves, whatever the number of ends, is its Work. 0 for SHAVE, where each element stands for its accesses.
uint64_t npuTaskCmxBytes(const machine::Machine& machine, TaskOp op, std::span<const OperandRecord> operands,
                         std::span<const uint64_t> attrs);

}  // namespace firn::blob
