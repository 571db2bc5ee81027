// The shape rules of every task op: which operands, of which types, in which memory, with which dims.
// Not here: extents against the sizes of scratch, weights and symbols (program_verify.cc).
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/status.h"
#include "blob/layout.h"
#include "blob/task_op.h"

namespace firn::blob {

/// What a body asks of the entries that call it, gathered from its tasks.
struct BodyNeeds {
  uint32_t rows = 0;  ///< m of its tasks; 0 when no task has rows
  uint64_t scratchEnd = 0;
  std::array<uint64_t, kSymbolKinds> symbolEnd{};  ///< bytes from the start; 0: not used
  uint32_t symbolsUsed = 0;                        ///< bit per SymbolKind
  uint32_t symbolsWritten = 0;                     ///< bit per SymbolKind
  uint64_t rowsEnd = 0;                            ///< npu: rows of the entry that are written to the cache
  bool usesKv = false;
};

/// What is known of the model when a task is checked.
struct TaskContext {
  const ProgramHeader& header;
  Target target;
};

/// Checks one task and adds what it needs to `needs`. The message names operand or attribute, found and expected; the
/// caller adds which task. Allocates only to say what is wrong.
Status verifyTask(const TaskContext& context, TaskOp op, std::span<const OperandRecord> operands,
                  std::span<const uint64_t> attrs, BodyNeeds& needs);

}  // namespace firn::blob
