#include "compiler/target/body_lowering.h"

#include <algorithm>
#include <cassert>

#include "llvm/ADT/StringExtras.h"

namespace firn::target {
namespace {

void describeTensor(std::string& text, const Tensor& tensor) {
  text += std::to_string(static_cast<int>(tensor.space)) + tensor.base + "+" + std::to_string(tensor.offset) + "[";
  text += std::to_string(static_cast<int>(tensor.dtype));
  for (int64_t dim : tensor.dims) text += "," + std::to_string(dim);
  text += "]";
}

/// The shape of what a pack holds, with no base yet.
Tensor weightTensor(const Pack& pack, bool isVector) {
  Tensor tensor = denseTensor(blob::Space::kWeights, "", pack.dtype, {pack.rowCount, pack.columnCount});
  if (isVector) tensor = denseTensor(blob::Space::kWeights, "", pack.dtype, {pack.columnCount});
  if (task::isPlaneForm(pack.form)) {
    std::optional<task::PackPlane> plane = task::packPlane(pack.form, pack.dtype, pack.columnCount);
    assert(plane && "rules ask for planes of types that have them");
    tensor = denseTensor(blob::Space::kWeights, "", plane->dtype, {pack.rowCount, plane->columns});
  }
  if (pack.form == "panels") {
    tensor.layout = blob::Layout::kPanels;
    tensor.strides.assign(2, 0);
  }
  return tensor;
}

}  // namespace

std::string ValueState::describe() const {
  std::string text = std::to_string(static_cast<int>(form));
  for (const Tensor& tensor : lanes) describeTensor(text, tensor);
  for (const Range& range : ranges) text += std::to_string(range.first) + ":" + std::to_string(range.count) + ";";
  if (form == Form::kPartial || form == Form::kSum) describeTensor(text, partials);
  // The address of an op will do: a body is described again within the same lowering only.
  if (source != nullptr) text += std::to_string(reinterpret_cast<uintptr_t>(source));
  return text;
}

BodyLowering::BodyLowering(ProgramBuilder& program, const Target& target, const LoweringChoices& choices, Place place)
    : program_(program), target_(target), choices_(choices), place_(std::move(place)) {
  plan_.group = place_.group;
  barrier();
}

mlir::LogicalResult BodyLowering::lower(mlir::Operation* op) {
  auto rule = target_.rules.find(op->getName().getStringRef());
  if (rule == target_.rules.end()) return op->emitOpError() << "has no kernel on the target '" << target_.name() << "'";
  return rule->second.lower(*this, op);
}

ValueState* BodyLowering::find(mlir::Value value) {
  auto it = states_.find(value);
  return it == states_.end() ? nullptr : &it->second;
}

Tensor BodyLowering::laneBuffer(llvm::StringRef hint, int lane, DType dtype, llvm::ArrayRef<int64_t> dims) {
  std::string name = hint.str();
  if (lane != kSharedLane) name += "." + std::to_string(lane);
  if (int count = hints_[name]++; count > 0) name += "." + std::to_string(count);
  plan_.buffers.push_back({name, denseBytes(dtype, dims), lane});
  return denseTensor(blob::Space::kScratch, "@" + name, dtype, dims);
}

std::string BodyLowering::cmxBuffer(llvm::StringRef hint, uint64_t tiles, uint64_t bytes) {
  std::string name = hint.str();
  if (int count = hints_[name]++; count > 0) name += "." + std::to_string(count);
  plan_.buffers.push_back({name, bytes, kSharedLane, tiles});
  return "@" + name;
}

Tensor BodyLowering::groupBuffer(llvm::StringRef name, int lane, DType dtype, llvm::ArrayRef<int64_t> dims) {
  std::string base = program_.groupBuffer(place_.group, name, denseBytes(dtype, dims), lane);
  return denseTensor(blob::Space::kScratch, std::move(base), dtype, dims);
}

mlir::LogicalResult leaveToReader(BodyLowering& body, mlir::Operation* op) {
  ValueState state;
  state.form = ValueState::Form::kGate;
  state.source = op;
  body.set(op->getResult(0), state);
  return mlir::success();
}

mlir::FailureOr<WeightInfo> BodyLowering::weight(mlir::Operation* user, mlir::FlatSymbolRefAttr symbol) {
  mlir::Operation* op = graph::findWeight(user, symbol, program_.tables());
  mlir::RankedTensorType type = graph::weightType(user, symbol, program_.tables());
  if (op == nullptr || !type) return user->emitOpError() << "names no weight: " << symbol, mlir::failure();
  std::optional<DType> dtype = graph::elementDType(type.getElementType());
  if (!dtype || type.getRank() < 1 || type.getRank() > 2) {
    return user->emitOpError() << "weight " << symbol << " has type " << type << ", not a vector or matrix to store",
           mlir::failure();
  }
  WeightInfo info;
  info.symbol = symbol.getValue().str();
  info.dtype = *dtype;
  info.rows = type.getRank() == 2 ? type.getDimSize(0) : 1;
  info.columns = type.getShape().back();
  info.isVector = type.getRank() == 1;
  info.isFormal = llvm::isa<graph::ParamOp>(op);
  info.op = op;
  return info;
}

StreamTemplate& BodyLowering::streamOf(int lane) {
  auto it = std::ranges::find_if(streams_,
                                 [&](const StreamTemplate& stream) { return !stream.isWhole && stream.lane == lane; });
  if (it != streams_.end()) return *it;
  StreamTemplate stream;
  stream.param = lane == kSharedLane ? "shared" : "lane" + std::to_string(lane);
  stream.lane = lane;
  streams_.push_back(std::move(stream));
  return streams_.back();
}

Tensor BodyLowering::streamed(int lane, const WeightInfo& weight, llvm::StringRef form, Range rows, Range columns) {
  StreamTemplate& stream = streamOf(lane);
  Pack pack;
  pack.source = weight.symbol;
  pack.form = form.str();
  pack.dtype = form == "f32" ? DType::kF32 : weight.dtype;
  pack.firstRow = rows.first;
  pack.rowCount = rows.count;
  pack.firstColumn = columns.first;
  pack.columnCount = columns.count;
  Tensor tensor = weightTensor(pack, weight.isVector);
  tensor.base = stream.param;
  pack.bytes = tensor.attr(context()).getBytes();
  auto same = std::ranges::find(stream.packs, pack.key(), &Pack::key);
  tensor.offset = same != stream.packs.end() ? same->offset : stream.append(pack);
  return tensor;
}

std::string BodyLowering::wholeStream(const WeightInfo& weight, Pack pack) {
  StreamTemplate stream;
  stream.isWhole = true;
  stream.param = weight.symbol;
  if (task::isPlaneForm(pack.form)) stream.param += "." + pack.form;  // a body may read several of one weight
  std::string key = pack.key();
  if (auto actual = llvm::dyn_cast<graph::WeightOp>(weight.op)) {
    stream.append(std::move(pack));
    return "@" + program_.stream("", stream, [&](llvm::StringRef) { return actual; }).getValue().str();
  }
  auto same = std::ranges::find_if(
      streams_, [&](const StreamTemplate& known) { return known.isWhole && known.packs.front().key() == key; });
  if (same != streams_.end()) return same->param;
  stream.append(std::move(pack));
  streams_.push_back(std::move(stream));
  return streams_.back().param;
}

Tensor BodyLowering::whole(const WeightInfo& weight, llvm::StringRef form) {
  Pack pack;
  pack.source = weight.symbol;
  pack.form = form.str();
  pack.dtype = form == "f32" ? DType::kF32 : weight.dtype;
  pack.rowCount = weight.rows;
  pack.columnCount = weight.columns;
  Tensor tensor = weightTensor(pack, weight.isVector);
  pack.bytes = tensor.attr(context()).getBytes();
  tensor.base = wholeStream(weight, std::move(pack));
  return tensor;
}

Tensor BodyLowering::ropeTable(const WeightInfo& weight, float magnitude) {
  Pack pack;
  pack.source = weight.symbol;
  pack.form = "rope_table";
  pack.rowCount = shape().kvRows;
  pack.columnCount = weight.columns;
  pack.magnitude = magnitude;
  Tensor tensor = denseTensor(blob::Space::kWeights, "", DType::kF32, {shape().kvRows, weight.columns, 2});
  pack.bytes = tensor.attr(context()).getBytes();
  tensor.base = wholeStream(weight, std::move(pack));
  return tensor;
}

void BodyLowering::run(int lane, llvm::StringRef op, llvm::StringRef name, llvm::ArrayRef<Tensor> operands,
                       llvm::ArrayRef<mlir::Attribute> values) {
  mlir::MLIRContext* ctx = context();
  llvm::SmallVector<mlir::Attribute> args;
  for (const Tensor& operand : operands) args.push_back(operand.attr(ctx));
  plan_.segments.back()[static_cast<size_t>(lane)].push_back(
      {mlir::StringAttr::get(ctx, op), mlir::StringAttr::get(ctx, name), mlir::ArrayAttr::get(ctx, args),
       values.empty() ? mlir::ArrayAttr() : mlir::ArrayAttr::get(ctx, values)});
}

mlir::Attribute BodyLowering::integer(int64_t value) { return mlir::Builder(context()).getI64IntegerAttr(value); }
mlir::Attribute BodyLowering::number(double value) { return mlir::Builder(context()).getF64FloatAttr(value); }

void BodyLowering::barrier() { plan_.segments.emplace_back(static_cast<size_t>(lanes())); }

void BodyLowering::barrierAfter(int writtenSegment) {
  assert(writtenSegment <= segment());
  if (writtenSegment == segment()) barrier();
}

bool BodyLowering::isEmpty() const {
  return std::ranges::all_of(plan_.segments, [](const auto& segment) {
    return std::ranges::all_of(segment, [](const auto& lane) { return lane.empty(); });
  });
}

std::string BodyLowering::finish(llvm::StringRef name, llvm::ArrayRef<std::string> caches) {
  for (const StreamTemplate& stream : streams_) {
    plan_.params.push_back(task::ParamAttr::get(context(), blob::Space::kWeights, stream.param, stream.bytes));
  }
  for (const std::string& cache : caches) {
    plan_.params.push_back(task::ParamAttr::get(context(), blob::Space::kKv, cache, program_.cachePart().bytes()));
  }
  return program_.body(name, plan_);
}

std::string roleOf(llvm::StringRef symbol) {
  symbol.consume_back(".weight");
  if (symbol.consume_front("blk."))
    symbol = symbol.drop_while(llvm::isDigit).drop_while([](char c) { return c == '.'; });
  return symbol.str();
}

mlir::Operation* lastUser(mlir::Value value) {
  mlir::Operation* last = nullptr;
  for (mlir::Operation* user : value.getUsers()) {
    if (last == nullptr || last->isBeforeInBlock(user)) last = user;
  }
  return last;
}

}  // namespace firn::target
