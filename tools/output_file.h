// Files that a command writes when its work is done: whether it can is known before the work begins.
#pragma once

#include <string>

#include "base/status.h"

namespace firn::tools {

/// Whether a file could be made at `path`, the value of `option`: ok, or why not and what to do. Makes and removes a
/// temporary file beside it (beside its target, when it is a symbolic link), and removes those that killed writers left
/// there.
Status checkOutput(const std::string& path, const std::string& option);

/// Removes the temporary files of base/atomic_file.h in `folder` that nobody writes any more.
void removeAbandonedTemporaries(const std::string& folder);

}  // namespace firn::tools
