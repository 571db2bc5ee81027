#include "compiler/target/npu/fused_group.h"

namespace firn::target::npu {
namespace {

/// True when both have the number of one group.
bool isInGroup(mlir::Operation* op, mlir::Operation* layer) {
  mlir::Attribute group = layer->getAttr(graph::kGroupAttr);
  return group && op->getBlock() == layer->getBlock() && op->getAttr(graph::kGroupAttr) == group;
}

/// The op of type Op that reads the result of `op` in the group; null when none does.
template <typename Op>
Op readerOf(mlir::Operation* op) {
  for (mlir::Operation* user : op->getResult(0).getUsers()) {
    if (auto reader = llvm::dyn_cast<Op>(user); reader && isInGroup(reader, op)) return reader;
  }
  return Op();
}

llvm::SmallVector<mlir::Operation*> layersOf(mlir::Operation* layer) {
  llvm::SmallVector<mlir::Operation*> layers = {layer};
  for (mlir::Operation* user : layer->getOperand(0).getUsers()) {
    if (user != layer && isLinearLayer(user) && isInGroup(user, layer)) layers.push_back(user);
  }
  llvm::sort(layers, [](mlir::Operation* a, mlir::Operation* b) { return a->isBeforeInBlock(b); });
  return layers;
}

/// The activation that reads the result of `layer` in the group.
mlir::Operation* activationOf(mlir::Operation* layer) {
  if (auto silu = readerOf<graph::SiluOp>(layer)) return silu;
  return readerOf<graph::GeluOp>(layer);
}

}  // namespace

bool FusedGroup::isWhole() const {
  graph::MulOp gated = product;
  return activation == nullptr || (layers.size() == 2 && gated);
}

mlir::Value FusedGroup::input() const {
  graph::RmsNormOp first = norm;
  return first ? first.getInput() : layers.front().op->getOperand(0);
}

bool isLinearLayer(mlir::Operation* op) { return llvm::isa<graph::LinearOp, graph::HeadOp>(op); }

FusedGroup fusedGroupOf(mlir::Operation* layer) {
  FusedGroup group;
  for (mlir::Operation* op : layersOf(layer)) {
    group.layers.push_back({op, readerOf<graph::RopeOp>(op), readerOf<graph::AddOp>(op)});
    if (mlir::Operation* activation = activationOf(op)) {
      group.activation = activation;
      group.product = readerOf<graph::MulOp>(activation);
    }
  }
  const bool isSecondGate = group.activation != nullptr && activationOf(group.layers.back().op) != nullptr;
  if (isSecondGate) std::swap(group.layers.front(), group.layers.back());
  if (auto norm = layer->getOperand(0).getDefiningOp<graph::RmsNormOp>(); norm && isInGroup(norm, layer)) {
    group.norm = norm;
  }
  return group;
}

bool leadsGroup(mlir::Operation* layer) { return layersOf(layer).front() == layer; }

}  // namespace firn::target::npu
