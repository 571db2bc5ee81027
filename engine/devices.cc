#include "engine/devices.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/concat.h"
#include "base/quote.h"
#include "blob/machine/machine.h"
#include "blob/machine_memory.h"
#include "blob/names.h"

namespace firn::engine {

Result<Devices> Devices::open(const blob::Blob& blob, const DevicesOptions& options) {
  Devices devices;
  devices.blob_ = &blob;
  devices.isNamed_ = !options.device.empty();
  const std::vector<blob::Target> targets = blob.targets();
  if (devices.isNamed_) {
    FIRN_RETURN_IF_ERROR(devices.load(options.device, targets.front(), options));
    const blob::Target runs = devices.first().query().target;
    // "null" runs the entries of every target, and a blob of one target was checked by load.
    if (targets.size() > 1 && options.device == blob::targetName(runs)) {
      const blob::Target other = targets[0] == runs ? targets[1] : targets[0];
      return versionMismatch(concat(blob.path(), ": has entries for target ", blob::targetName(other), ", device ",
                                    options.device, " runs ", blob::targetName(runs),
                                    "; name no device, or compile the model again"));
    }
    return devices;
  }
  // Where no device has a choice of sets, the first one refuses it.
  const bool someHasSets =
      std::ranges::any_of(targets, [](auto target) { return runtime::hasInstructionSets(blob::targetName(target)); });
  for (const blob::Target target : targets) {
    DevicesOptions own = options;
    if (someHasSets && !runtime::hasInstructionSets(blob::targetName(target))) own.deviceOptions.instructionSet = {};
    FIRN_RETURN_IF_ERROR(devices.load(std::string(blob::targetName(target)), target, own));
  }
  return devices;
}

Status Devices::load(const std::string& name, blob::Target target, const DevicesOptions& options) {
  Loaded loaded;
  loaded.target = target;
  FIRN_ASSIGN_OR_RETURN(loaded.device, runtime::openDevice(name, options.deviceOptions));
  uint32_t threads = options.threads;
  // One number for all: a device that has one thread only takes that. A cpu has as many as it is asked for.
  const runtime::DeviceInfo info = loaded.device->query();
  if (info.target != blob::Target::kCpu && info.maxThreads == 1) threads = std::min(threads, 1U);
  if (info.target == blob::Target::kNpu) {
    FIRN_ASSIGN_OR_RETURN(const machine::Machine machine, machine::parseMachine(blob_->machine(), blob_->path()));
    FIRN_RETURN_IF_ERROR(blob::checkMachineMemory(blob_->header(), machine).withPlace(printablePath(blob_->path())));
  }
  FIRN_ASSIGN_OR_RETURN(loaded.program, loaded.device->load(*blob_, {.threads = threads}));
  // What LoadOptions promises.
  loaded.threads = threads != 0 ? threads : std::min(blob_->ident().lanes, info.maxThreads);
  loaded_.push_back(std::move(loaded));
  return Status::ok();
}

Devices& Devices::operator=(Devices&& other) noexcept {
  close();
  blob_ = other.blob_;
  isNamed_ = other.isNamed_;
  loaded_ = std::move(other.loaded_);
  return *this;
}

Devices::~Devices() { close(); }

void Devices::close() {
  // Nothing can be done about a failure here: a device frees everything it has. The first one owns the memory.
  for (auto loaded = loaded_.rbegin(); loaded != loaded_.rend(); ++loaded) {
    static_cast<void>(loaded->device->close());
  }
  loaded_.clear();
}

Result<runtime::BufferId> Devices::alloc(uint64_t bytes) {
  FIRN_ASSIGN_OR_RETURN(const runtime::BufferId buffer, first().alloc(bytes));
  FIRN_ASSIGN_OR_RETURN(const std::span<std::byte> memory, first().map(buffer));
  for (Loaded& loaded : std::span(loaded_).subspan(1)) {
    const Result<runtime::BufferId> shared = loaded.device->alloc(bytes, memory.data());
    if (!shared) {
      free(buffer);
      return shared.status();
    }
    loaded.buffers.push_back({.first = buffer, .own = *shared});
  }
  return buffer;
}

void Devices::free(runtime::BufferId buffer) {
  for (Loaded& loaded : std::span(loaded_).subspan(1)) {
    const auto shared = std::ranges::find(loaded.buffers, buffer, &SharedBuffer::first);
    if (shared == loaded.buffers.end()) continue;
    static_cast<void>(loaded.device->free(shared->own));
    loaded.buffers.erase(shared);
  }
  // A device that fails to free has been closed, and then it has freed everything.
  static_cast<void>(first().free(buffer));
}

uint32_t Devices::threads() const { return std::ranges::max_element(loaded_, {}, &Loaded::threads)->threads; }

std::vector<runtime::ProfileRow> Devices::profile() {
  std::vector<runtime::ProfileRow> rows;
  for (Loaded& loaded : loaded_) std::ranges::move(loaded.device->profile(), std::back_inserter(rows));
  std::ranges::sort(rows, std::greater(),
                    [](const runtime::ProfileRow& row) { return std::pair(row.nanoseconds, row.name); });
  return rows;
}

Devices::Loaded& Devices::loadedFor(blob::Target target) {
  const auto loaded = std::ranges::find(loaded_, target, &Loaded::target);
  return isNamed_ || loaded == loaded_.end() ? loaded_.front() : *loaded;
}

Status Devices::run(uint32_t entry, const runtime::Bindings& bindings) {
  const uint32_t parts = blob_->entries()[entry].parts;
  for (uint32_t part = entry; part < entry + parts; ++part) {
    Loaded& loaded = loadedFor(blob_->entries()[part].target);
    runtime::Bindings own = bindings;
    for (runtime::SymbolBinding& binding : own) {
      const auto shared = std::ranges::find(loaded.buffers, binding.buffer, &SharedBuffer::first);
      if (shared != loaded.buffers.end()) binding.buffer = shared->own;
    }
    FIRN_RETURN_IF_ERROR(loaded.device->bind(loaded.program, part, own));
    FIRN_RETURN_IF_ERROR(loaded.device->submit(loaded.program, part));
    FIRN_RETURN_IF_ERROR(loaded.device->wait());
  }
  return Status::ok();
}

}  // namespace firn::engine
