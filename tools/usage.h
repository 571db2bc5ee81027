// How the programs read their command line: what is wrong with it is said in the form of every other error, with what
// to do. CLI11 alone lets `--option=` and `--option` take the next option for their value, and words its refusals its
// own way.
#pragma once

#include <optional>

#include <CLI/CLI.hpp>

namespace firn::tools {

/// Reads the arguments behind argv[0] into `app`. nullopt: go on. Otherwise the exit code to end with: help or the
/// version was printed, or the command line was refused, which standard error says as "NAME: invalid_argument: what
/// was found and expected. NAME COMMAND --help lists what it takes".
std::optional<int> readCommandLine(CLI::App& app, int argc, char** argv);

}  // namespace firn::tools
