// The tables of a program section as spans. Finding them checks where they lie, not what they hold (verifier.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.h"
#include "blob/layout.h"

namespace firn::blob {

/// Views into a program section, which must outlive it.
struct ProgramView {
  const ProgramHeader* header = nullptr;
  std::span<const EntryRecord> entries;
  std::span<const CallRecord> calls;
  std::span<const uint64_t> callArgs;
  std::span<const BodyRecord> bodies;
  std::span<const ParamRecord> params;
  std::span<const SegmentRecord> segments;
  std::span<const LaneRange> laneRanges;
  std::span<const TaskRecord> tasks;
  std::span<const OperandRecord> operands;
  std::span<const uint64_t> attrs;
  std::span<const SymbolRecord> symbols;
  std::string_view strings;

  /// `count` uses of barriers from attrs[first] on.
  std::span<const BarrierUse> barrierUses(size_t first, size_t count) const {
    return {reinterpret_cast<const BarrierUse*>(attrs.data() + first), count};
  }
  /// The string at byte `offset`; offset must be inside the table.
  std::string_view string(uint32_t offset) const { return strings.data() + offset; }
};

/// Finds the tables: header first, then each table in the order of ProgramHeader, 8-byte aligned, with zero bytes
/// between and nothing behind. `section` must be 8-byte aligned. corrupt names the table.
Result<ProgramView> viewProgram(std::span<const std::byte> section);

}  // namespace firn::blob
