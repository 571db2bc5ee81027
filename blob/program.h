// A program while it is made: the tables of the program section as vectors, filled in order.
// Not here: writing them to a file (writer.h), the rules (verifier.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "blob/layout.h"
#include "blob/task_op.h"

namespace firn::blob {

/// What one task is, for Program::addTask.
struct TaskSpec {
  TaskOp op{};
  std::string_view name;  ///< the graph op it came from
  std::span<const OperandRecord> operands;
  std::span<const uint64_t> attrs;  ///< integers, or doubleAttr()
  std::span<const BarrierUse> waits = {};
  std::span<const BarrierUse> signals = {};
};

/// The bits of a double as an attribute, and back.
uint64_t doubleAttr(double value);
double attrAsDouble(uint64_t attr);

/// An operand of dtype, dims and row-major strides at `offset` of `space`; bytes is its extent. Dims beyond rank 4, a
/// stride beyond 32 bits or an extent that overflows give bytes 0, which the verifier refuses.
OperandRecord stridedOperand(Space space, DType dtype, std::span<const uint32_t> dims, uint64_t offset);
/// A [rows, columns] matrix in panels (kernels/quant/panel.h) at `offset` of the weights; bytes is its packed size.
OperandRecord panelOperand(DType dtype, uint32_t rows, uint32_t columns, uint64_t offset);
/// A symbol as a whole: `symbol` of the entry, row-major.
OperandRecord symbolOperand(SymbolKind kind, DType dtype, std::span<const uint32_t> dims);

/// The program of a blob. Tables are canonical: every record belongs to exactly one parent, and children stand in the
/// order of their parents; the begin/add calls keep that order. Bodies first or entries first does not matter.
///
///   body = p.beginBody("block.16"); p.addParam(...); p.beginSegment(); { p.beginLane(); p.addTask(...); } x lanes
///   p.beginEntry(kind, rows, context); p.addStandardSymbols(); p.addCall(body, layer, args);
class Program {
 public:
  /// Set by who makes the program: the sizes, kvRows too, and kvType before addStandardSymbols, weightsBytes before it
  /// is written. The writer sets the tables, kvBytes and scratchBytes in its own copy.
  ProgramHeader header{};

  std::vector<EntryRecord> entries;
  std::vector<CallRecord> calls;
  std::vector<uint64_t> callArgs;
  std::vector<BodyRecord> bodies;
  std::vector<ParamRecord> params;
  std::vector<SegmentRecord> segments;
  std::vector<LaneRange> laneRanges;
  std::vector<TaskRecord> tasks;
  std::vector<OperandRecord> operands;
  std::vector<uint64_t> attrs;
  std::vector<SymbolRecord> symbols;
  std::string strings = std::string(1, '\0');  ///< offset 0 is the empty string

  /// Offset of `text` in strings, added when new.
  uint32_t intern(std::string_view text);

  /// Starts a body; returns its index. Params, segments, lanes and tasks added next belong to it.
  uint32_t beginBody(std::string_view name);
  /// Returns the index of the param in the body, as OperandRecord::base names it.
  uint16_t addParam(Space space, uint64_t bytes);
  void beginSegment();
  /// Starts the next lane of the segment: exactly Ident::lanes of them, empty ones too.
  void beginLane();
  void addTask(const TaskSpec& task);

  /// Starts an entry named by its kind, rows and context; returns its index. Symbols and calls added next belong to it.
  /// kGenerate: rows 1; kHead: context 0; kBatch: rows 2..8. Its scratchBytes and predictedPicoseconds are set in
  /// entries.back().
  uint32_t beginEntry(EntryKind kind, uint32_t rows, uint32_t context);
  /// Says that the entry just begun is part `part` of `parts` for `target`, and why. Without it an entry is whole, and
  /// for Ident::target.
  void placeEntry(Target target, uint16_t part, uint16_t parts, std::string_view reason);
  /// The symbols that entries of this kind have (standard_symbols.h), from the sizes in the header.
  void addStandardSymbols();
  void addCall(uint32_t body, uint32_t layer, std::span<const uint64_t> args);

 private:
  std::unordered_map<std::string, uint32_t> interned_{{"", 0}};
};

}  // namespace firn::blob
