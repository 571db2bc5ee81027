#include "compiler/target/npu/program_check.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "base/concat.h"
#include "compiler/target/npu/byte_history.h"
#include "compiler/target/npu/happens_before.h"

namespace firn::target {
namespace {

__extension__ using Wide = unsigned __int128;

std::string nameOf(const CheckTask& task) { return concat("task '", task.name, "'"); }
const char* verbOf(const CheckRegion& region) { return region.isWrite ? " writes" : " reads"; }

/// Bytes from the first to behind the last of a region.
Wide extentOf(const CheckRegion& region) {
  Wide extent = region.bytes;
  for (const CheckDim& dim : region.dims) extent += Wide{dim.count - 1} * dim.strideBytes;
  return extent;
}

Status checkRegion(const CheckProgram& program, const CheckRegion& region) {
  if (region.memory >= program.memories.size() || region.value >= program.values.size()) {
    return internalError(concat("memory ", region.memory, " or value ", region.value, " does not exist"));
  }
  const CheckMemory& memory = program.memories[region.memory];
  const CheckValue& value = program.values[region.value];
  const bool isEmpty = region.bytes == 0 || std::any_of(region.dims.begin(), region.dims.end(),
                                                        [](const CheckDim& dim) { return dim.count == 0; });
  if (isEmpty) return internalError(concat("a region of '", value.name, "' without bytes"));
  const Wide extent = extentOf(region);
  if (region.place + extent > value.bytes) {
    return internalError(concat(verbOf(region) + 1, " '", value.name, "' from byte ", region.place, " on for ",
                                static_cast<uint64_t>(extent), " bytes, but it has ", value.bytes));
  }
  if (region.address + extent > memory.bytes) {
    return internalError(concat(verbOf(region) + 1, " '", value.name, "' at byte ", region.address, " of ", memory.name,
                                " for ", static_cast<uint64_t>(extent), " bytes, but that has ", memory.bytes));
  }
  return Status::ok();
}

Status checkTask(const CheckProgram& program, const CheckTask& task) {
  const auto isAbsent = [&](uint16_t barrier) { return barrier >= program.barriers; };
  if (std::any_of(task.signals.begin(), task.signals.end(), isAbsent) ||
      std::any_of(task.waits.begin(), task.waits.end(), [&](const machine::Wait& w) { return isAbsent(w.barrier); })) {
    return internalError(concat("has a barrier above the machine's ", program.barriers));
  }
  for (const CheckRegion& region : task.regions) FIRN_RETURN_IF_ERROR(checkRegion(program, region));
  return Status::ok();
}

/// Every task stands in one queue, once.
Status checkQueues(const CheckProgram& program) {
  std::vector<bool> isSeen(program.tasks.size());
  for (const std::vector<uint32_t>& queue : program.queues) {
    for (const uint32_t task : queue) {
      if (task >= isSeen.size()) return internalError(concat("a queue runs task ", task, " of ", isSeen.size()));
      if (isSeen[task]) return internalError(concat(nameOf(program.tasks[task]), " stands in the queues twice"));
      isSeen[task] = true;
    }
  }
  const auto missing = std::find(isSeen.begin(), isSeen.end(), false);
  if (missing == isSeen.end()) return Status::ok();
  return internalError(
      concat(nameOf(program.tasks[static_cast<size_t>(missing - isSeen.begin())]), " stands in no queue"));
}

/// Within one memory a value lies in one place for all tasks; where others have filled it, at its begin.
Status checkPlaces(const CheckProgram& program) {
  struct Origin {
    uint64_t address;  ///< of byte 0 of the value; modulo 2^64, as good to compare
    uint32_t task;
  };
  std::map<std::pair<uint32_t, uint32_t>, Origin> origins;
  const auto text = [&](const CheckTask& task, const CheckRegion& region) {
    return concat(nameOf(task), verbOf(region), " byte ", region.place, " of '", program.values[region.value].name,
                  "' at byte ", region.address, " of ", program.memories[region.memory].name);
  };
  for (uint32_t i = 0; i < program.tasks.size(); ++i) {
    const CheckTask& task = program.tasks[i];
    for (const CheckRegion& region : task.regions) {
      const uint64_t origin = region.address - region.place;
      if (program.memories[region.memory].isInitialised && origin != 0) {
        return internalError(concat(text(task, region), ", where it lies at byte ", region.place));
      }
      const Origin& known = origins.try_emplace({region.value, region.memory}, Origin{origin, i}).first->second;
      if (known.address == origin) continue;
      return internalError(concat(text(task, region), ", but by ", nameOf(program.tasks[known.task]),
                                  " that lies at byte ", known.address + region.place));
    }
  }
  return Status::ok();
}

/// The dims of a region without the run at its end, the longest stride outside.
struct Runs {
  std::vector<CheckDim> dims;
  uint64_t bytes = 0;
};

/// Rows that touch each other are one run.
Runs runsOf(const CheckRegion& region) {
  Runs runs{region.dims, region.bytes};
  std::sort(runs.dims.begin(), runs.dims.end(),
            [](const CheckDim& a, const CheckDim& b) { return a.strideBytes > b.strideBytes; });
  while (!runs.dims.empty() && (runs.dims.back().count == 1 || runs.dims.back().strideBytes == runs.bytes)) {
    runs.bytes *= runs.dims.back().count;
    runs.dims.pop_back();
  }
  return runs;
}

/// Calls visit(begin) for each run from dimension `dim` on; stops when it returns false.
template <typename Visit>
bool forEachRun(const Runs& runs, size_t dim, uint64_t begin, const Visit& visit) {
  if (dim == runs.dims.size()) return visit(begin);
  for (uint64_t i = 0; i < runs.dims[dim].count; ++i) {
    if (!forEachRun(runs, dim + 1, begin + i * runs.dims[dim].strideBytes, visit)) return false;
  }
  return true;
}

/// Executes the program once, in an order that can be, and holds each access against those that came before. A race
/// with an earlier access of a byte is one with the last write of it or with a read since: had those an order, and the
/// earlier ones one with them, so had the earlier ones.
class ByteCheck {
 public:
  ByteCheck(const CheckProgram& program, const HappensBefore& order)
      : program_(program), order_(order), histories_(program.memories.size()) {}

  Status run() {
    for (const uint32_t task : order_.order()) {
      for (const CheckRegion& region : program_.tasks[task].regions) {
        if (!region.isWrite) FIRN_RETURN_IF_ERROR(access(task, region));
      }
      for (const CheckRegion& region : program_.tasks[task].regions) {
        if (region.isWrite) FIRN_RETURN_IF_ERROR(access(task, region));
      }
    }
    return wrongBytes_;
  }

 private:
  Status access(uint32_t task, const CheckRegion& region) {
    const Runs runs = runsOf(region);
    std::optional<Status> problem;
    ByteHistory& history = histories_[region.memory];
    forEachRun(runs, 0, region.address, [&](uint64_t begin) {
      history.forEach(begin, begin + runs.bytes, [&](uint64_t address, HistoryCell& cell) {
        problem = region.isWrite ? checkWrite(task, region, cell, address) : checkRead(task, region, cell, address);
        return !problem;
      });
      if (region.isWrite) history.write(begin, begin + runs.bytes, task, region.value);
      return !problem;
    });
    return problem ? *problem : Status::ok();
  }

  /// Whether `earlier`, which came first in this execution, always does, and in the program too.
  bool isOrdered(uint32_t earlier, uint32_t later) const {
    return earlier == later || (earlier < later && order_.holds(earlier, later));
  }

  std::optional<Status> checkRead(uint32_t task, const CheckRegion& region, HistoryCell& cell, uint64_t address) {
    if (cell.writer != kNobody && !isOrdered(cell.writer, task)) return disorder(cell.writer, task, region, address);
    if (wrongBytes_.isOk() && cell.writer == kNobody && !program_.memories[region.memory].isInitialised) {
      wrongBytes_ = unwritten(task, region, address);
    }
    if (wrongBytes_.isOk() && cell.writer != kNobody && cell.value != region.value) {
      wrongBytes_ = otherValue(task, region, cell, address);
    }
    cell.readers = readers_.with(cell.readers, task, [&](uint32_t other) { return order_.holds(other, task); });
    return std::nullopt;
  }

  std::optional<Status> checkWrite(uint32_t task, const CheckRegion& region, const HistoryCell& cell,
                                   uint64_t address) const {
    if (cell.writer != kNobody && !isOrdered(cell.writer, task)) return disorder(cell.writer, task, region, address);
    for (const uint32_t reader : readers_.at(cell.readers)) {
      if (!isOrdered(reader, task)) return disorder(reader, task, region, address);
      const bool isOwnInput = reader == task && cell.writer != kNobody && cell.value != region.value;
      if (isOwnInput) {
        return internalError(concat(nameOf(program_.tasks[task]), " writes ", byteOf(region, address),
                                    ", which it reads as '", program_.values[cell.value].name, "'"));
      }
    }
    return std::nullopt;
  }

  std::string byteOf(const CheckRegion& region, uint64_t address) const {
    return concat("byte ", address, " of ", program_.memories[region.memory].name, " ('",
                  program_.values[region.value].name, "')");
  }

  Status disorder(uint32_t earlier, uint32_t task, const CheckRegion& region, uint64_t address) const {
    const std::string place = concat(verbOf(region), " ", byteOf(region, address), ", which ",
                                     nameOf(program_.tasks[earlier]), " touches too; ");
    if (!order_.holds(earlier, task)) {
      return internalError(
          concat(nameOf(program_.tasks[task]), place, "no queue and no barrier says which comes first"));
    }
    return internalError(
        concat(nameOf(program_.tasks[task]), place, "it comes first in the program, but the other runs first"));
  }

  Status unwritten(uint32_t task, const CheckRegion& region, uint64_t address) const {
    constexpr int kMostNamed = 4;
    std::string writers;
    int named = 0;
    for (const CheckTask& other : program_.tasks) {
      if (named == kMostNamed) break;
      const bool writes = std::any_of(other.regions.begin(), other.regions.end(), [&](const CheckRegion& its) {
        return its.isWrite && its.value == region.value && its.memory == region.memory;
      });
      if (!writes) continue;
      writers += concat(writers.empty() ? "; the value is written by " : ", ", nameOf(other));
      ++named;
    }
    return internalError(concat(nameOf(program_.tasks[task]), " reads ", byteOf(region, address),
                                ", which no task has written before", writers));
  }

  Status otherValue(uint32_t task, const CheckRegion& region, const HistoryCell& cell, uint64_t address) const {
    return internalError(concat(nameOf(program_.tasks[task]), " reads ", byteOf(region, address), ", where ",
                                nameOf(program_.tasks[cell.writer]), " has written '", program_.values[cell.value].name,
                                "' last"));
  }

  const CheckProgram& program_;
  const HappensBefore& order_;
  std::vector<ByteHistory> histories_;
  ReaderSets readers_;
  Status wrongBytes_;  ///< the first; told when there is no disorder, which may well be its cause
};

}  // namespace

Status checkProgram(const CheckProgram& program) {
  FIRN_RETURN_IF_ERROR(checkQueues(program));
  for (const CheckTask& task : program.tasks) {
    if (Status status = checkTask(program, task); !status.isOk()) return status.withPlace(nameOf(task));
  }
  FIRN_RETURN_IF_ERROR(checkPlaces(program));
  FIRN_ASSIGN_OR_RETURN(const HappensBefore order, HappensBefore::of(program));
  return ByteCheck(program, order).run();
}

}  // namespace firn::target
