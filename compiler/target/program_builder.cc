#include "compiler/target/program_builder.h"

#include <bit>
#include <utility>

#include "base/align.h"

namespace firn::target {
namespace {

constexpr uint64_t kAlignment = blob::kTensorAlignment;

mlir::DictionaryAttr modelAttr(mlir::OpBuilder& builder, const ProgramShape& shape) {
  const graph::ModelCard& card = shape.card;
  auto number = [&](llvm::StringRef key, int64_t value) {
    return builder.getNamedAttr(key, builder.getI64IntegerAttr(value));
  };
  llvm::SmallVector<mlir::NamedAttribute> attrs = {
      number("layers", card.layers),
      number("embed", card.embed),
      number("heads", card.heads),
      number("kv_heads", card.kvHeads),
      number("head_dim", card.headDim),
      number("vocab", card.vocab),
      number("max_prompt_tokens", shape.maxPromptTokens),
      number("min_response_tokens", shape.minResponseTokens),
      number("kv_rows", shape.kvRows),
      builder.getNamedAttr("kv_type", builder.getStringAttr(task::dtypeName(shape.kvType))),
  };
  return builder.getDictionaryAttr(attrs);
}

/// Content of a body as the addresses of its uniqued attributes.
std::vector<const void*> contentOf(const BodyPlan& plan) {
  std::vector<const void*> content;
  for (task::ParamAttr param : plan.params) content.push_back(param.getAsOpaquePointer());
  for (const auto& segment : plan.segments) {
    content.push_back(nullptr);
    for (const auto& lane : segment) {
      content.push_back(nullptr);
      for (const Run& run : lane) {
        for (mlir::Attribute attr : {mlir::Attribute(run.op), mlir::Attribute(run.name), mlir::Attribute(run.args),
                                     mlir::Attribute(run.values)}) {
          content.push_back(attr.getAsOpaquePointer());
        }
      }
    }
  }
  return content;
}

mlir::IntegerAttr optionalLane(mlir::OpBuilder& builder, int lane) {
  return lane == kSharedLane ? mlir::IntegerAttr() : builder.getI64IntegerAttr(lane);
}

}  // namespace

std::string Pack::key() const {
  std::string text = source + "|" + form + "|" + std::string(task::dtypeName(dtype));
  for (int64_t number : {firstRow, rowCount, firstColumn, columnCount}) text += "|" + std::to_string(number);
  return text + "|" + (magnitude ? std::to_string(std::bit_cast<uint32_t>(*magnitude)) : "");
}

uint64_t StreamTemplate::append(Pack pack) {
  pack.offset = roundUp(bytes, kAlignment);
  bytes = pack.offset + pack.bytes;
  packs.push_back(std::move(pack));
  return packs.back().offset;
}

ProgramBuilder::ProgramBuilder(mlir::ModuleOp module, ProgramShape shape) : shape_(std::move(shape)) {
  mlir::OpBuilder builder = mlir::OpBuilder::atBlockEnd(module.getBody());
  program_ = builder.create<task::ProgramOp>(module.getLoc(), shape_.target, shape_.lanes, modelAttr(builder, shape_),
                                             mlir::DictionaryAttr());
  program_.getBody().emplaceBlock();
  if (!shape_.machine.empty()) program_->setAttr(task::kMachineAttr, builder.getStringAttr(shape_.machine));
}

mlir::OpBuilder ProgramBuilder::atEnd() { return mlir::OpBuilder::atBlockEnd(&program_.getBody().front()); }

std::string ProgramBuilder::uniqueName(llvm::StringRef name) {
  std::string unique = name.str();
  for (int count = 1; !names_.insert(unique).second; ++count) unique = name.str() + "." + std::to_string(count);
  return unique;
}

mlir::FlatSymbolRefAttr ProgramBuilder::stream(llvm::StringRef name, const StreamTemplate& packs, Binding bind) {
  std::string content = std::to_string(packs.lane);
  std::vector<graph::WeightOp> sources;
  for (Pack pack : packs.packs) {
    graph::WeightOp weight = bind(pack.source);
    if (!weight) return {};
    sources.push_back(weight);
    pack.source = weight.getSymName().str();
    content += "\n" + pack.key();
  }
  std::string& known = streams_[content];
  if (known.empty()) {
    const std::string& form = packs.packs.front().form;
    std::string suffix = form == "rope_table" ? ".table" : task::isPlaneForm(form) ? "." + form : "";
    known = uniqueName(packs.isWhole ? sources.front().getSymName().str() + suffix : name.str());
    mlir::OpBuilder builder = atEnd();
    auto loc = program_.getLoc();
    auto op =
        builder.create<task::StreamOp>(loc, known, packs.bytes, optionalLane(builder, packs.lane), mlir::IntegerAttr());
    builder.setInsertionPointToStart(&op.getBody().emplaceBlock());
    for (auto [pack, weight] : llvm::zip(packs.packs, sources)) {
      auto values = weight.getValue() ? llvm::cast<mlir::ElementsAttr>(*weight.getValue()) : mlir::ElementsAttr();
      builder.create<task::PackOp>(loc, weight.getFile().value_or(weight.getSymName()),
                                   llvm::ArrayRef<int64_t>{pack.firstRow, pack.rowCount},
                                   llvm::ArrayRef<int64_t>{pack.firstColumn, pack.columnCount}, pack.form,
                                   task::dtypeName(pack.dtype), pack.offset, pack.bytes, values,
                                   pack.magnitude ? builder.getF64FloatAttr(*pack.magnitude) : mlir::FloatAttr());
    }
  }
  return mlir::FlatSymbolRefAttr::get(context(), known);
}

std::string ProgramBuilder::groupBuffer(llvm::StringRef group, llvm::StringRef name, uint64_t bytes, int lane) {
  std::string symbol = (group + "." + name).str();
  std::string& known = buffers_[symbol];
  if (known.empty()) {
    known = "@" + uniqueName(symbol);
    mlir::OpBuilder builder = atEnd();
    builder.create<task::BufferOp>(program_.getLoc(), llvm::StringRef(known).drop_front(), bytes,
                                   optionalLane(builder, lane), mlir::IntegerAttr(), builder.getStringAttr(group),
                                   mlir::IntegerAttr());
  }
  return known;
}

std::string ProgramBuilder::body(llvm::StringRef name, const BodyPlan& plan) {
  std::string& known = bodies_[contentOf(plan)];
  if (!known.empty()) return known;
  known = uniqueName(name);
  mlir::OpBuilder builder = atEnd();
  auto loc = program_.getLoc();
  llvm::SmallVector<mlir::Attribute> params(plan.params.begin(), plan.params.end());
  auto body = builder.create<task::BodyOp>(loc, known, builder.getArrayAttr(params), builder.getStringAttr(plan.group),
                                           mlir::IntegerAttr());
  builder.setInsertionPointToStart(&body.getBody().emplaceBlock());
  for (const BodyPlan::Buffer& buffer : plan.buffers) {
    mlir::IntegerAttr tiles;
    if (buffer.tiles != 0) tiles = builder.getI64IntegerAttr(static_cast<int64_t>(buffer.tiles));
    builder.create<task::BufferOp>(loc, buffer.name, buffer.bytes, optionalLane(builder, buffer.lane), tiles,
                                   mlir::StringAttr(), mlir::IntegerAttr());
  }
  for (const auto& lanes : plan.segments) {
    auto segment = builder.create<task::SegmentOp>(loc);
    mlir::OpBuilder inSegment = mlir::OpBuilder::atBlockBegin(&segment.getBody().emplaceBlock());
    for (size_t index = 0; index < lanes.size(); ++index) {
      auto lane = inSegment.create<task::LaneOp>(loc, index);
      mlir::OpBuilder inLane = mlir::OpBuilder::atBlockBegin(&lane.getBody().emplaceBlock());
      for (const Run& run : lanes[index]) {
        inLane.create<task::RunOp>(loc, run.op, run.name, run.args, run.values, mlir::DenseI64ArrayAttr(),
                                   mlir::DenseI64ArrayAttr(), mlir::IntegerAttr());
      }
    }
  }
  return known;
}

task::EntryOp ProgramBuilder::entry(const graph::Entry& entry, llvm::StringRef group, mlir::StringAttr reason) {
  mlir::OpBuilder builder = atEnd();
  mlir::DenseI64ArrayAttr part;
  if (entry.parts > 1) part = builder.getDenseI64ArrayAttr({entry.part, entry.parts});
  auto op = builder.create<task::EntryOp>(program_.getLoc(), uniqueName(graph::entryName(entry)),
                                          task::entryKindName(entry.kind), entry.rows, entry.context, group,
                                          mlir::IntegerAttr(), mlir::IntegerAttr(), part, reason);
  op.getBody().emplaceBlock();
  return op;
}

blob::KvPart ProgramBuilder::cachePart() const {
  const graph::ModelCard& card = shape_.card;
  return blob::KvPart::of(shape_.kvType, static_cast<uint64_t>(card.kvHeads), static_cast<uint64_t>(shape_.kvRows),
                          static_cast<uint64_t>(card.headDim))
      .value_or(blob::KvPart{});
}

uint64_t ProgramBuilder::cacheOffset(int64_t layer, bool isValue) const {
  return (2 * static_cast<uint64_t>(layer) + (isValue ? 1 : 0)) * cachePart().bytes();
}

}  // namespace firn::target
