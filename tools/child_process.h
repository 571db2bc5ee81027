// Starts a program beside this one and waits for it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace firn::tools {

/// The path of program `name` in the folder of the running program; not_found names the path when there is none.
Result<std::string> siblingProgram(const std::string& name);

/// Replaces this process by `program` with `name` as its argv[0] and `arguments` behind it; returns only on failure.
Status replaceProcess(const std::string& program, const std::string& name, const std::vector<std::string>& arguments);

/// Runs `program` with `arguments`, standard output and error inherited. An interrupt of this process, whenever it
/// comes, ends it too, and so does the end of the calling thread, even by SIGKILL. Ok when it exits with 0; cancelled
/// when it was interrupted; resource_exhausted when it was killed, which is what a system short of memory does;
/// internal, with the signal's name, when another signal ended it; otherwise a failure that names the program and its
/// exit code, since it has said itself what was wrong.
Status runProcess(const std::string& program, const std::vector<std::string>& arguments);

}  // namespace firn::tools
