// Lowers the ops of one body (a graph.func body, or a run of ops of an entry) to tasks, by a table of rules that the
// target gives. This file holds what every rule needs: where values are, memory, weights, tasks, barriers.
// Not here: the rules (target/reference, target/cpu), calls and entries (entry_lowering.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "blob/machine/machine.h"
#include "compiler/ir/graph.h"
#include "compiler/target/program_builder.h"
#include "compiler/target/target.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

namespace firn::target {

/// First and count of the columns (or rows, or heads) of one lane.
struct Range {
  int64_t first = 0;
  int64_t count = 0;
  friend bool operator==(const Range&, const Range&) = default;
};

/// Where the value of a graph op is while its body is lowered.
struct ValueState {
  enum class Form {
    kTokens,      ///< rows of an embedding, not gathered yet: `source` is the graph.embed
    kReplicated,  ///< every lane has its own copy: lanes[l]
    kSplit,       ///< lane l has columns ranges[l]: lanes[l]; lanes without columns have none
    kPartial,     ///< the sum over the first dimension of `partials` f32[count, m, n]
    kSum,         ///< lanes[l] + the sum of `partials`, not added yet; lanes[l] will hold the result
    kGate,        ///< what `source` makes, computed together with the op that reads it
    kCache,       ///< a K or V cache: `cache` [kvHeads, T, d] and, where the type has them, `scales` [kvHeads, T]
    kSymbol,      ///< an input of the entry: lanes[0]
  };
  Form form = Form::kReplicated;
  std::vector<Tensor> lanes;
  std::vector<Range> ranges;
  Tensor partials;
  Tensor cache;
  std::optional<Tensor> scales;
  int writtenSegment = -1;  ///< segment that writes `partials` or `cache`; -1: an earlier body
  mlir::Operation* source = nullptr;

  /// Equal texts mean that a body lowered for one fits the other.
  std::string describe() const;
};

/// One weight as an op names it.
struct WeightInfo {
  std::string symbol;
  DType dtype = DType::kF32;
  int64_t rows = 1;  ///< N; 1 for a vector
  int64_t columns = 0;
  bool isVector = false;
  bool isFormal = false;     ///< a graph.param: which weight it is may differ from call to call
  mlir::Operation* op = {};  ///< the graph.weight or graph.param
};

/// Choices of the compile that rules ask for.
struct LoweringChoices {
  const machine::Machine* machine = nullptr;  ///< of the npu; null where no function is on it
  int64_t attentionInputPlanes = 2;
  int64_t headPlanes = 2;
  int64_t otherPlanes = 1;
};

class BodyLowering {
 public:
  struct Place {
    std::string group;  ///< scratch plan the body belongs to ("prefill.16")
    int64_t rows = 0;   ///< m
  };
  BodyLowering(ProgramBuilder& program, const Target& target, const LoweringChoices& choices, Place place);

  const ProgramShape& shape() const { return program_.shape(); }
  const LoweringChoices& choices() const { return choices_; }
  /// One K or V cache of one layer.
  blob::KvPart cachePart() const { return program_.cachePart(); }
  int64_t rows() const { return place_.rows; }
  int lanes() const { return static_cast<int>(shape().lanes); }
  mlir::MLIRContext* context() { return program_.context(); }

  /// Runs the rule of `op`. Fails with a diagnostic for an op without one.
  mlir::LogicalResult lower(mlir::Operation* op);
  mlir::LogicalResult loadHidden(mlir::Value value) { return target_.loadHidden(*this, value); }
  mlir::LogicalResult keepResult(mlir::Value value, unsigned index) { return target_.keepResult(*this, value, index); }
  mlir::LogicalResult storeOutput(mlir::Value value, blob::SymbolKind symbol) {
    return target_.storeOutput(*this, value, symbol);
  }

  /// The state of a value; null when nothing placed it in this body.
  ValueState* find(mlir::Value value);
  void set(mlir::Value value, ValueState state) { states_[value] = std::move(state); }

  /// Scratch of this body.
  Tensor laneBuffer(llvm::StringRef hint, int lane, DType dtype, llvm::ArrayRef<int64_t> dims);
  Tensor sharedBuffer(llvm::StringRef hint, DType dtype, llvm::ArrayRef<int64_t> dims) {
    return laneBuffer(hint, kSharedLane, dtype, dims);
  }
  /// On-chip memory of the tiles whose bits are set, at one address in all of them; "@name", to be followed by ":tile".
  std::string cmxBuffer(llvm::StringRef hint, uint64_t tiles, uint64_t bytes);
  /// Scratch that lives on between bodies of an entry.
  Tensor groupBuffer(llvm::StringRef name, int lane, DType dtype, llvm::ArrayRef<int64_t> dims);

  /// The weight that `symbol` names for `user`. Fails with a diagnostic when its type is none that firn stores.
  mlir::FailureOr<WeightInfo> weight(mlir::Operation* user, mlir::FlatSymbolRefAttr symbol);
  /// Rows and columns of a weight, in `form` (task.pack), in the stream of `lane`; asked for again, the same bytes. A
  /// plane is what it holds: codes u8, scales and mins f16.
  Tensor streamed(int lane, const WeightInfo& weight, llvm::StringRef form, Range rows, Range columns);
  /// A whole weight in a stream of its own, as `form` says.
  Tensor whole(const WeightInfo& weight, llvm::StringRef form);
  /// The f32 [T, n, 2] table of cos and sin for the n frequencies of `weight`.
  Tensor ropeTable(const WeightInfo& weight, float magnitude);

  /// Target::keepsStreamInHidden, of this body.
  bool keepsStreamInHidden() const {
    return target_.keepsStreamInHidden && llvm::StringRef(place_.group).starts_with("prefill.");
  }

  /// A task at the end of a lane of the current segment.
  void run(int lane, llvm::StringRef op, llvm::StringRef name, llvm::ArrayRef<Tensor> operands,
           llvm::ArrayRef<mlir::Attribute> values = {});
  mlir::Attribute integer(int64_t value);
  mlir::Attribute number(double value);
  /// Number of the segment that run() adds to.
  int segment() const { return static_cast<int>(plan_.segments.size()) - 1; }
  /// Ends the segment: what lanes wrote before is visible to all lanes after.
  void barrier();
  /// barrier(), when `writtenSegment` is the current one.
  void barrierAfter(int writtenSegment);

  /// Codes made by cpu.quantize, by value, planes and lane, so that a value is quantized once.
  std::map<std::pair<const void*, int64_t>, std::vector<std::vector<Tensor>>> quantized;

  bool isEmpty() const;
  /// Makes the body; its caches become params in the order of `caches`.
  std::string finish(llvm::StringRef name, llvm::ArrayRef<std::string> caches);
  const std::vector<StreamTemplate>& streams() const { return streams_; }

 private:
  StreamTemplate& streamOf(int lane);
  /// Base for operands of a stream that holds `pack` alone.
  std::string wholeStream(const WeightInfo& weight, Pack pack);

  ProgramBuilder& program_;
  const Target& target_;
  LoweringChoices choices_;
  Place place_;
  BodyPlan plan_;
  llvm::DenseMap<mlir::Value, ValueState> states_;
  std::vector<StreamTemplate> streams_;
  llvm::StringMap<int> hints_;
};

/// The rule of an op that is computed together with the one that reads it, such as an activation with its product: its
/// value becomes kGate.
mlir::LogicalResult leaveToReader(BodyLowering& body, mlir::Operation* op);

/// "attn_q" of "blk.3.attn_q" or "attn_q.weight": what profiles call the op of a weight.
std::string roleOf(llvm::StringRef symbol);

/// The last op of `value`'s block that uses it; null when none does.
mlir::Operation* lastUser(mlir::Value value);

}  // namespace firn::target
