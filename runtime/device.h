// The device boundary: everything the engine may ask of a device, in 12 calls. A device runs static programs; it
// decides nothing about what to run.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "blob/layout.h"
#include "blob/reader.h"
#include "runtime/simulated_time.h"

namespace firn::runtime {

/// What a device is. Strings live as long as the device.
struct DeviceInfo {
  std::string name;            ///< "cpu", "npu", "reference", "null"
  std::string instructionSet;  ///< "avx512", "avx2", "portable", or empty
  blob::Target target{};       ///< entries it runs
  uint32_t maxThreads = 1;     ///< threads this process may use
};

enum class BufferId : uint32_t {};
enum class ProgramId : uint32_t {};

/// A symbol of an entry tied to memory: `bytes` from `offsetBytes` of `buffer`.
struct SymbolBinding {
  BufferId buffer{};
  uint64_t offsetBytes = 0;
  uint64_t bytes = 0;  ///< 0: unbound
};

/// All symbols of one entry, by SymbolKind.
using Bindings = std::array<SymbolBinding, blob::kSymbolKinds>;

struct LoadOptions {
  uint32_t threads = 0;  ///< 1..lanes; 0: as many as lanes, at most the CPUs of this process
};

/// Time of one task kind in the runs since the last profile().
struct ProfileRow {
  std::string name;  ///< "attn_q (cpu.linear_i8)"
  uint64_t count = 0;
  uint64_t nanoseconds = 0;  ///< summed over lanes; of a simulated device simulated ones, over queues
};

/// A device. One thread at a time may call it; different devices are independent. Buffers and programs belong to the
/// device and die with it. bind, submit and wait allocate nothing.
class Device {
 public:
  virtual ~Device() = default;

  virtual DeviceInfo query() const = 0;

  /// Memory the device can read and write: 64-byte aligned (2 MiB when that large), zeroed. resource_exhausted when
  /// refused. With `host` it is the caller's memory there, 64-byte aligned, which stays the caller's and must outlive
  /// the buffer: so devices share a cache.
  virtual Result<BufferId> alloc(uint64_t bytes, std::byte* host) = 0;
  Result<BufferId> alloc(uint64_t bytes) { return alloc(bytes, nullptr); }
  virtual Status free(BufferId buffer) = 0;
  /// The host's view of a buffer, valid until free. The host must not touch what a submitted entry uses before wait().
  virtual Result<std::span<std::byte>> map(BufferId buffer) = 0;

  /// Makes a program of a verified blob, which must stay alive and mapped until unload: of those of its entries that
  /// are for the device's target. Checks lanes and every task; takes the scratch. Weights are not touched; unsupported
  /// when the blob was made without and a run would read them.
  virtual Result<ProgramId> load(const blob::Blob& blob, const LoadOptions& options) = 0;
  virtual Status unload(ProgramId program) = 0;

  /// Ties all symbols of entry `entry` (index into the blob's entries) to memory, until the next bind of that entry.
  /// Refuses a missing symbol, a range outside its buffer, a wrong size, an entry for another target. The caches of a
  /// batch are distinct; those of rows 1 and up may be left unbound, and then no submit may ask for the row.
  virtual Status bind(ProgramId program, uint32_t entry, const Bindings& bindings) = 0;
  /// Starts the entry with the values its inputs hold now. One entry may be in flight.
  /// out_of_range, before any work: valid not in 1..m, row0 + m > context (of a batch, row0 + 1 of a valid row), an id
  /// or position out of range. A device of fixed size computes all m rows: those of a chunk lie inside the context, so
  /// what each can see at most is known when the entry is compiled; those of a batch beyond the valid touch no cache.
  /// internal, of a simulation in kChecked: what it found, naming the tasks. It stops there: rows of the cache and
  /// outputs may have been written.
  virtual Status submit(ProgramId program, uint32_t entry) = 0;
  /// Waits for the entry in flight; its outputs are then readable.
  virtual Status wait() = 0;

  /// What ran since the last call, costliest first. The first call turns measuring on.
  virtual std::vector<ProfileRow> profile() = 0;
  /// Forgets all binds and whatever is in flight; buffers and programs stay.
  virtual Status reset() = 0;
  /// Stops the device's threads and frees everything. Any later call is unavailable.
  virtual Status close() = 0;
};

/// How a device is opened; the defaults are what a user wants.
struct DeviceOptions {
  std::string instructionSet = {};  ///< "avx512", "avx2" or "portable" (cpu, npu); empty: the best of this machine
  bool pinThreads = true;           ///< tie worker threads to CPUs where the process may use enough of them
  SimulationMode simulation = SimulationMode::kFunctional;  ///< npu; others compute in real time
  SimulatedTime* simulated = nullptr;  ///< npu: where each run adds its time, until the device is gone; null: nowhere
};

/// True when DeviceOptions::instructionSet means something to the device of that name.
bool hasInstructionSets(std::string_view device);

/// "cpu", "npu", "reference" or "null"; not_found names the known ones. unsupported when the machine lacks the
/// instruction set asked for, or the device has no choice of them.
Result<std::unique_ptr<Device>> openDevice(std::string_view name);
Result<std::unique_ptr<Device>> openDevice(std::string_view name, const DeviceOptions& options);

}  // namespace firn::runtime
