// Starts a program beside this one and waits for it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace firn::tools {

/// The path of program `name` in the folder of the running program; not_found names the path when there is none.
Result<std::string> siblingProgram(const std::string& name);

/// Replaces this process by `program` with `arguments` (argv[1..]); returns only on failure.
Status replaceProcess(const std::string& program, const std::vector<std::string>& arguments);

/// Runs `program` with `arguments`, standard output and error inherited. Ok when it exits with 0; cancelled when it was
/// interrupted; otherwise the code that its exit status stands for, without a message of its own: it has told already.
Status runProcess(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace firn::tools
