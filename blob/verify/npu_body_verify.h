// The rules of what only programs for the npu have: the machine file, and bodies that are queues.
// Not here: their tasks, one by one (npu_task_verify.h).
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "blob/layout.h"
#include "blob/machine/machine.h"
#include "blob/program_view.h"
#include "blob/verify/task_op_verify.h"

namespace firn::blob {

/// The machine of the entries for the npu, from the text of its section; nullopt when there are none, and no text.
/// corrupt names the section, unsupported a machine that the npu target cannot do with.
Result<std::optional<machine::Machine>> verifyMachine(const ProgramView& program, const Ident& ident,
                                                      std::string_view text);

/// What all bodies for the npu are checked against.
struct NpuProgram {
  const ProgramView& program;
  const machine::Machine& machine;
  uint32_t lanes = 0;  ///< of the note
};

/// A body for the npu: a segment for each queue of the machine, with all its tasks in lane 0. Adds what they need to
/// `needs`.
Status verifyNpuBody(const NpuProgram& npu, const BodyRecord& body, BodyNeeds& needs);

}  // namespace firn::blob
