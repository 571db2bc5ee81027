#include "compiler/passes/npu/schedule_body.h"

#include "compiler/passes/npu/body_plan.h"
#include "compiler/target/npu/schedule.h"
#include "mlir/IR/Builders.h"

namespace firn::passes {
namespace {

/// A segment for each queue, with its tasks in lane 0; each keeps its place in the order that was lowered.
void dealOut(task::BodyOp body, const std::vector<task::RunOp>& runs, const target::Ordered& order) {
  mlir::OpBuilder builder(body.getContext());
  auto old = llvm::to_vector(body.getBody().getOps<task::SegmentOp>());
  const auto lanes = static_cast<size_t>(body->getParentOfType<task::ProgramOp>().getLanes());
  for (auto [position, run] : llvm::enumerate(runs)) {
    task::RunOp task = run;
    task.setPosition(position);
  }
  builder.setInsertionPointToEnd(&body.getBody().front());
  for (const std::vector<uint32_t>& queue : order.order.queues) {
    auto segment = builder.create<task::SegmentOp>(body.getLoc());
    mlir::OpBuilder inSegment = mlir::OpBuilder::atBlockBegin(&segment.getBody().emplaceBlock());
    for (size_t lane = 0; lane < lanes; ++lane) {
      mlir::Block& block = inSegment.create<task::LaneOp>(body.getLoc(), lane).getBody().emplaceBlock();
      if (lane != 0) continue;
      for (uint32_t task : queue) {
        mlir::Operation* op = runs[task];
        op->moveBefore(&block, block.end());
      }
    }
  }
  for (task::SegmentOp segment : old) segment.erase();
}

}  // namespace

mlir::LogicalResult scheduleNpuBody(task::BodyOp body, const machine::Machine& machine, uint64_t scratchStart,
                                    uint64_t& scratchEnd) {
  auto plan = planOf(body, machine, "npu.schedule_c1");
  if (mlir::failed(plan)) return mlir::failure();
  const Result<target::Ordered> order = target::orderPlan(plan->plan, machine);
  if (!order) {
    const bool isRefusal = order.status().code() == Code::kResourceExhausted;
    return body.emitOpError() << (isRefusal ? "npu.schedule_c2: " : "npu.schedule_c3: ") << order.status().message();
  }
  const target::BufferPlacement& placement = order->placement;
  scratchEnd = scratchStart + placement.scratchBytes;
  for (auto [buffer, address] : llvm::zip(plan->buffers, placement.addresses)) {
    task::BufferOp op = buffer;
    op.setAddress(static_cast<int64_t>(op.getTiles() ? address : scratchStart + address));
  }
  dealOut(body, plan->runs, *order);
  return mlir::success();
}

}  // namespace firn::passes
