// What every subcommand of firn shares: how it is registered, how it ends, and how it says that something failed.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string>

#include <CLI/CLI.hpp>

#include "base/status.h"

namespace firn::tools {

/// Exit codes of the programs.
inline constexpr int kExitOk = 0;
inline constexpr int kExitError = 1;
inline constexpr int kExitUsage = 2;
inline constexpr int kExitOfSignal = 128;  ///< + the number of the signal that interrupted: as shells say it

/// argv[0] of firn-compile when `firn compile` has become it.
inline constexpr const char* kCompileCommand = "firn compile";

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
void addProfileCommand(CLI::App& app, Action& action);
void addSimulateCommand(CLI::App& app, Action& action);

/// Says for program `name` that memory has run out, taking none; the exit code of it.
int outOfMemory(const char* name);

/// The exit code of a failure: 2 for invalid_argument, that of the signal (SIGINT unless another one came) for
/// cancelled, else 1.
int exitCode(const Status& status);

/// The signals that interrupt a program.
inline constexpr int kInterrupts[] = {SIGINT, SIGTERM, SIGHUP};

/// One of them, as it has come.
struct Interrupt {
  int64_t ms = 0;      ///< of a clock that does not jump
  int64_t sender = 0;  ///< a process; 0: the terminal, or the kernel
};

/// Whether `signal`, which has come as `later`, is no second interrupt behind `first`:
///   - what one sender sends twice within 30 ms is one: `timeout` signals the process and its group;
///   - what two senders send within 250 ms is one: a Ctrl-C reaches firn-compile from the terminal and from firn;
///   - so is a SIGHUP within 250 ms, whoever sends it: of a closed terminal both its end and its shell's come from the
///     kernel.
bool isRepeat(int signal, const Interrupt& first, const Interrupt& later);

/// Set by them once catchInterrupts() has run: work ends at its next chunk, step or phase. A second signal ends the
/// process at once; isRepeat says what is none. What the parent ignores (nohup) is ignored.
const std::atomic<bool>& interrupted();
/// Says that `signal` has ended what this process waits for, for the exit code of cancelled.
void interruptedBy(int signal);
void catchInterrupts();

/// Holds these signals back while it lives, so that none is lost between a look at interrupted() and a wait. Who waits
/// lets them through with the mask `before`, as in ppoll.
class HeldInterrupts {
 public:
  HeldInterrupts();
  ~HeldInterrupts();
  HeldInterrupts(const HeldInterrupts&) = delete;
  HeldInterrupts& operator=(const HeldInterrupts&) = delete;

  const sigset_t& before() const { return before_; }

 private:
  sigset_t before_{};
};

}  // namespace firn::tools
