#include "compiler/passes/cost_model.h"

#include <algorithm>

#include "blob/task_op_rules.h"

namespace firn::passes {
namespace {

/// Unpacking a panel of weights costs as much as this many rows of products with it, however many rows there are.
constexpr double kUnpackRows = 2;

/// The attribute of that name, which the op of `run` must have.
mlir::Attribute attributeOf(task::RunOp run, llvm::StringRef name) {
  const blob::TaskOpRule& rule = *blob::taskOpRule(*task::taskOpFromName(run.getOp()));
  auto* found = llvm::find_if(rule.attrs, [&](const blob::NamedAttr& attr) { return attr.name == name.str(); });
  return run.getValuesAttr()[static_cast<size_t>(found - rule.attrs.begin())];
}

/// Multiply-adds of attention, q.k and p.v. A chunk of m rows is the last of the context when its entry is well chosen,
/// so its rows see context - m / 2 rows on average, or the window.
double attentionMacs(task::RunOp run, int64_t context) {
  if (!run.getOp().ends_with(".attention")) return 0;
  auto query = llvm::cast<task::OperandAttr>(run.getArgs()[0]);
  double elements = 1;
  for (int64_t dim : query.getDims()) elements *= static_cast<double>(dim);
  double seen = static_cast<double>(context) - static_cast<double>(query.getDims()[0] - 1) / 2;
  auto window = static_cast<double>(llvm::cast<mlir::IntegerAttr>(attributeOf(run, "window")).getInt());
  if (window > 0) seen = std::min(seen, window);
  return 2 * elements * std::max(1.0, seen);
}

double taskSeconds(const target::CostModel& model, task::RunOp run, int64_t context) {
  double weightBytes = 0;
  double macs = 0;
  double activationBytes = 0;
  double rows = 1;
  double planes = 1;
  bool isInt = run.getOp().ends_with(".linear_i8");
  bool isLinear = run.getOp().contains(".linear");
  for (auto operand : run.getArgs().getAsRange<task::OperandAttr>()) {
    if (operand.getSpace() == blob::Space::kScratch || operand.getSpace() == blob::Space::kSymbol) {
      activationBytes += static_cast<double>(operand.getBytes());
    }
    if (operand.getDtype() == DType::kI8) planes = static_cast<double>(operand.getDims()[0]);
    if (!isLinear) continue;
    if (operand.getSpace() == blob::Space::kWeights && operand.getDims().size() == 2) {
      weightBytes += static_cast<double>(operand.getBytes());
      macs += static_cast<double>(operand.getDims()[0]) * static_cast<double>(operand.getDims()[1]);
    } else if (operand.getDtype() == DType::kF32 && operand.getDims().size() == 2) {
      rows = static_cast<double>(operand.getDims()[0]);
    }
  }
  double macSeconds =
      isInt ? macs * (rows * planes + kUnpackRows) / model.intMacsPerSecond : macs * rows / model.floatMacsPerSecond;
  double attentionSeconds = attentionMacs(run, context) / model.floatMacsPerSecond;
  return std::max(weightBytes / model.weightBytesPerSecond, macSeconds) + attentionSeconds +
         activationBytes / model.activationBytesPerSecond + model.taskSeconds;
}

}  // namespace

uint64_t bodyPicoseconds(const target::CostModel& model, task::BodyOp body, int64_t context) {
  double seconds = 0;
  for (auto segment : body.getBody().getOps<task::SegmentOp>()) {
    double slowest = 0;
    for (auto lane : segment.getBody().getOps<task::LaneOp>()) {
      double sum = 0;
      for (auto run : lane.getBody().getOps<task::RunOp>()) sum += taskSeconds(model, run, context);
      slowest = std::max(slowest, sum);
    }
    seconds += slowest + model.barrierSeconds;
  }
  constexpr double kPicosecondsPerSecond = 1e12;
  return static_cast<uint64_t>(seconds * kPicosecondsPerSecond);
}

}  // namespace firn::passes
