#include "blob/program.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "blob/extent.h"
#include "blob/names.h"
#include "blob/standard_symbols.h"

namespace firn::blob {

uint64_t doubleAttr(double value) { return std::bit_cast<uint64_t>(value); }
double attrAsDouble(uint64_t attr) { return std::bit_cast<double>(attr); }

OperandRecord stridedOperand(Space space, DType dtype, std::span<const uint32_t> dims, uint64_t offset) {
  OperandRecord operand{};
  operand.space = space;
  operand.dtype = dtype;
  operand.rank = static_cast<uint8_t>(std::min<size_t>(dims.size(), 255));
  operand.layout = Layout::kStrided;
  operand.base = kNoBase;
  operand.offset = offset;
  operand.dims.fill(1);
  if (dims.size() > operand.dims.size()) return operand;
  uint64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    if (stride > std::numeric_limits<uint32_t>::max()) return operand;
    operand.dims[i] = dims[i];
    operand.strides[i] = static_cast<uint32_t>(stride);
    stride *= dims[i];  // of two numbers below 2^32
  }
  operand.bytes = operandBytes(operand).value_or(0);
  return operand;
}

OperandRecord panelOperand(DType dtype, uint32_t rows, uint32_t columns, uint64_t offset) {
  OperandRecord operand{};
  operand.space = Space::kWeights;
  operand.dtype = dtype;
  operand.rank = 2;
  operand.layout = Layout::kPanels;
  operand.base = kNoBase;
  operand.offset = offset;
  operand.dims = {rows, columns, 1, 1};
  operand.bytes = operandBytes(operand).value_or(0);
  return operand;
}

OperandRecord symbolOperand(SymbolKind kind, DType dtype, std::span<const uint32_t> dims) {
  OperandRecord operand = stridedOperand(Space::kSymbol, dtype, dims, 0);
  operand.base = static_cast<uint16_t>(kind);
  return operand;
}

uint32_t Program::intern(std::string_view text) {
  const auto [at, isNew] = interned_.try_emplace(std::string(text), static_cast<uint32_t>(strings.size()));
  if (isNew) {
    strings.append(text);
    strings.push_back('\0');
  }
  return at->second;
}

uint32_t Program::beginBody(std::string_view name) {
  bodies.push_back({.name = intern(name),
                    .firstParam = static_cast<uint32_t>(params.size()),
                    .paramCount = 0,
                    .firstSegment = static_cast<uint32_t>(segments.size()),
                    .segmentCount = 0,
                    .reserved0 = 0});
  return static_cast<uint32_t>(bodies.size() - 1);
}

uint16_t Program::addParam(Space space, uint64_t bytes) {
  params.push_back({.space = space, .reserved0 = {}, .bytes = bytes});
  return static_cast<uint16_t>(bodies.back().paramCount++);
}

void Program::beginSegment() {
  segments.push_back({.firstRange = static_cast<uint32_t>(laneRanges.size())});
  ++bodies.back().segmentCount;
}

void Program::beginLane() { laneRanges.push_back({.firstTask = static_cast<uint32_t>(tasks.size()), .taskCount = 0}); }

void Program::addTask(const TaskSpec& task) {
  tasks.push_back({.op = static_cast<uint16_t>(task.op),
                   .operandCount = static_cast<uint16_t>(task.operands.size()),
                   .firstOperand = static_cast<uint32_t>(operands.size()),
                   .firstAttr = static_cast<uint32_t>(attrs.size()),
                   .attrCount = static_cast<uint16_t>(task.attrs.size()),
                   .waitCount = static_cast<uint8_t>(task.waits.size()),
                   .signalCount = static_cast<uint8_t>(task.signals.size()),
                   .name = intern(task.name)});
  operands.insert(operands.end(), task.operands.begin(), task.operands.end());
  attrs.insert(attrs.end(), task.attrs.begin(), task.attrs.end());
  for (const std::span<const BarrierUse> uses : {task.waits, task.signals}) {
    for (const BarrierUse& use : uses) attrs.push_back(std::bit_cast<uint64_t>(use));
  }
  ++laneRanges.back().taskCount;
}

uint32_t Program::beginEntry(EntryKind kind, uint32_t rows, uint32_t context) {
  entries.push_back({.name = intern(entryName(kind, rows, context)),
                     .kind = kind,
                     .rows = rows,
                     .context = context,
                     .firstCall = static_cast<uint32_t>(calls.size()),
                     .callCount = 0,
                     .firstSymbol = static_cast<uint32_t>(symbols.size()),
                     .symbolCount = 0,
                     .scratchBytes = 0,
                     .predictedPicoseconds = 0,
                     .target = Target{},
                     .part = 0,
                     .parts = 1,
                     .reason = 0,
                     .reserved0 = 0});
  return static_cast<uint32_t>(entries.size() - 1);
}

void Program::placeEntry(Target target, uint16_t part, uint16_t parts, std::string_view reason) {
  EntryRecord& entry = entries.back();
  entry.target = target;
  entry.part = part;
  entry.parts = parts;
  entry.name = intern(entryName(entry));
  entry.reason = intern(reason);
}

void Program::addStandardSymbols() {
  EntryRecord& entry = entries.back();
  for (const SymbolRecord& symbol : standardSymbols(entry, header)) {
    symbols.push_back(symbol);
    ++entry.symbolCount;
  }
}

void Program::addCall(uint32_t body, uint32_t layer, std::span<const uint64_t> args) {
  calls.push_back({.body = body,
                   .layer = layer,
                   .firstArg = static_cast<uint32_t>(callArgs.size()),
                   .argCount = static_cast<uint32_t>(args.size())});
  callArgs.insert(callArgs.end(), args.begin(), args.end());
  ++entries.back().callCount;
}

}  // namespace firn::blob
