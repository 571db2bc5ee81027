#include "blob/program_view.h"

#include <algorithm>

#include "base/align.h"
#include "base/concat.h"

namespace firn::blob {

namespace {

constexpr uint64_t kTableAlignment = 8;

/// Walks the tables in order.
class TableCursor {
 public:
  TableCursor(std::span<const std::byte> section, uint64_t at) : section_(section), at_(at) {}

  template <typename Record>
  Status take(std::string_view name, const Table& table, std::span<const Record>& out) {
    const uint64_t start = roundUp(at_, kTableAlignment);
    if (table.offset != start) {
      return corrupt(concat("program table ", name, ": offset is ", table.offset, ", expected ", start,
                            " (behind the table before it)"));
    }
    if (start > section_.size()) {
      return corrupt(concat("program table ", name, ": starts at byte ", start, " of a section of ", section_.size()));
    }
    const uint64_t room = section_.size() - start;
    // Indices into tables are 32-bit.
    if (table.count > room / sizeof(Record) || table.count > 0xFFFFFFFF) {
      return corrupt(concat("program table ", name, ": ", table.count, " records of ", sizeof(Record), " bytes, but ",
                            room, " bytes are left in the section"));
    }
    FIRN_RETURN_IF_ERROR(zeros(name, start));
    out = {reinterpret_cast<const Record*>(section_.data() + start), static_cast<size_t>(table.count)};
    at_ = start + table.count * sizeof(Record);
    return Status::ok();
  }

  Status finish() {
    const uint64_t end = roundUp(at_, kTableAlignment);
    if (section_.size() != end) {
      return corrupt(concat("the program section has ", section_.size(), " bytes, its tables end at ", end));
    }
    return zeros("end", end);
  }

 private:
  Status zeros(std::string_view name, uint64_t until) {
    const auto gap = section_.subspan(at_, until - at_);
    if (std::ranges::all_of(gap, [](std::byte b) { return b == std::byte{0}; })) return Status::ok();
    return corrupt(concat("program section: the padding before table ", name, " is not zero"));
  }

  std::span<const std::byte> section_;
  uint64_t at_;
};

}  // namespace

Result<ProgramView> viewProgram(std::span<const std::byte> section) {
  if (section.size() < sizeof(ProgramHeader)) {
    return corrupt(
        concat("the program section has ", section.size(), " bytes, its header alone needs ", sizeof(ProgramHeader)));
  }
  ProgramView view;
  view.header = reinterpret_cast<const ProgramHeader*>(section.data());
  const ProgramHeader& header = *view.header;
  TableCursor cursor(section, sizeof(ProgramHeader));
  FIRN_RETURN_IF_ERROR(cursor.take("entries", header.entries, view.entries));
  FIRN_RETURN_IF_ERROR(cursor.take("calls", header.calls, view.calls));
  FIRN_RETURN_IF_ERROR(cursor.take("callArgs", header.callArgs, view.callArgs));
  FIRN_RETURN_IF_ERROR(cursor.take("bodies", header.bodies, view.bodies));
  FIRN_RETURN_IF_ERROR(cursor.take("params", header.params, view.params));
  FIRN_RETURN_IF_ERROR(cursor.take("segments", header.segments, view.segments));
  FIRN_RETURN_IF_ERROR(cursor.take("laneRanges", header.laneRanges, view.laneRanges));
  FIRN_RETURN_IF_ERROR(cursor.take("tasks", header.tasks, view.tasks));
  FIRN_RETURN_IF_ERROR(cursor.take("operands", header.operands, view.operands));
  FIRN_RETURN_IF_ERROR(cursor.take("attrs", header.attrs, view.attrs));
  FIRN_RETURN_IF_ERROR(cursor.take("symbols", header.symbols, view.symbols));
  std::span<const char> strings;
  FIRN_RETURN_IF_ERROR(cursor.take("strings", header.strings, strings));
  FIRN_RETURN_IF_ERROR(cursor.finish());
  view.strings = {strings.data(), strings.size()};
  return view;
}

}  // namespace firn::blob
