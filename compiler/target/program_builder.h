// Makes a task.program: streams of weights, buffers, bodies and entries, each stored once. Used by every target.
// Not here: what the tasks of an op are (the rule tables of the targets), addresses (the pass `schedule`).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "blob/kv_part.h"
#include "compiler/ir/graph.h"
#include "compiler/ir/task.h"
#include "compiler/target/tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace firn::target {

inline constexpr int kSharedLane = -1;  ///< where a lane is asked for: all lanes

/// The numbers of a program that lowering needs.
struct ProgramShape {
  std::string target;
  int64_t lanes = 1;
  DType kvType = DType::kF32;
  int64_t kvRows = 0;  ///< T
  int64_t maxPromptTokens = 0;
  int64_t minResponseTokens = 0;
  graph::ModelCard card;
  std::string machine;  ///< text of the machine file, of target npu
};

/// One tensor of a stream (task.pack). `source` names a weight of the graph: its symbol, until bound to an actual one.
struct Pack {
  std::string source;
  std::string form;
  DType dtype = DType::kF32;
  int64_t firstRow = 0;
  int64_t rowCount = 1;
  int64_t firstColumn = 0;
  int64_t columnCount = 0;
  uint64_t offset = 0;
  uint64_t bytes = 0;
  std::optional<float> magnitude;  ///< rope_table only

  std::string key() const;
};

/// What the calls of a body give it: the packs of a stream, with formal sources.
struct StreamTemplate {
  std::string param;
  int lane = kSharedLane;
  bool isWhole = false;  ///< one weight on its own, named after it: calls that bind the same weight share it
  std::vector<Pack> packs;
  uint64_t bytes = 0;

  /// Adds a pack behind the others, 64-byte aligned; its offset.
  uint64_t append(Pack pack);
};

/// One task of a body.
struct Run {
  mlir::StringAttr op;
  mlir::StringAttr name;
  mlir::ArrayAttr args;
  mlir::ArrayAttr values;  ///< null: none
};

/// A body before it becomes ops: segments of lanes of tasks.
struct BodyPlan {
  struct Buffer {
    std::string name;
    uint64_t bytes = 0;
    int lane = kSharedLane;
    uint64_t tiles = 0;  ///< on-chip memory of these tiles (bits); 0: scratch
  };
  std::string group;
  std::vector<task::ParamAttr> params;
  std::vector<Buffer> buffers;
  std::vector<std::vector<std::vector<Run>>> segments;  ///< [segment][lane][task]
};

/// Finds the graph.weight that a body's formal weight name stands for in one call.
using Binding = llvm::function_ref<graph::WeightOp(llvm::StringRef formal)>;

class ProgramBuilder {
 public:
  /// Appends an empty task.program to `module`.
  ProgramBuilder(mlir::ModuleOp module, ProgramShape shape);

  const ProgramShape& shape() const { return shape_; }
  mlir::MLIRContext* context() { return program_.getContext(); }
  mlir::SymbolTableCollection& tables() { return tables_; }

  /// The stream with these packs, their sources bound; made when new, named `name` (made unique) or, if whole, after
  /// its weight. Null when a source has no weight.
  mlir::FlatSymbolRefAttr stream(llvm::StringRef name, const StreamTemplate& packs, Binding bind);
  /// The buffer `group`.`name`, which keeps its bytes between the calls of an entry; "@name" for operands.
  std::string groupBuffer(llvm::StringRef group, llvm::StringRef name, uint64_t bytes, int lane);
  /// The body with this content; made when new, named `name` (made unique).
  std::string body(llvm::StringRef name, const BodyPlan& plan);
  /// Starts an entry; symbols and calls go into it.
  task::EntryOp entry(const graph::Entry& entry, llvm::StringRef group, mlir::StringAttr reason);

  /// Byte offset of the K (or V) cache of a layer.
  uint64_t cacheOffset(int64_t layer, bool isValue) const;
  /// One K or V cache of one layer: its rows and, where the type has them, its scales.
  blob::KvPart cachePart() const;

 private:
  mlir::OpBuilder atEnd();
  std::string uniqueName(llvm::StringRef name);

  ProgramShape shape_;
  task::ProgramOp program_;
  mlir::SymbolTableCollection tables_;
  std::map<std::string, std::string> streams_;              ///< content -> name
  std::map<std::vector<const void*>, std::string> bodies_;  ///< content -> name
  std::map<std::string, std::string> buffers_;              ///< name -> "@name"
  std::set<std::string> names_;                             ///< of everything in the program
};

}  // namespace firn::target
