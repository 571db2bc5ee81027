#include "compiler/target/cpu/linear.h"

#include "compiler/target/cpu/activations.h"
#include "compiler/target/cpu/lane_split.h"
#include "compiler/target/key_bias.h"
#include "kernels/quant/panel.h"

namespace firn::target {
namespace {

using Form = ValueState::Form;

/// What the result of a linear is for, which decides how its rows are split and how exact its input must be.
enum class Use { kQuery, kKeyOrValue, kOther };

Use useOf(mlir::Value value) {
  for (mlir::Operation* user : value.getUsers()) {
    if (llvm::isa<graph::RopeOp, graph::RmsNormOp>(user)) return useOf(user->getResult(0));
    if (llvm::isa<graph::CacheUpdateOp>(user)) return Use::kKeyOrValue;
    if (auto attention = llvm::dyn_cast<graph::AttentionOp>(user); attention && attention.getQuery() == value) {
      return Use::kQuery;
    }
  }
  return Use::kOther;
}

/// Output columns of each lane.
std::vector<Range> splitRows(BodyLowering& body, Use use, int64_t rows) {
  if (use == Use::kOther) return splitColumns(rows, quant::kGroup, body.lanes());
  const graph::ModelCard& card = body.shape().card;
  HeadSplit heads = splitHeads(card.heads, card.kvHeads, card.headDim, body.lanes());
  std::vector<Range> ranges = use == Use::kQuery ? heads.query : heads.kv;
  for (Range& range : ranges) range = {range.first * card.headDim, range.count * card.headDim};
  return ranges;
}

/// One task: in (of `lane`) x weight (+ bias) -> out.
struct Product {
  mlir::Value input;
  int64_t planes = 1;
  std::string role;
  Tensor weight;
  std::optional<Tensor> bias;
  Tensor out;
};

void runProduct(BodyLowering& body, int lane, const Product& product) {
  llvm::SmallVector<Tensor> operands;
  bool quantized = dtypeInfo(product.weight.dtype)->isQuantized;
  if (quantized) {
    for (Tensor& tensor : quantizedIn(body, product.input, lane, product.planes)) operands.push_back(tensor);
  } else {
    operands.push_back(body.find(product.input)->lanes[static_cast<size_t>(lane)]);
  }
  operands.push_back(product.weight);
  if (product.bias) operands.push_back(*product.bias);
  operands.push_back(product.out);
  body.run(lane, quantized ? "cpu.linear_i8" : "cpu.linear_f32", product.role, operands);
}

/// Weight and, where the op has one, bias of a linear.
struct Weights {
  WeightInfo matrix;
  std::optional<WeightInfo> bias;
};

template <typename Op>
mlir::FailureOr<Weights> weightsOf(BodyLowering& body, Op op) {
  auto matrix = body.weight(op, op.getWeightAttr());
  if (mlir::failed(matrix)) return mlir::failure();
  Weights weights = {*matrix, std::nullopt};
  if (op.getBiasAttr()) {
    auto bias = body.weight(op, op.getBiasAttr());
    if (mlir::failed(bias)) return mlir::failure();
    weights.bias = *bias;
  }
  return weights;
}

mlir::LogicalResult splitByRows(BodyLowering& body, graph::LinearOp linear, const Weights& weights) {
  Use use = useOf(linear.getResult());
  ValueState out;
  out.form = Form::kSplit;
  out.ranges = splitRows(body, use, weights.matrix.rows);
  out.lanes.resize(out.ranges.size());
  for (int lane = 0; lane < body.lanes(); ++lane) {
    Range rows = out.ranges[static_cast<size_t>(lane)];
    if (rows.count == 0) continue;
    Product product;
    product.input = linear.getInput();
    product.planes = use == Use::kOther ? body.choices().otherPlanes : body.choices().attentionInputPlanes;
    product.role = roleOf(weights.matrix.symbol);
    product.weight = body.streamed(lane, weights.matrix, "panels", rows, {0, weights.matrix.columns});
    if (weights.bias && !leavesBiasToAttention(body.shape().kvType, linear)) {
      product.bias = body.streamed(lane, *weights.bias, "f32", {0, 1}, rows);
    }
    product.out = body.laneBuffer(product.role, lane, DType::kF32, {body.rows(), rows.count});
    out.lanes[static_cast<size_t>(lane)] = product.out;
    runProduct(body, lane, product);
  }
  body.set(linear.getResult(), out);
  return mlir::success();
}

/// True when the sum of this product and a residual is what the body returns: its partial sums then pass on unadded.
bool leavesBody(mlir::Value result) {
  if (!result.hasOneUse()) return false;
  auto add = llvm::dyn_cast<graph::AddOp>(*result.getUsers().begin());
  return add && llvm::any_of(add->getUsers(), [](mlir::Operation* user) { return llvm::isa<graph::ReturnOp>(user); });
}

mlir::LogicalResult splitByColumns(BodyLowering& body, graph::LinearOp linear, const Weights& weights) {
  const std::vector<Range> columns = body.find(linear.getInput())->ranges;
  int64_t parts = llvm::count_if(columns, [](const Range& range) { return range.count > 0; });
  std::string role = roleOf(weights.matrix.symbol);
  llvm::SmallVector<int64_t> dims = {parts, body.rows(), weights.matrix.rows};
  ValueState out;
  out.form = Form::kPartial;
  out.partials = leavesBody(linear.getResult()) ? body.groupBuffer("partials", kSharedLane, DType::kF32, dims)
                                                : body.sharedBuffer(role + "_partials", DType::kF32, dims);
  out.writtenSegment = body.segment();
  int64_t part = 0;
  for (int lane = 0; lane < body.lanes(); ++lane) {
    Range range = columns[static_cast<size_t>(lane)];
    if (range.count == 0) continue;
    Product product;
    product.input = linear.getInput();
    product.planes = body.choices().otherPlanes;
    product.role = role;
    product.weight = body.streamed(lane, weights.matrix, "panels", {0, weights.matrix.rows}, range);
    // The bias counts once.
    if (weights.bias && part == 0) {
      product.bias = body.streamed(lane, *weights.bias, "f32", {0, 1}, {0, weights.matrix.rows});
    }
    product.out = out.partials.element(part++);
    runProduct(body, lane, product);
  }
  body.set(linear.getResult(), out);
  return mlir::success();
}

}  // namespace

mlir::LogicalResult lowerCpuLinear(BodyLowering& body, mlir::Operation* op) {
  auto linear = llvm::cast<graph::LinearOp>(op);
  auto weights = weightsOf(body, linear);
  if (mlir::failed(weights)) return mlir::failure();
  ValueState* in = body.find(linear.getInput());
  if (in != nullptr && in->form == Form::kSplit) return splitByColumns(body, linear, *weights);
  if (replicate(body, op, linear.getInput()) == nullptr) return mlir::failure();
  return splitByRows(body, linear, *weights);
}

std::vector<Range> splitVocabulary(int64_t vocab, int lanes) { return splitColumns(vocab, quant::kPanelRows, lanes); }

mlir::LogicalResult lowerCpuHead(BodyLowering& body, mlir::Operation* op) {
  auto head = llvm::cast<graph::HeadOp>(op);
  auto weights = weightsOf(body, head);
  if (mlir::failed(weights) || replicate(body, op, head.getInput()) == nullptr) return mlir::failure();
  const WeightInfo& matrix = weights->matrix;
  Tensor table = body.whole(matrix, "panels");
  uint64_t panelBytes = quant::panelShape(matrix.dtype, static_cast<uint64_t>(matrix.columns))->panelBytes;
  ValueState out;
  out.form = Form::kReplicated;
  out.lanes = {denseTensor(blob::Space::kSymbol, "logits", DType::kF32, {body.rows(), matrix.rows})};
  std::vector<Range> ranges = splitVocabulary(matrix.rows, body.lanes());
  for (int lane = 0; lane < body.lanes(); ++lane) {
    Range rows = ranges[static_cast<size_t>(lane)];
    if (rows.count == 0) continue;
    Product product;
    product.input = head.getInput();
    product.planes = body.choices().headPlanes;
    product.role = "head";
    product.weight = table;
    product.weight.offset += static_cast<uint64_t>(rows.first / quant::kPanelRows) * panelBytes;
    product.weight.dims[0] = rows.count;
    if (weights->bias) product.bias = body.whole(*weights->bias, "f32").columns(rows.first, rows.count);
    product.out = out.lanes[0].columns(rows.first, rows.count);
    runProduct(body, lane, product);
  }
  body.set(head.getResult(), out);
  return mlir::success();
}

}  // namespace firn::target
