// Checks of the ops of the task dialect: what holds in every phase. That addresses are there and do not overlap is
// checked when the program becomes bytes (blob/verifier.h).
#include <limits>

#include "blob/names.h"
#include "compiler/ir/task.h"
#include "kernels/quant/group_split.h"
#include "mlir/IR/Builders.h"

#include "compiler/ir/task_dialect.cc.inc"

#define GET_OP_CLASSES
#include "compiler/ir/task_ops.cc.inc"

namespace firn::task {
namespace {

constexpr int64_t kAlignment = static_cast<int64_t>(blob::kTensorAlignment);

/// The op of type `Op` that `name` names in the nearest symbol tables around `from`: its body, then its program.
template <typename Op>
Op lookup(mlir::Operation* from, llvm::StringRef name) {
  auto symbol = mlir::StringAttr::get(from->getContext(), name);
  for (mlir::Operation* scope = from->getParentOp(); scope != nullptr; scope = scope->getParentOp()) {
    if (!scope->hasTrait<mlir::OpTrait::SymbolTable>()) continue;
    if (auto found = llvm::dyn_cast_or_null<Op>(mlir::SymbolTable::lookupSymbolIn(scope, symbol))) return found;
  }
  return {};
}

/// All ops of a region are of the listed types.
template <typename... Ops>
mlir::LogicalResult holdsOnly(mlir::Operation* op, mlir::Block& block) {
  for (mlir::Operation& child : block) {
    if (!llvm::isa<Ops...>(child)) return child.emitOpError() << "cannot stand in " << op->getName();
  }
  return mlir::success();
}

/// True of numbers that kernels, which compute in f32, can take: finite there and above `above`.
bool isFiniteF32(llvm::APFloat number, double above = -std::numeric_limits<double>::infinity()) {
  bool losesInfo = false;
  number.convert(llvm::APFloat::IEEEsingle(), llvm::APFloat::rmNearestTiesToEven, &losesInfo);
  return number.isFinite() && static_cast<double>(number.convertToFloat()) > above;
}

mlir::LogicalResult checkAddress(mlir::Operation* op, std::optional<int64_t> address) {
  if (address && (*address < 0 || *address % kAlignment != 0)) {
    return op->emitOpError() << "address " << *address << " is no multiple of " << kAlignment;
  }
  return mlir::success();
}

/// The memory that a body's tasks may name, looked up by name in constant time: there are many tasks.
struct Names {
  mlir::SymbolTable own;
  mlir::SymbolTable program;

  template <typename Op>
  Op find(llvm::StringRef name) const {
    if (auto found = own.lookup<Op>(name)) return found;
    return program.lookup<Op>(name);
  }
};

/// What an operand counts from exists, and its bytes lie inside.
mlir::LogicalResult checkOperand(RunOp run, unsigned index, OperandAttr operand, const Names& names) {
  auto fail = [&] { return run.emitOpError() << "operand " << index << ": "; };
  auto fits = [&](uint64_t limit) -> mlir::LogicalResult {
    if (operand.getOffset() > limit || operand.getBytes() > limit - operand.getOffset()) {
      return fail() << "bytes " << operand.getOffset() << " to " << operand.getOffset() + operand.getBytes()
                    << " lie outside the " << limit << " of '" << operand.getBase() << "'";
    }
    return mlir::success();
  };
  std::optional<uint64_t> extent =
      operandExtent(operand.getDtype(), operand.getLayout(), operand.getDims(), operand.getStrides());
  if (!extent) return fail() << dtypeName(operand.getDtype()) << " cannot have the dims and strides of " << operand;
  if (*extent > operand.getBytes()) {
    return fail() << "touches " << *extent << " bytes but states only " << operand.getBytes();
  }
  llvm::StringRef base = operand.getBase();
  if (operand.getSpace() == blob::Space::kSymbol) {
    return symbolFromName(base) ? mlir::success() : fail() << "'" << base << "' is no symbol of an entry";
  }
  if (base.empty()) return mlir::success();
  if (operand.getSpace() == blob::Space::kCmx) {
    std::optional<CmxBase> cmx = cmxBase(base);
    if (!cmx) return fail() << "'" << base << "' is no buffer and tile of cmx";
    if (cmx->buffer.empty()) return mlir::success();
    auto buffer = names.find<BufferOp>(cmx->buffer);
    if (!buffer) return fail() << "no task.buffer @" << cmx->buffer;
    if (!buffer.getTiles() || (static_cast<uint64_t>(*buffer.getTiles()) >> cmx->tile & 1) == 0) {
      return fail() << "buffer @" << cmx->buffer << " does not lie in tile " << cmx->tile;
    }
    return fits(buffer.getBytes());
  }
  if (llvm::StringRef name = base; name.consume_front("@")) {
    if (operand.getSpace() == blob::Space::kScratch) {
      auto buffer = names.find<BufferOp>(name);
      return buffer ? fits(buffer.getBytes()) : fail() << "no task.buffer @" << name;
    }
    auto stream = names.find<StreamOp>(name);
    return stream ? fits(stream.getBytes()) : fail() << "no task.stream @" << name;
  }
  for (auto param : run->getParentOfType<BodyOp>().getParams().getAsRange<ParamAttr>()) {
    if (param.getName() == base && param.getSpace() == operand.getSpace()) return fits(param.getBytes());
  }
  return fail() << "the body has no " << task::spaceName(operand.getSpace()) << " param '" << base << "'";
}

}  // namespace

void TaskDialect::initialize() {
  registerAttributes();
  addOperations<
#define GET_OP_LIST
#include "compiler/ir/task_ops.cc.inc"
      >();
}

mlir::LogicalResult ProgramOp::verify() {
  if (!blob::targetFromName(std::string_view(getTarget()))) {
    return emitOpError() << "target is '" << getTarget() << "', expected one of: " << blob::targetNames();
  }
  if (getLanes() < 1) return emitOpError() << "lanes is " << getLanes() << ", not at least 1";
  return holdsOnly<StreamOp, BufferOp, BodyOp, EntryOp>(*this, *getBody().begin());
}

mlir::LogicalResult StreamOp::verify() {
  if (mlir::failed(holdsOnly<PackOp>(*this, *getBody().begin()))) return mlir::failure();
  uint64_t end = 0;
  for (auto pack : getBody().getOps<PackOp>()) {
    if (pack.getOffset() < end) {
      return pack.emitOpError() << "begins at " << pack.getOffset() << ", before the end of the one above, " << end;
    }
    end = pack.getOffset() + pack.getBytes();
  }
  if (end > getBytes()) return emitOpError() << "holds " << getBytes() << " bytes, but its packs end at " << end;
  return checkAddress(*this, getAddress());
}

bool isPlaneForm(llvm::StringRef form) { return form == "codes" || form == "scales" || form == "mins"; }

std::optional<PackPlane> packPlane(llvm::StringRef form, DType type, int64_t columns) {
  std::optional<quant::GroupFormat> format = quant::groupFormat(type);
  if (!isPlaneForm(form) || !format || columns < 0 || columns % format->groupElements != 0) return std::nullopt;
  if (form == "codes") return PackPlane{DType::kU8, static_cast<int64_t>(format->codeBytes(columns))};
  if (form == "mins" && !format->hasMins) return std::nullopt;
  return PackPlane{DType::kF16, columns / format->groupElements};
}

mlir::LogicalResult PackOp::verify() {
  llvm::StringRef form = getForm();
  if (form != "raw" && form != "f32" && form != "panels" && form != "rope_table" && !isPlaneForm(form)) {
    return emitOpError() << "form is '" << form << "', not raw, f32, panels, codes, scales, mins or rope_table";
  }
  std::optional<DType> dtype = dtypeFromName(getDtype());
  if (!dtype) return emitOpError() << "'" << getDtype() << "' is no element type";
  if (getRows().size() != 2 || getColumns().size() != 2 || getRows()[0] < 0 || getRows()[1] < 1 ||
      getColumns()[0] < 0 || getColumns()[1] < 1) {
    return emitOpError() << "rows and columns are [first >= 0, count >= 1], found [" << getRows() << "] and ["
                         << getColumns() << "]";
  }
  if (getOffset() % kAlignment != 0) return emitOpError() << "offset is no multiple of " << kAlignment;
  bool panels = form == "panels";
  PackPlane row{*dtype, form == "rope_table" ? 2 * getColumns()[1] : getColumns()[1]};
  if (isPlaneForm(form)) {
    std::optional<PackPlane> plane = packPlane(form, *dtype, getColumns()[1]);
    if (!plane || !packPlane(form, *dtype, getColumns()[0])) {
      return emitOpError() << getDtype() << " columns [" << getColumns() << "] have no " << form
                           << ": expected whole groups of a type that is stored so";
    }
    row = *plane;
  }
  std::optional<uint64_t> bytes =
      operandExtent(row.dtype, panels ? blob::Layout::kPanels : blob::Layout::kStrided, {getRows()[1], row.columns},
                    panels ? llvm::ArrayRef<int64_t>{0, 0} : llvm::ArrayRef<int64_t>{row.columns, 1});
  if (!bytes || *bytes != static_cast<uint64_t>(getBytes())) {
    return emitOpError() << "states " << getBytes() << " bytes, but " << dtypeName(row.dtype) << " [" << getRows()[1]
                         << ", " << row.columns << "] as " << form << " takes " << bytes.value_or(0);
  }
  if (getValues() && form != "rope_table") {
    if (panels || *dtype != DType::kF32) return emitOpError() << getDtype() << " " << form << " has no values";
    if (getValues()->getNumElements() != getRows()[1] * getColumns()[1]) {
      return emitOpError() << "found " << getValues()->getNumElements() << " values, expected one for each of "
                           << getRows()[1] << " x " << getColumns()[1];
    }
  }
  if (form == "rope_table" && (!getValues() || !getMagnitude() || getValues()->getNumElements() != getColumns()[1])) {
    return emitOpError() << "a rope_table needs a magnitude and " << getColumns()[1] << " values";
  }
  if (getMagnitude() && !isFiniteF32(*getMagnitude(), 0)) {
    return emitOpError() << "magnitude is " << getMagnitudeAttr() << ", expected a number finite and above 0 in f32";
  }
  if (getValues()) {
    auto numbers = getValues()->tryGetValues<llvm::APFloat>();
    if (!numbers || !llvm::all_of(*numbers, [](const llvm::APFloat& one) { return isFiniteF32(one); })) {
      return emitOpError() << "values " << *getValues() << ", expected numbers finite in f32";
    }
  }
  return mlir::success();
}

mlir::LogicalResult BufferOp::verify() {
  if (getBytes() < 1) return emitOpError() << "holds " << getBytes() << " bytes, not at least 1";
  if (!llvm::isa<ProgramOp, BodyOp>((*this)->getParentOp())) return emitOpError() << "belongs in a program or a body";
  return checkAddress(*this, getAddress());
}

mlir::LogicalResult BodyOp::verify() {
  for (auto param : getParams().getAsRange<ParamAttr>()) {
    if (param.getSpace() != blob::Space::kWeights && param.getSpace() != blob::Space::kKv) {
      return emitOpError() << "param '" << param.getName() << "' is in " << task::spaceName(param.getSpace())
                           << ", not in weights or kv";
    }
  }
  return holdsOnly<BufferOp, SegmentOp>(*this, *getBody().begin());
}

mlir::LogicalResult BodyOp::verifyRegions() {
  const Names names = {mlir::SymbolTable(*this), mlir::SymbolTable((*this)->getParentOp())};
  const mlir::WalkResult result = walk([&](RunOp run) {
    unsigned index = 0;
    for (auto operand : run.getArgs().getAsRange<OperandAttr>()) {
      if (mlir::failed(checkOperand(run, index++, operand, names))) return mlir::WalkResult::interrupt();
    }
    return mlir::WalkResult::advance();
  });
  return mlir::failure(result.wasInterrupted());
}

std::optional<CmxBase> cmxBase(llvm::StringRef base) {
  CmxBase cmx;
  llvm::StringRef tile = base;
  if (base.starts_with("@")) std::tie(cmx.buffer, tile) = base.drop_front().rsplit(':');
  if (tile.getAsInteger(10, cmx.tile) || cmx.tile >= 64) return std::nullopt;
  return cmx;
}

mlir::LogicalResult SegmentOp::verify() {
  if (mlir::failed(holdsOnly<LaneOp>(*this, *getBody().begin()))) return mlir::failure();
  int64_t lanes = (*this)->getParentOfType<ProgramOp>().getLanes();
  int64_t index = 0;
  for (auto lane : getBody().getOps<LaneOp>()) {
    if (static_cast<int64_t>(lane.getIndex()) != index) {
      return lane.emitOpError() << "has index " << lane.getIndex() << " where " << index << " is next";
    }
    ++index;
  }
  if (index != lanes) return emitOpError() << "has " << index << " lanes, the program " << lanes;
  return mlir::success();
}

mlir::LogicalResult RunOp::verify() {
  if (!taskOpFromName(getOp())) return emitOpError() << "'" << getOp() << "' is no task op";
  for (mlir::Attribute value : getValues().value_or(mlir::ArrayAttr::get(getContext(), {}))) {
    if (!llvm::isa<mlir::IntegerAttr, mlir::FloatAttr>(value)) {
      return emitOpError() << "attribute " << value << " is no number";
    }
    if (auto real = llvm::dyn_cast<mlir::FloatAttr>(value); real && !isFiniteF32(real.getValue())) {
      return emitOpError() << "attribute " << value << ", expected a number finite in f32";
    }
  }
  return mlir::success();
}

mlir::LogicalResult EntryOp::verify() {
  std::optional<blob::EntryKind> kind = entryKindFromName(getKind());
  if (!kind) return emitOpError() << "kind is '" << getKind() << "', not prefill, generate, batch or head";
  if (getRows() < 1) return emitOpError() << "rows is " << getRows() << ", not at least 1";
  if ((*kind == blob::EntryKind::kHead) != (getContextRows() == 0)) {
    return emitOpError() << "context is " << getContextRows() << "; a head has 0, every other entry at least 1";
  }
  return holdsOnly<SymbolOp, CallOp>(*this, *getBody().begin());
}

mlir::LogicalResult SymbolOp::verify() {
  if (!symbolFromName(getKind())) return emitOpError() << "'" << getKind() << "' is no symbol of an entry";
  if (!dtypeFromName(getDtype())) return emitOpError() << "'" << getDtype() << "' is no element type";
  return mlir::success();
}

mlir::LogicalResult CallOp::verify() {
  auto body = lookup<BodyOp>(*this, getCallee());
  if (!body) return emitOpError() << "no task.body @" << getCallee();
  if (getArgs().size() != body.getParams().size()) {
    return emitOpError() << "gives " << getArgs().size() << " values for the " << body.getParams().size()
                         << " params of @" << getCallee();
  }
  for (auto [arg, attr] : llvm::zip(getArgs(), body.getParams())) {
    auto param = llvm::cast<ParamAttr>(attr);
    if (llvm::isa<mlir::IntegerAttr>(arg)) continue;
    auto symbol = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(arg);
    if (!symbol || param.getSpace() != blob::Space::kWeights) {
      return emitOpError() << "param '" << param.getName() << "' cannot be " << arg;
    }
    auto stream = lookup<StreamOp>(*this, symbol.getValue());
    if (!stream) return emitOpError() << "no task.stream " << arg;
    if (static_cast<uint64_t>(stream.getBytes()) < param.getBytes()) {
      return emitOpError() << "param '" << param.getName() << "' takes " << param.getBytes() << " bytes, " << arg
                           << " holds " << stream.getBytes();
    }
  }
  return mlir::success();
}

}  // namespace firn::task
