#include "compiler/target/cpu/top_k.h"

#include "compiler/target/cpu/linear.h"

namespace firn::target {

mlir::LogicalResult lowerCpuTopK(BodyLowering& body, mlir::Operation* op) {
  auto topK = llvm::cast<graph::TopKOp>(op);
  ValueState* logits = body.find(topK.getInput());
  if (logits == nullptr) return op->emitOpError() << "reads logits that are not made in this body";
  const Tensor in = logits->lanes[0];
  const int64_t count = llvm::cast<mlir::RankedTensorType>(topK.getValues().getType()).getDimSize(1);
  const llvm::SmallVector<int64_t> dims = {body.rows(), count};
  const Tensor values = denseTensor(blob::Space::kSymbol, "top_logits", DType::kF32, dims);
  const Tensor ids = denseTensor(blob::Space::kSymbol, "top_ids", DType::kI32, dims);
  const std::vector<Range> ranges = splitVocabulary(in.dims[1], body.lanes());
  const int64_t parts = llvm::count_if(ranges, [](const Range& range) { return range.count > 0; });
  const bool isOne = parts == 1;
  const llvm::SmallVector<int64_t> partDims = {parts, body.rows(), count};
  const Tensor partValues = isOne ? values.asPartial() : body.sharedBuffer("top_logits", DType::kF32, partDims);
  const Tensor partIds = isOne ? ids.asPartial() : body.sharedBuffer("top_ids", DType::kI32, partDims);
  int64_t part = 0;
  for (int lane = 0; lane < body.lanes(); ++lane) {
    const Range range = ranges[static_cast<size_t>(lane)];
    if (range.count == 0) continue;
    body.run(lane, "cpu.top_k", "top_k",
             {in.columns(range.first, range.count), partValues.element(part), partIds.element(part)},
             {body.integer(range.first)});
    ++part;
  }
  if (isOne) return mlir::success();
  body.barrier();
  body.run(0, "cpu.top_k_merge", "top_k", {partValues, partIds, values, ids});
  return mlir::success();
}

}  // namespace firn::target
