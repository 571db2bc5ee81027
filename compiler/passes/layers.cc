#include "compiler/passes/layers.h"

#include <vector>

namespace firn::passes {
namespace {

/// The only value alive at a point, or null.
using Cuts = std::vector<mlir::Value>;

/// Cuts before each op of `ops`, and one after the last.
Cuts findCuts(llvm::ArrayRef<mlir::Operation*> ops, mlir::Value hidden) {
  llvm::DenseMap<mlir::Operation*, size_t> index;
  for (size_t i = 0; i < ops.size(); ++i) index[ops[i]] = i;

  // alive[p] counts the values alive before op p, sums[p] adds up their definers' indices: with one alive, its own.
  std::vector<int64_t> alive(ops.size() + 2);
  std::vector<int64_t> sums(ops.size() + 2);
  for (size_t i = 0; i < ops.size(); ++i) {
    for (mlir::Value result : ops[i]->getResults()) {
      size_t end = i + 1;
      for (mlir::Operation* user : result.getUsers()) {
        auto found = index.find(user);
        if (found != index.end()) end = std::max(end, found->second + 1);
      }
      if (result == hidden) end = std::max(end, i + 2);
      if (end == i + 1) continue;
      const auto id = static_cast<int64_t>(i);
      ++alive[i + 1], sums[i + 1] += id;
      --alive[end], sums[end] -= id;
    }
  }
  Cuts cuts(ops.size() + 1);
  for (size_t p = 1; p <= ops.size(); ++p) {
    alive[p] += alive[p - 1];
    sums[p] += sums[p - 1];
    if (alive[p] != 1 || ops[sums[p]]->getNumResults() != 1) continue;
    mlir::Value value = ops[sums[p]]->getResult(0);
    if (llvm::cast<mlir::RankedTensorType>(value.getType()).getRank() == 2) cuts[p] = value;
  }
  return cuts;
}

bool touchesCache(mlir::Operation* op) { return llvm::isa<graph::CacheUpdateOp, graph::AttentionOp>(op); }

}  // namespace

llvm::SmallVector<LayerSpan> findLayers(graph::FuncOp entry, mlir::Value hidden) {
  llvm::SmallVector<mlir::Operation*> ops;
  for (mlir::Operation& op : entry.getBody().front().without_terminator()) ops.push_back(&op);
  const Cuts cuts = findCuts(ops, hidden);

  llvm::SmallVector<size_t> starts;
  size_t lastCut = 0;  // 0: none yet
  size_t hiddenCut = 0;
  for (size_t p = 0; p <= ops.size(); ++p) {
    if (cuts[p]) lastCut = p;
    if (cuts[p] == hidden && hiddenCut == 0) hiddenCut = p;
    if (p == ops.size() || !touchesCache(ops[p])) continue;
    if (lastCut == 0 || hiddenCut != 0) return {};
    if (starts.empty() || starts.back() != lastCut) starts.push_back(lastCut);
  }
  if (hiddenCut == 0 || starts.empty()) return {};

  llvm::SmallVector<LayerSpan> layers;
  for (size_t i = 0; i < starts.size(); ++i) {
    const size_t end = i + 1 < starts.size() ? starts[i + 1] : hiddenCut;
    layers.push_back({ops[starts[i]], ops[end - 1], cuts[starts[i]], cuts[end]});
  }
  return layers;
}

}  // namespace firn::passes
