#include "runtime/static_device.h"

#include <new>
#include <string>
#include <utility>

#include "base/concat.h"
#include "blob/names.h"
#include "runtime/binding.h"
#include "runtime/floating_point.h"

namespace firn::runtime {
namespace {

Status unavailable(std::string message) { return {Code::kUnavailable, std::move(message)}; }

}  // namespace

StaticDevice::StaticDevice(std::unique_ptr<Backend> backend) : backend_(std::move(backend)), info_(backend_->info()) {}

StaticDevice::~StaticDevice() {
  programs_.clear();  // their executors may use threads of the backend
}

Status StaticDevice::checkOpen() const {
  return isOpen_ ? Status::ok() : unavailable("device " + info_.name + " is closed; open a new one");
}

Status StaticDevice::checkIdle(const char* call) const {
  FIRN_RETURN_IF_ERROR(checkOpen());
  if (!flight_) return Status::ok();
  return unavailable(std::string(call) + ": an entry is in flight on device " + info_.name + "; call wait() first");
}

Result<StaticDevice::Loaded*> StaticDevice::findProgram(ProgramId program) {
  const auto it = programs_.find(static_cast<uint32_t>(program));
  if (it != programs_.end()) return &it->second;
  return invalidArgument("program " + std::to_string(static_cast<uint32_t>(program)) + " is unknown or unloaded");
}

Result<Entry*> StaticDevice::findEntry(Loaded& loaded, uint32_t entry) {
  const std::span<Entry> entries = loaded.program->entries();
  if (entry < entries.size() && !entries[entry].isForeign) return &entries[entry];
  if (entry < entries.size()) {
    return invalidArgument(concat("entry ", entries[entry].name, " is for target ",
                                  blob::targetName(entries[entry].record->target), ", device ", info_.name, " runs ",
                                  blob::targetName(info_.target)));
  }
  return invalidArgument("entry " + std::to_string(entry) + " does not exist: the program has " +
                         std::to_string(entries.size()));
}

Result<BufferId> StaticDevice::alloc(uint64_t bytes, std::byte* host) {
  FIRN_RETURN_IF_ERROR(checkOpen());
  return buffers_.alloc(bytes, host);
}

Status StaticDevice::free(BufferId buffer) {
  FIRN_RETURN_IF_ERROR(checkIdle("free"));
  FIRN_RETURN_IF_ERROR(buffers_.free(buffer));
  for (auto& [id, loaded] : programs_) {
    for (Entry& entry : loaded.program->entries()) {
      for (const BoundSymbol& symbol : entry.symbols) {
        if (symbol.data != nullptr && symbol.buffer == buffer) entry.isBound = false;
      }
    }
  }
  return Status::ok();
}

Result<std::span<std::byte>> StaticDevice::map(BufferId buffer) {
  FIRN_RETURN_IF_ERROR(checkOpen());
  return buffers_.find(buffer);
}

std::unique_ptr<TaskClock> StaticDevice::makeClock(const Loaded& loaded) {
  return std::make_unique<TaskClock>(loaded.executor->threads(), loaded.program->profileNames().size());
}

Result<ProgramId> StaticDevice::load(const blob::Blob& blob, const LoadOptions& options) {
  FIRN_RETURN_IF_ERROR(checkIdle("load"));
  if (!blob.hasWeights() && backend_->readsWeights()) {
    return unsupported(blob.path() + ": the blob was compiled without its weights (--weights none), so device " +
                       info_.name +
                       " cannot run it; firn simulate can tell its times, and a compile without that "
                       "option makes a blob that runs");
  }
  Loaded loaded;
  try {
    FIRN_ASSIGN_OR_RETURN(loaded.executor, backend_->admit(blob, options));
    FIRN_ASSIGN_OR_RETURN(loaded.program, LoadedProgram::create(blob, backend_->taskTable(), info_.target));
    if (isMeasuring_) loaded.clock = makeClock(loaded);
  } catch (const std::bad_alloc&) {
    return resourceExhausted(blob.path() + ": no memory left to load its program; close other programs");
  }
  const uint32_t id = nextProgram_++;
  programs_.emplace(id, std::move(loaded));
  return ProgramId{id};
}

Status StaticDevice::unload(ProgramId program) {
  FIRN_RETURN_IF_ERROR(checkIdle("unload"));
  FIRN_ASSIGN_OR_RETURN(Loaded * loaded, findProgram(program));
  if (loaded->clock) loaded->clock->drain(loaded->program->profileNames(), unloadedTimes_);
  programs_.erase(static_cast<uint32_t>(program));
  return Status::ok();
}

Status StaticDevice::bind(ProgramId program, uint32_t entry, const Bindings& bindings) {
  FIRN_RETURN_IF_ERROR(checkIdle("bind"));
  FIRN_ASSIGN_OR_RETURN(Loaded * loaded, findProgram(program));
  FIRN_ASSIGN_OR_RETURN(Entry * found, findEntry(*loaded, entry));
  return bindEntry(*loaded->program, *found, buffers_, bindings);
}

Status StaticDevice::submit(ProgramId program, uint32_t entry) {
  FIRN_RETURN_IF_ERROR(checkIdle("submit"));
  FIRN_ASSIGN_OR_RETURN(Loaded * loaded, findProgram(program));
  FIRN_ASSIGN_OR_RETURN(Entry * found, findEntry(*loaded, entry));
  if (!found->isBound) {
    return invalidArgument("entry " + found->name + " is not bound to memory; call bind() first");
  }
  FIRN_ASSIGN_OR_RETURN(const RunValues values, checkInputs(*found, loaded->program->blob().header()));
  const DefaultFloatingPoint defaults;
  FIRN_RETURN_IF_ERROR(loaded->executor->run(*loaded->program, *found, values, loaded->clock.get()));
  flight_ = Flight{.program = program, .entry = entry};
  return Status::ok();
}

Status StaticDevice::wait() {
  FIRN_RETURN_IF_ERROR(checkOpen());
  if (!flight_) return invalidArgument("wait: nothing was submitted on device " + info_.name);
  flight_.reset();
  return Status::ok();
}

std::vector<ProfileRow> StaticDevice::profile() {
  if (!isOpen_) return {};
  isMeasuring_ = true;
  std::map<std::string, TaskClock::Cell> totals = std::exchange(unloadedTimes_, {});
  for (auto& [id, loaded] : programs_) {
    if (loaded.clock) {
      loaded.clock->drain(loaded.program->profileNames(), totals);
    } else {
      loaded.clock = makeClock(loaded);
    }
  }
  return profileRows(totals);
}

Status StaticDevice::reset() {
  FIRN_RETURN_IF_ERROR(checkOpen());
  flight_.reset();
  for (auto& [id, loaded] : programs_) {
    for (Entry& entry : loaded.program->entries()) entry.isBound = false;
  }
  return Status::ok();
}

Status StaticDevice::close() {
  FIRN_RETURN_IF_ERROR(checkOpen());
  flight_.reset();
  programs_.clear();
  backend_.reset();
  buffers_.clear();
  isOpen_ = false;
  return Status::ok();
}

}  // namespace firn::runtime
