// What every subcommand of firn shares: how it is registered, how it ends, and how it says that something failed.
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/status.h"

namespace firn::tools {

/// Exit codes of the programs.
inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitInterrupted = 130;

/// What main() runs after the command line has been read.
using Action = std::function<Status()>;

// Each adds its subcommand to `app` and sets `action` when that subcommand is on the command line.
void addRunCommand(CLI::App& app, Action& action);
void addCompileCommand(CLI::App& app, Action& action);
void addInspectCommand(CLI::App& app, Action& action);
void addTokenizeCommand(CLI::App& app, Action& action);
void addBenchCommand(CLI::App& app, Action& action);
void addEvalCommand(CLI::App& app, Action& action);
void addCacheCommand(CLI::App& app, Action& action);

/// The exit code of a failure: 2 for invalid_argument, 130 for cancelled, else 1.
int exitCode(const Status& status);

/// Set by SIGINT, SIGTERM and SIGHUP once catchInterrupts() has run; a second signal ends the process at once.
const std::atomic<bool>& interrupted();
void catchInterrupts();

}  // namespace firn::tools
