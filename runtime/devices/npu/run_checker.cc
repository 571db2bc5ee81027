#include "runtime/devices/npu/run_checker.h"

#include <algorithm>
#include <cstring>

#include "base/concat.h"
#include "blob/names.h"
#include "runtime/buffers.h"
#include "runtime/cmx_memory.h"
#include "runtime/devices/npu/entry_timeline.h"

namespace firn::runtime {

Result<std::unique_ptr<RunChecker>> RunChecker::create(const blob::Blob& blob, const machine::Machine& machine) {
  // Of a hostile blob each may be next to 2^64.
  std::array<uint64_t, blob::kSymbolKinds> symbolBytes{};
  for (const blob::SymbolRecord& symbol : blob.symbols()) {
    uint64_t& bytes = symbolBytes[static_cast<size_t>(symbol.kind)];
    if (!blob::isKv(symbol.kind)) bytes = std::max(bytes, symbol.bytes);
  }
  uint64_t sum = CmxMemory(machine).bytes;
  const auto add = [&](uint64_t bytes) { sum = bytes > UINT64_MAX - sum ? UINT64_MAX : sum + bytes; };
  add(blob.header().scratchBytes);
  for (const uint64_t bytes : symbolBytes) add(bytes);
  if (const Status fits = checkDeviceMemory(sum); !fits.isOk()) {
    return fits.withPlace(concat(blob.path(), ": a byte for each of CMX, scratch and outputs, to check a run"));
  }
  return std::unique_ptr<RunChecker>(new RunChecker(blob, machine));
}

RunChecker::RunChecker(const blob::Blob& blob, const machine::Machine& machine)
    : blob_(blob), machine_(machine), tileBytes_(CmxMemory(machine).tileBytes), running_(machine::queueCount(machine)) {
  const uint64_t cmxBytes = CmxMemory(machine).bytes;
  cmx_ = {.name = "cmx", .bytes = cmxBytes, .isWritten = std::vector<uint8_t>(cmxBytes)};
  const uint64_t scratchBytes = blob.header().scratchBytes;
  scratch_ = {.name = "scratch", .bytes = scratchBytes, .isWritten = std::vector<uint8_t>(scratchBytes)};
  kv_ = {.name = "kv", .bytes = blob.header().kvBytes, .isWritten = {}};
  for (const blob::SymbolRecord& symbol : blob.symbols()) {
    if (blob::isKv(symbol.kind)) continue;
    Area& area = symbols_[static_cast<size_t>(symbol.kind)];
    area.name = blob::symbolKindName(symbol.kind);
    area.isWritten.resize(std::max(area.isWritten.size(), size_t{symbol.bytes}));
  }
  size_t longest = 0;
  for (const blob::EntryRecord& entry : blob.entries()) longest = std::max(longest, blob.string(entry.name).size());
  entryName_.reserve(longest);
}

void RunChecker::beginEntry(const Entry& entry) {
  entryName_ = entry.name;
  const Call& anyCall = entry.calls.front();
  cmx_.first = anyCall.bases[kCmxBase];
  scratch_.first = anyCall.bases[kScratchBase];
  std::ranges::fill(scratch_.isWritten, 0);
  kv_.first = entry.symbol(blob::SymbolKind::kKv).data;
  for (uint32_t kind = 0; kind < blob::kSymbolKinds; ++kind) {
    const BoundSymbol& bound = entry.symbols[kind];
    if (bound.record == nullptr) continue;
    symbols_[kind].first = bound.data;
    symbols_[kind].bytes = bound.record->bytes;
    // A later part of an entry is given the hidden rows of the one before.
    const bool isGiven = bound.record->kind == blob::SymbolKind::kHidden && entry.record->part > 0;
    std::ranges::fill(symbols_[kind].isWritten, bound.record->isOutput != 0 && !isGiven ? 0 : 1);
  }
}

void RunChecker::beginCall() {
  std::ranges::fill(cmx_.isWritten, 0);
  for (Running& running : running_) running.step.interval = {};
}

std::string RunChecker::text(const Step& step) const { return npuTaskText(blob_, machine_, step.index, step.queue); }

std::string RunChecker::placeText(const Area& area, const std::byte* at) const {
  const auto offset = static_cast<uint64_t>(at - area.first);
  if (&area != &cmx_) return concat("byte ", offset, " of ", area.name);
  return concat("byte ", offset % tileBytes_, " of cmx of tile ", offset / tileBytes_);
}

RunChecker::Area& RunChecker::areaOf(const blob::OperandRecord& operand) {
  switch (operand.space) {
    case blob::Space::kCmx: return cmx_;
    case blob::Space::kScratch: return scratch_;
    case blob::Space::kSymbol: return symbols_[operand.base];
    default: return kv_;
  }
}

Status RunChecker::checkArea(const Step& step, const Access& access, Area& area) const {
  if (access.first < area.first || access.end() > area.first + area.bytes) {
    return internalError(concat(text(step), " touches bytes outside ", area.name, ", which has ", area.bytes));
  }
  if (area.isWritten.empty() || !access.isRead) return Status::ok();
  for (uint64_t i = 0; i < access.runs(); ++i) {
    const uint8_t* const run = area.isWritten.data() + (access.run(i) - area.first);
    const void* const unwritten = std::memchr(run, 0, access.bytes);
    if (unwritten == nullptr) continue;
    const auto skip = static_cast<const uint8_t*>(unwritten) - run;
    return internalError(
        concat(text(step), " reads ", placeText(area, access.run(i) + skip), ", which no task has written"));
  }
  return Status::ok();
}

Status RunChecker::checkOthers(const Running& task, const Task& operands) {
  for (const Running& other : running_) {
    if (&other == &task || other.step.interval.end <= task.step.interval.begin) continue;
    for (uint32_t i = 0; i < task.accesses.count; ++i) {
      const Access& own = task.accesses.list[i];
      for (uint32_t j = 0; j < other.accesses.count; ++j) {
        const Access& theirs = other.accesses.list[j];
        if (!own.isWritten && !theirs.isWritten) continue;
        const std::byte* const shared = sharedByte(own, theirs);
        if (shared == nullptr) continue;
        return internalError(concat(text(task.step), own.isWritten ? " writes " : " reads ",
                                    placeText(areaOf(operands.operand(own.operand)), shared), ", which ",
                                    text(other.step), theirs.isWritten ? " writes" : " reads", " at the same time"));
      }
    }
  }
  return Status::ok();
}

void RunChecker::markWritten(const Access& access, Area& area) {
  if (area.isWritten.empty()) return;
  for (uint64_t i = 0; i < access.runs(); ++i) {
    std::memset(area.isWritten.data() + (access.run(i) - area.first), 1, access.bytes);
  }
}

Status RunChecker::check(const Step& step, const Task& task, const CallFrame& frame) {
  Running& running = running_[step.queue];
  running.step = step;
  findAccesses(static_cast<blob::TaskOp>(blob_.tasks()[step.index].op), task, frame, running.accesses);
  const auto place = [&] { return concat(blob_.path(), ": entry ", entryName_); };
  if (const Status status = checkOthers(running, task); !status.isOk()) return status.withPlace(place());
  for (uint32_t i = 0; i < running.accesses.count; ++i) {
    const Access& access = running.accesses.list[i];
    if (const Status status = checkArea(step, access, areaOf(task.operand(access.operand))); !status.isOk()) {
      return status.withPlace(place());
    }
  }
  for (uint32_t i = 0; i < running.accesses.count; ++i) {
    const Access& access = running.accesses.list[i];
    if (access.isWritten) markWritten(access, areaOf(task.operand(access.operand)));
  }
  return Status::ok();
}

}  // namespace firn::runtime
