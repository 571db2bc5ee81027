#include <algorithm>
#include <array>
#include <list>
#include <map>
#include <optional>
#include <tuple>

#include "base/concat.h"
#include "blob/names.h"
#include "compiler/blob_emit/emit.h"
#include "compiler/ir/task.h"
#include "llvm/ADT/StringMap.h"

namespace firn::blob_emit {
namespace {

/// An integer of a dictionary that the dialect's passes wrote; 0 when it is missing.
uint64_t numberOf(mlir::DictionaryAttr dictionary, llvm::StringRef key) {
  auto attr = dictionary ? dictionary.getAs<mlir::IntegerAttr>(key) : mlir::IntegerAttr();
  return attr ? static_cast<uint64_t>(attr.getInt()) : 0;
}

std::optional<DType> kvTypeOf(task::ProgramOp op) {
  auto name = op.getModel().getAs<mlir::StringAttr>("kv_type");
  return name ? task::dtypeFromName(name.getValue()) : std::nullopt;
}

void emitHeader(task::ProgramOp op, blob::ProgramHeader& header) {
  mlir::DictionaryAttr model = op.getModel();
  auto number = [&](llvm::StringRef key) { return static_cast<uint32_t>(numberOf(model, key)); };
  header.layers = number("layers");
  header.embed = number("embed");
  header.heads = number("heads");
  header.kvHeads = number("kv_heads");
  header.headDim = number("head_dim");
  header.vocab = number("vocab");
  header.maxPromptTokens = number("max_prompt_tokens");
  header.minResponseTokens = number("min_response_tokens");
  header.kvRows = number("kv_rows");
  header.kvType = *kvTypeOf(op);
  mlir::DictionaryAttr memory = op.getMemoryAttr();
  header.kvBytes = numberOf(memory, "kv_bytes");
  header.scratchBytes = numberOf(memory, "scratch_bytes");
  header.weightsBytes = numberOf(memory, "weights_bytes");
  op.walk([&](task::SymbolOp symbol) {
    const bool isList = task::symbolFromName(symbol.getKind()) == blob::SymbolKind::kTopIds;
    if (isList) header.topTokens = static_cast<uint8_t>(symbol.getDims().back());
  });
}

/// What operand `base` names by number.
uint16_t baseOf(task::OperandAttr operand, const llvm::StringMap<uint16_t>& params) {
  if (operand.getSpace() == blob::Space::kSymbol) {
    return static_cast<uint16_t>(*task::symbolFromName(operand.getBase()));
  }
  if (operand.getSpace() == blob::Space::kCmx) return static_cast<uint16_t>(task::cmxBase(operand.getBase())->tile);
  auto found = params.find(operand.getBase());
  return found == params.end() ? blob::kNoBase : found->second;
}

blob::OperandRecord recordOf(task::OperandAttr operand, const llvm::StringMap<uint16_t>& params) {
  blob::OperandRecord record{};
  record.space = operand.getSpace();
  record.dtype = operand.getDtype();
  record.rank = static_cast<uint8_t>(operand.getDims().size());
  record.layout = operand.getLayout();
  record.base = baseOf(operand, params);
  record.offset = operand.getOffset();
  record.bytes = operand.getBytes();
  record.dims.fill(1);
  for (size_t i = 0; i < record.rank; ++i) {
    record.dims[i] = static_cast<uint32_t>(operand.getDims()[i]);
    record.strides[i] = static_cast<uint32_t>(operand.getStrides()[i]);
  }
  return record;
}

uint64_t valueOf(mlir::Attribute attr) {
  if (auto real = llvm::dyn_cast<mlir::FloatAttr>(attr)) return blob::doubleAttr(real.getValueAsDouble());
  return static_cast<uint64_t>(llvm::cast<mlir::IntegerAttr>(attr).getInt());
}

std::string_view view(llvm::StringRef text) { return {text.data(), text.size()}; }

std::vector<blob::BarrierUse> waitsOf(task::RunOp run) {
  std::vector<blob::BarrierUse> uses;
  const llvm::ArrayRef<int64_t> pairs = run.getWaits().value_or(llvm::ArrayRef<int64_t>());
  for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
    uses.push_back({static_cast<uint32_t>(pairs[i]), static_cast<uint32_t>(pairs[i + 1])});
  }
  return uses;
}

std::vector<blob::BarrierUse> signalsOf(task::RunOp run) {
  std::vector<blob::BarrierUse> uses;
  for (int64_t barrier : run.getSignals().value_or(llvm::ArrayRef<int64_t>())) {
    uses.push_back({static_cast<uint32_t>(barrier), 0});
  }
  return uses;
}

void emitTask(task::RunOp run, const llvm::StringMap<uint16_t>& params, blob::Program& program) {
  std::vector<blob::OperandRecord> operands;
  for (auto operand : run.getArgs().getAsRange<task::OperandAttr>()) operands.push_back(recordOf(operand, params));
  std::vector<uint64_t> attrs;
  if (mlir::ArrayAttr values = run.getValuesAttr()) {
    for (mlir::Attribute value : values) attrs.push_back(valueOf(value));
  }
  const std::vector<blob::BarrierUse> waits = waitsOf(run);
  const std::vector<blob::BarrierUse> signals = signalsOf(run);
  program.addTask({*task::taskOpFromName(run.getOp()), view(run.getName()), operands, attrs, waits, signals});
}

uint32_t emitBody(task::BodyOp body, blob::Program& program) {
  uint32_t index = program.beginBody(view(body.getSymName()));
  llvm::StringMap<uint16_t> params;
  for (auto param : body.getParams().getAsRange<task::ParamAttr>()) {
    params[param.getName()] = program.addParam(param.getSpace(), param.getBytes());
  }
  for (auto segment : body.getBody().getOps<task::SegmentOp>()) {
    program.beginSegment();
    for (auto lane : segment.getBody().getOps<task::LaneOp>()) {
      program.beginLane();
      for (auto run : lane.getBody().getOps<task::RunOp>()) emitTask(run, params, program);
    }
  }
  return index;
}

/// Everything has its address: no names are left in operands and calls.
Status checkScheduled(task::ProgramOp op) {
  bool isScheduled = op.getMemory().has_value();
  op.walk([&](task::RunOp run) {
    for (auto operand : run.getArgs().getAsRange<task::OperandAttr>()) {
      isScheduled = isScheduled && !operand.getBase().starts_with("@");
    }
  });
  op.walk([&](task::CallOp call) {
    isScheduled = isScheduled && llvm::all_of(call.getArgs(), llvm::IsaPred<mlir::IntegerAttr>);
  });
  return isScheduled ? Status::ok() : internalError("the program has memory without an address: run schedule first");
}

/// Every name has its number in the blob, and every count fits its field.
Status checkNames(task::ProgramOp op) {
  if (!kvTypeOf(op)) return internalError("the program has no KV type, or an unknown one");
  Status status;
  auto refuse = [&](llvm::StringRef what, llvm::StringRef name, std::string_view why) {
    if (status.isOk()) status = internalError(concat(view(what), " ", view(name), " ", why));
  };
  op.walk([&](task::RunOp run) {
    if (!task::taskOpFromName(run.getOp())) refuse("task", run.getName(), "is of an unknown op");
    if (run.getWaits().value_or(llvm::ArrayRef<int64_t>()).size() > 2 * size_t{UINT8_MAX} ||
        run.getSignals().value_or(llvm::ArrayRef<int64_t>()).size() > UINT8_MAX) {
      refuse("task", run.getName(), "has more waits or signals than a blob can hold");
    }
    if (run.getArgs().size() > UINT16_MAX) refuse("task", run.getName(), "has more operands than a blob can hold");
    for (auto operand : run.getArgs().getAsRange<task::OperandAttr>()) {
      bool isNamed = operand.getSpace() == blob::Space::kSymbol;
      if (isNamed && !task::symbolFromName(operand.getBase())) refuse("task", run.getName(), "names an unknown symbol");
      const bool isOnChip = operand.getSpace() == blob::Space::kCmx;
      if (isOnChip && !task::cmxBase(operand.getBase())) refuse("task", run.getName(), "names no tile");
    }
  });
  op.walk([&](task::SymbolOp symbol) {
    const bool isList = task::symbolFromName(symbol.getKind()) == blob::SymbolKind::kTopIds;
    if (isList && symbol.getDims().back() > UINT8_MAX) {
      refuse("symbol", symbol.getKind(), "has longer lists than a blob can hold");
    }
  });
  op.walk([&](task::BodyOp body) {
    if (body.getParams().size() >= blob::kNoBase) {
      refuse("body", body.getSymName(), "has more params than a blob can hold");
    }
  });
  op.walk([&](task::EntryOp entry) {
    if (!task::entryKindFromName(entry.getKind())) refuse("entry", entry.getSymName(), "is of an unknown kind");
  });
  return status;
}

/// The symbols of an entry follow from its kind and sizes; those that the program names must be the same.
Status checkSymbols(task::EntryOp entry, const blob::Program& program, uint32_t index) {
  const blob::EntryRecord& record = program.entries[index];
  uint32_t at = record.firstSymbol;
  for (auto symbol : entry.getBody().getOps<task::SymbolOp>()) {
    bool known = at < record.firstSymbol + record.symbolCount &&
                 task::symbolFromName(symbol.getKind()) == program.symbols[at].kind &&
                 symbol.getBytes() == program.symbols[at].bytes &&
                 symbol.getOutput() == (program.symbols[at].isOutput != 0);
    if (!known)
      return internalError(concat("entry ", view(entry.getSymName()), " has an odd symbol ", view(symbol.getKind())));
    ++at;
  }
  if (at == record.firstSymbol + record.symbolCount) return Status::ok();
  return internalError(concat("entry ", view(entry.getSymName()), " lacks symbols"));
}

/// An entry of a task.program, and the bodies that its calls may name.
struct PlacedEntry {
  task::EntryOp op;
  blob::Target target;
  const llvm::StringMap<uint32_t>* bodies;
};

Status emitEntry(const PlacedEntry& entry, blob::Program& program) {
  task::EntryOp op = entry.op;
  auto kind = *task::entryKindFromName(op.getKind());
  uint32_t index =
      program.beginEntry(kind, static_cast<uint32_t>(op.getRows()), static_cast<uint32_t>(op.getContextRows()));
  const int64_t part = op.getPart() ? op.getPart()->front() : 0;
  const int64_t parts = op.getPart() ? op.getPart()->back() : 1;
  program.placeEntry(entry.target, static_cast<uint16_t>(part), static_cast<uint16_t>(parts),
                     view(op.getReason().value_or("").take_front(blob::kMaxStringBytes)));
  program.entries[index].scratchBytes = op.getScratch().value_or(0);
  program.entries[index].predictedPicoseconds = op.getPicoseconds().value_or(0);
  program.addStandardSymbols();
  FIRN_RETURN_IF_ERROR(checkSymbols(op, program, index));
  for (auto call : op.getBody().getOps<task::CallOp>()) {
    std::vector<uint64_t> args;
    for (mlir::Attribute arg : call.getArgs()) args.push_back(valueOf(arg));
    auto layer = call.getLayer() ? static_cast<uint32_t>(*call.getLayer()) : blob::kNoLayer;
    program.addCall(entry.bodies->lookup(call.getCallee()), layer, args);
  }
  return Status::ok();
}

/// The parts of an entry, which may stand in several programs, one after the other; whole entries as they stand. No
/// two parts have the same place.
void joinParts(std::vector<PlacedEntry>& entries) {
  std::map<std::tuple<std::string, int64_t, int64_t>, size_t> firsts;  // by kind, rows and context: order of the first
  const auto place = [&](const PlacedEntry& entry) {
    task::EntryOp op = entry.op;
    const auto key =
        std::tuple(op.getKind().str(), static_cast<int64_t>(op.getRows()), static_cast<int64_t>(op.getContextRows()));
    const size_t first = firsts.try_emplace(key, firsts.size()).first->second;
    return std::pair<size_t, int64_t>(first, op.getPart() ? op.getPart()->front() : 0);
  };
  for (const PlacedEntry& entry : entries) static_cast<void>(place(entry));
  std::ranges::sort(entries, {}, place);
}

}  // namespace

Result<blob::Program> emitProgram(mlir::ModuleOp module) {
  auto programs = module.getOps<task::ProgramOp>();
  if (programs.empty()) return internalError("the module holds no task.program");
  blob::Program program;
  std::vector<PlacedEntry> entries;
  std::list<llvm::StringMap<uint32_t>> bodies;  // of each program, by name
  for (task::ProgramOp op : programs) {
    FIRN_RETURN_IF_ERROR(checkScheduled(op));
    FIRN_RETURN_IF_ERROR(checkNames(op));
    emitHeader(op, program.header);  // the last one knows all of the weights
    auto& names = bodies.emplace_back();
    for (auto body : op.getBody().getOps<task::BodyOp>()) names[body.getSymName()] = emitBody(body, program);
    const auto target = blob::targetFromName(view(op.getTarget())).value_or(blob::Target{});
    for (auto entry : op.getBody().getOps<task::EntryOp>()) entries.push_back({entry, target, &names});
  }
  joinParts(entries);
  for (const PlacedEntry& entry : entries) FIRN_RETURN_IF_ERROR(emitEntry(entry, program));
  return program;
}

}  // namespace firn::blob_emit
