// What a new device has to write: which programs it takes, and how it runs one. Everything else that device.h promises
// (buffers, binds, checks, profiles, life cycle) is StaticDevice's, and the same for all.
// Not for devices with memory of their own, which implement Device.
#pragma once

#include <memory>

#include "base/status.h"
#include "runtime/device.h"
#include "runtime/input_check.h"
#include "runtime/loaded_program.h"
#include "runtime/profiler.h"

namespace firn::runtime {

/// Runs the entries of one loaded program. Destroyed before the program.
class Executor {
 public:
  virtual ~Executor() = default;

  /// Threads that write cells of a TaskClock.
  virtual uint32_t threads() const = 0;
  /// Runs the bound `entry` to its end, with inputs that were checked. Allocates nothing. `clock` null: no measuring.
  /// internal: a fault of the program that only a run shows (of devices that look for such).
  virtual Status run(const LoadedProgram& program, const Entry& entry, const RunValues& values, TaskClock* clock) = 0;
};

/// A kind of device.
class Backend {
 public:
  virtual ~Backend() = default;

  virtual DeviceInfo info() const = 0;
  /// How tasks become code; nullptr: this device runs none.
  virtual const TaskTable* taskTable() const = 0;
  /// Whether a run reads weights: a blob without them is refused then.
  virtual bool readsWeights() const { return taskTable() != nullptr; }
  /// The executor for a program of this blob. version_mismatch: wrong target, lanes or arithmetic, both named;
  /// invalid_argument: threads that the program cannot use.
  virtual Result<std::unique_ptr<Executor>> admit(const blob::Blob& blob, const LoadOptions& options) = 0;
};

/// version_mismatch, naming both, unless the blob has entries for `target`. For admit().
Status checkTarget(const blob::Blob& blob, blob::Target target, std::string_view device);

}  // namespace firn::runtime
