#include "compiler/passes/cost_model.h"

#include <algorithm>

namespace firn::passes {
namespace {

constexpr double kGiga = 1e9;

/// Unpacking a panel of weights costs as much as this many rows of products with it, however many rows there are.
constexpr double kUnpackRows = 2;

/// Multiply-adds of attention, q.k and p.v. A chunk of m rows is the last of the context when its entry is well chosen,
/// so its rows see context - m / 2 rows on average, or the window, which is the last attribute.
double attentionMacs(task::RunOp run, int64_t context) {
  llvm::StringRef op = run.getOp();
  if (op != "cpu.attention" && op != "ref.attention") return 0;
  auto query = llvm::cast<task::OperandAttr>(run.getArgs()[0]);
  double elements = 1;
  for (int64_t dim : query.getDims()) elements *= static_cast<double>(dim);
  double seen = static_cast<double>(context) - static_cast<double>(query.getDims()[0] - 1) / 2;
  auto window = static_cast<double>(llvm::cast<mlir::IntegerAttr>(run.getValuesAttr().getValue().back()).getInt());
  if (window > 0) seen = std::min(seen, window);
  return 2 * elements * std::max(1.0, seen);
}

double taskSeconds(const CostModel& model, task::RunOp run, int64_t context) {
  double weightBytes = 0;
  double macs = 0;
  double activationBytes = 0;
  double rows = 1;
  double planes = 1;
  bool isInt = run.getOp() == "cpu.linear_i8";
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

CostModel costModel(llvm::StringRef target, int64_t lanes) {
  if (target == "reference") {
    // Plain loops over dequantized rows: about 2 GMAC/s whatever the type.
    return {2 * kGiga, 2 * kGiga, 2 * kGiga, 2 * kGiga, 1e-7, 0};
  }
  // One lane reads weights at 25 GB/s; all lanes together get at most 200 GB/s. An int8 kernel that unpacks panels does
  // about a third of the VNNI peak of 430 GMAC/s. Attention and float products run near 20 GMAC/s.
  double bandwidth = std::min(25.0, 200.0 / static_cast<double>(lanes)) * kGiga;
  return {bandwidth, 150 * kGiga, 20 * kGiga, 20 * kGiga, 1e-7, 1e-6};
}

uint64_t bodyPicoseconds(const CostModel& model, task::BodyOp body, int64_t context) {
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
