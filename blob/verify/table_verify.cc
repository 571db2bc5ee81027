#include "blob/verify/table_verify.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/utf8.h"
#include "blob/verifier.h"

namespace firn::blob {

namespace {

/// Checks that parents take the records of a table one after the other, all of them.
class Partition {
 public:
  Partition(std::string_view parent, std::string_view table, uint64_t count)
      : parent_(parent), table_(table), count_(count) {}

  Status take(size_t record, uint64_t first, uint64_t count) {
    if (first != next_ || count > count_ - next_) {
      return corrupt(concat(parent_, " ", record, ": takes ", table_, " ", first, " and ", count,
                            " in all, expected the next, ", next_, ", and at most ", count_ - next_));
    }
    next_ += count;
    return Status::ok();
  }

  Status finish() const {
    if (next_ == count_) return Status::ok();
    return corrupt(concat("table ", table_, " has ", count_, " records, but ", parent_, " records take ", next_));
  }

 private:
  std::string_view parent_;
  std::string_view table_;
  uint64_t count_;
  uint64_t next_ = 0;
};

Status checkCounts(const ProgramView& program) {
  for (const auto& [table, count] :
       {std::pair<std::string_view, uint64_t>{"entries", program.entries.size()}, {"bodies", program.bodies.size()}}) {
    if (count == 0 || count > kMaxRecords) {
      return corrupt(concat("table ", table, " has ", count, " records, expected 1..", kMaxRecords));
    }
  }
  return Status::ok();
}

Status checkStrings(const ProgramView& program) {
  const std::string_view strings = program.strings;
  if (strings.empty() || strings.front() != '\0' || strings.back() != '\0') {
    return corrupt("table strings: expected the empty string first and a NUL at the end");
  }
  for (size_t at = 0; at < strings.size();) {
    const std::string_view text = strings.data() + at;
    if (text.size() > kMaxStringBytes) {
      return corrupt(concat("table strings: the string at byte ", at, " has ", text.size(), " bytes, expected at most ",
                            kMaxStringBytes));
    }
    if (!isPrintableUtf8(text)) return corrupt(concat("table strings: byte ", at, " starts no printable UTF-8 text"));
    at += text.size() + 1;
  }
  return Status::ok();
}

Status checkTaskPartitions(const ProgramView& program, uint32_t lanes) {
  Partition ranges("segment", "laneRanges", program.laneRanges.size());
  for (size_t i = 0; i < program.segments.size(); ++i) {
    FIRN_RETURN_IF_ERROR(ranges.take(i, program.segments[i].firstRange, lanes));
  }
  FIRN_RETURN_IF_ERROR(ranges.finish());
  Partition tasks("laneRange", "tasks", program.tasks.size());
  for (size_t i = 0; i < program.laneRanges.size(); ++i) {
    FIRN_RETURN_IF_ERROR(tasks.take(i, program.laneRanges[i].firstTask, program.laneRanges[i].taskCount));
  }
  FIRN_RETURN_IF_ERROR(tasks.finish());
  Partition operands("task", "operands", program.operands.size());
  Partition attrs("task", "attrs", program.attrs.size());
  for (size_t i = 0; i < program.tasks.size(); ++i) {
    const TaskRecord& task = program.tasks[i];
    FIRN_RETURN_IF_ERROR(operands.take(i, task.firstOperand, task.operandCount));
    FIRN_RETURN_IF_ERROR(attrs.take(i, task.firstAttr, uint64_t{task.attrCount} + task.waitCount + task.signalCount));
  }
  FIRN_RETURN_IF_ERROR(operands.finish());
  return attrs.finish();
}

Status checkPartitions(const ProgramView& program, uint32_t lanes) {
  Partition calls("entry", "calls", program.calls.size());
  Partition symbols("entry", "symbols", program.symbols.size());
  for (size_t i = 0; i < program.entries.size(); ++i) {
    const EntryRecord& entry = program.entries[i];
    FIRN_RETURN_IF_ERROR(calls.take(i, entry.firstCall, entry.callCount));
    FIRN_RETURN_IF_ERROR(symbols.take(i, entry.firstSymbol, entry.symbolCount));
  }
  FIRN_RETURN_IF_ERROR(calls.finish());
  FIRN_RETURN_IF_ERROR(symbols.finish());
  Partition args("call", "callArgs", program.callArgs.size());
  for (size_t i = 0; i < program.calls.size(); ++i) {
    FIRN_RETURN_IF_ERROR(args.take(i, program.calls[i].firstArg, program.calls[i].argCount));
  }
  FIRN_RETURN_IF_ERROR(args.finish());
  Partition params("body", "params", program.params.size());
  Partition segments("body", "segments", program.segments.size());
  for (size_t i = 0; i < program.bodies.size(); ++i) {
    const BodyRecord& body = program.bodies[i];
    FIRN_RETURN_IF_ERROR(params.take(i, body.firstParam, body.paramCount));
    FIRN_RETURN_IF_ERROR(segments.take(i, body.firstSegment, body.segmentCount));
  }
  FIRN_RETURN_IF_ERROR(params.finish());
  FIRN_RETURN_IF_ERROR(segments.finish());
  return checkTaskPartitions(program, lanes);
}

/// A body that nothing calls is checked against no entry, and means nothing.
Status checkEveryBodyIsCalled(const ProgramView& program) {
  std::vector<bool> isCalled(program.bodies.size());
  for (size_t i = 0; i < program.calls.size(); ++i) {
    const uint32_t body = program.calls[i].body;
    if (body >= isCalled.size()) {
      return corrupt(concat("call ", i, ": body is ", body, ", there are ", isCalled.size()));
    }
    isCalled[body] = true;
  }
  const auto idle = std::ranges::find(isCalled, false);
  if (idle == isCalled.end()) return Status::ok();
  return corrupt(concat("body ", idle - isCalled.begin(), ": no entry calls it"));
}

}  // namespace

Status verifyTables(const ProgramView& program, uint32_t lanes) {
  FIRN_RETURN_IF_ERROR(checkCounts(program));
  FIRN_RETURN_IF_ERROR(checkStrings(program));
  FIRN_RETURN_IF_ERROR(checkPartitions(program, lanes));
  return checkEveryBodyIsCalled(program);
}

Status verifyName(const ProgramView& program, std::string_view record, size_t index, uint32_t name,
                  std::string_view field) {
  if (name < program.strings.size() && (name == 0 || program.strings[name - 1] == '\0')) return Status::ok();
  return corrupt(concat(record, " ", index, ": ", field, " is ", name, ", expected the start of a string below ",
                        program.strings.size()));
}

}  // namespace firn::blob
