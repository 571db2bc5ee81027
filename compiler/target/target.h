// All that the phases ask of a target. A new one is a folder that makes its Target, and one line of targets.cc.
// Not here: what its rules do (target/<name>/), what they have to work with (body_lowering.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/dtype.h"
#include "blob/layout.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/Operation.h"

namespace firn::target {

class BodyLowering;

/// What a target does with the ops of one name.
struct Rule {
  /// Makes the tasks of an op; says so itself when it cannot.
  mlir::LogicalResult (*lower)(BodyLowering&, mlir::Operation*) = nullptr;
  /// Why it cannot run this op of that name; empty: it can. Null: it runs them all.
  std::string (*whyNot)(mlir::Operation*) = nullptr;
};

/// Rates of one lane. A task takes the larger of reading its weights and its multiply-adds, plus moving its
/// activations, plus a start.
struct CostModel {
  double weightBytesPerSecond;
  double intMacsPerSecond;    ///< of int8 products, per plane
  double floatMacsPerSecond;  ///< of fp32 products, and of attention
  double activationBytesPerSecond;
  double taskSeconds;     ///< to start a task
  double barrierSeconds;  ///< to end a segment
};

struct Target {
  blob::Target number;        ///< in blobs; names it too (blob/names.h)
  DType kvType;               ///< of the cache, when the user names none; with a target of another type it is f32
  bool hasOneKvType = false;  ///< it takes no cache of another type
  uint32_t fixedLanes;        ///< the lanes it always has; 0: as many as are asked for
  /// It makes programs for the machine of a file: the passes of passes/npu cut, tile, order and check its bodies.
  bool needsMachine = false;
  /// Why it cannot run the entries of batches; empty: it can.
  llvm::StringRef whyNoBatch = "";
  /// The residual stream of a prefill stays in the symbol `hidden`, where its result belongs; else in scratch.
  bool keepsStreamInHidden = false;
  /// The rates when work is split among that many lanes. Null where needsMachine: its file says what a task costs.
  CostModel (*costModel)(int64_t lanes) = nullptr;
  /// Brings the hidden rows that an entry is given where its bodies expect the residual stream.
  mlir::LogicalResult (*loadHidden)(BodyLowering&, mlir::Value);
  /// Puts result `index` of a body where the next body finds it.
  mlir::LogicalResult (*keepResult)(BodyLowering&, mlir::Value, unsigned index);
  /// Writes the result of an entry to a symbol, unless it is there already.
  mlir::LogicalResult (*storeOutput)(BodyLowering&, mlir::Value, blob::SymbolKind);
  llvm::StringMap<Rule> rules;  ///< by op name ("graph.linear")

  /// "cpu", as in blob/names.h.
  llvm::StringRef name() const;
  /// Why it cannot run `op`, to follow "the target cannot run it: "; empty when it can.
  std::string whyNot(mlir::Operation* op) const;
  int64_t lanes(int64_t asked) const { return fixedLanes != 0 ? fixedLanes : asked; }
};

}  // namespace firn::target
