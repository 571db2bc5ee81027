// The rules of entries: their shape, symbols and calls, and whether what they give suffices for the bodies they call.
// Not here: how parts of an entry follow each other (part_verify.h).
#pragma once

#include <span>

#include "base/status.h"
#include "blob/program_view.h"
#include "blob/verify/task_op_verify.h"

namespace firn::blob {

/// What attentions read by way of a param of the cache.
struct ReadAs {
  bool keys = false;
  bool values = false;
};

/// `needs` has one for each body, `readAs` one for each param. corrupt names the entry and the call.
Status verifyEntries(const ProgramView& program, std::span<const BodyNeeds> needs, std::span<const ReadAs> readAs);

}  // namespace firn::blob
