// The devices of a model: one for each target that its blob has entries for, seen as one that runs whole entries.
// Memory is shared: what one writes the next reads in place, so a cache is one allocation and hidden rows go from part
// to part without a copy. Not here: what runs when (session.h).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "blob/reader.h"
#include "runtime/device.h"

namespace firn::engine {

struct DevicesOptions {
  /// Name for runtime::openDevice, to run everything; empty: those named like the blob's targets.
  std::string device = {};
  uint32_t threads = 0;  ///< 0: as many as lanes and CPUs allow; a device that has one thread only takes that
  runtime::DeviceOptions deviceOptions = {};  ///< each goes to every device that it means something to
};

/// One thread at a time.
class Devices {
 public:
  /// Opens the devices and loads the blob, which must outlive them. Errors: those of openDevice and load;
  /// version_mismatch when a device was named and an entry is for another target; resource_exhausted when device npu is
  /// a machine that has no memory for the program.
  static Result<Devices> open(const blob::Blob& blob, const DevicesOptions& options);
  Devices() = default;
  Devices(Devices&&) = default;
  Devices& operator=(Devices&&) noexcept;
  ~Devices();

  /// Memory that all devices see. Buffers go by the ids of the first device.
  Result<runtime::BufferId> alloc(uint64_t bytes);
  Result<std::span<std::byte>> map(runtime::BufferId buffer) { return first().map(buffer); }
  void free(runtime::BufferId buffer);

  /// Runs the entry whose first part is `entry` to its end: its parts in order, each on its device. Symbols that a part
  /// does not have are left aside. Allocates nothing. Errors: those of bind, submit and wait.
  Status run(uint32_t entry, const runtime::Bindings& bindings);

  /// What all devices ran since the last call, costliest first. The first call turns measuring on.
  std::vector<runtime::ProfileRow> profile();

  /// The device of the blob's own target.
  runtime::Device& first() { return *loaded_.front().device; }
  runtime::ProgramId program() const { return loaded_.front().program; }
  size_t count() const { return loaded_.size(); }
  /// Of the device that runs on the most.
  uint32_t threads() const;

 private:
  /// A buffer as the first device and another one know it.
  struct SharedBuffer {
    runtime::BufferId first{};
    runtime::BufferId own{};
  };
  struct Loaded {
    std::unique_ptr<runtime::Device> device;
    runtime::ProgramId program{};
    blob::Target target{};
    uint32_t threads = 0;
    std::vector<SharedBuffer> buffers;  ///< none on the first device
  };
  Status load(const std::string& name, blob::Target target, const DevicesOptions& options);
  Loaded& loadedFor(blob::Target target);
  void close();

  const blob::Blob* blob_ = nullptr;
  bool isNamed_ = false;  ///< one device runs the entries of every target
  std::vector<Loaded> loaded_;
};

}  // namespace firn::engine
