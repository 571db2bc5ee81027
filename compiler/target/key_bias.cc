#include "compiler/target/key_bias.h"

namespace firn::target {
namespace {

/// The only user of `value`, when it is one and an Op.
template <typename Op>
Op onlyUser(mlir::Value value) {
  if (!value.hasOneUse()) return {};
  return llvm::dyn_cast<Op>(*value.getUsers().begin());
}

}  // namespace

bool leavesBiasToAttention(DType kvType, graph::LinearOp linear) {
  if (kvType != DType::kI8 || !linear.getBiasAttr()) return false;
  auto rope = onlyUser<graph::RopeOp>(linear.getResult());
  auto update = rope ? onlyUser<graph::CacheUpdateOp>(rope.getResult()) : graph::CacheUpdateOp();
  if (!update || update.getInput() != rope.getResult()) return false;
  bool isRead = false;
  for (mlir::Operation* user : update.getResult().getUsers()) {
    if (llvm::isa<graph::ReturnOp>(user)) continue;
    auto attention = llvm::dyn_cast<graph::AttentionOp>(user);
    if (!attention || attention.getKeys() != update.getResult() || attention.getValues() == update.getResult()) {
      return false;
    }
    isRead = true;
  }
  return isRead;
}

std::optional<KeyBias> keyBiasOf(DType kvType, graph::AttentionOp attention) {
  auto update = attention.getKeys().getDefiningOp<graph::CacheUpdateOp>();
  auto rope = update ? update.getInput().getDefiningOp<graph::RopeOp>() : graph::RopeOp();
  auto linear = rope ? rope.getInput().getDefiningOp<graph::LinearOp>() : graph::LinearOp();
  if (!linear || !leavesBiasToAttention(kvType, linear)) return std::nullopt;
  return KeyBias{linear, rope};
}

}  // namespace firn::target
