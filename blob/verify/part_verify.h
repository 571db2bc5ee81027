// The rules of entries that are cut into parts, and of the targets that entries and bodies are for. Part of verifier.h.
#pragma once

#include <vector>

#include "base/status.h"
#include "blob/layout.h"
#include "blob/program_view.h"

namespace firn::blob {

/// Checks that the parts of each entry follow one another, all of them, and that no body is called for two targets.
/// Gives the target of each body. corrupt otherwise. The tables are checked already (table_verify.h).
Result<std::vector<Target>> verifyParts(const ProgramView& program, Target ownTarget);

}  // namespace firn::blob
