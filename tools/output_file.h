// Files that a command writes when its work is done: whether it can is known before the work begins.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace firn::tools {

/// The files that a command reads, which what it writes may not replace.
struct InputFiles {
  std::string model = {};                ///< a blob, or a GGUF with all its shards; empty: none
  std::string machine = {};              ///< of device npu: a name, which is no file, or a path; empty: none
  std::vector<std::string> others = {};  ///< of any kind
};

/// Whether a file could be made at `path`, the value of `option`: ok, or why not and what to do. Makes and removes a
/// temporary file beside it (beside its target, when it is a symbolic link), and removes those that killed writers left
/// there. invalid_argument when it is one of `inputs`, by whatever name or link; the errors of reading a model that is
/// none.
Status checkOutput(const std::string& path, const std::string& option, const InputFiles& inputs);

/// Removes the temporary files of base/atomic_file.h in `folder` that nobody writes any more.
void removeAbandonedTemporaries(const std::string& folder);

}  // namespace firn::tools
