// The C++ face of the dialect "graph": its ops and the few questions that passes ask about them.
// Not here: how a graph is made (compiler/passes/import_model.h) or changed (the passes). docs/ops.md specifies each
// op.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/dtype.h"
#include "blob/layout.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

// Generated from graph_dialect.td, graph_types.td and graph_ops.td; the order matters.
// clang-format off
#include "compiler/ir/graph_dialect.h.inc"
#include "compiler/ir/graph_enums.h.inc"
#define GET_TYPEDEF_CLASSES
#include "compiler/ir/graph_types.h.inc"
#define GET_OP_CLASSES
#include "compiler/ir/graph_ops.h.inc"
// clang-format on

namespace firn::graph {

/// Names of attributes outside ODS.
inline constexpr llvm::StringLiteral kModelAttr = "graph.model";  ///< on the module: dictionary of hyper-parameters
inline constexpr llvm::StringLiteral kEntryAttr =
    "graph.entry";  ///< on a func: {kind, rows, context}, and {part, parts} of a cut one
inline constexpr llvm::StringLiteral kDeviceAttr = "graph.device";  ///< on a func, by `place`: a target's name
inline constexpr llvm::StringLiteral kReasonAttr = "graph.reason";  ///< on a func, by `place`: why that device
/// On a body: names of the buffers in which its matrix results cross to the next body; without it x0, x1, ...
inline constexpr llvm::StringLiteral kCrossingsAttr = "graph.crossings";
/// A crossing that is kept as f16 is named so at its beginning, and the argument that takes it.
inline constexpr llvm::StringLiteral kHalfCrossing = "half.";
/// On the module: the text of the machine file, for targets that need one (Target::needsMachine).
inline constexpr llvm::StringLiteral kMachineAttr = "graph.machine";
/// By `fuse`, on ops whose tasks are made together: the number of their group in the function.
inline constexpr llvm::StringLiteral kGroupAttr = "graph.group";
/// By `strategy`, on the first linear layer of a group and on an attention: how it is cut into tasks.
inline constexpr llvm::StringLiteral kTilingAttr = "graph.tiling";

/// Names of function arguments. Caches are "kv.k.<layer>" and "kv.v.<layer>" in entries, "k" and "v" in bodies.
inline constexpr llvm::StringLiteral kIdsArg = "ids";
inline constexpr llvm::StringLiteral kPositionsArg = "positions";
inline constexpr llvm::StringLiteral kValidArg = "valid";
inline constexpr llvm::StringLiteral kRow0Arg = "row0";
inline constexpr llvm::StringLiteral kMaskArg = "mask";
inline constexpr llvm::StringLiteral kHiddenArg = "hidden";

/// The firn type of a tensor's elements; nullopt for an element type that firn has no row for.
std::optional<DType> elementDType(mlir::Type element);
/// The inverse of elementDType. nullptr for types that no graph tensor has (u8).
mlir::Type elementType(mlir::MLIRContext& context, DType type);

/// What `symbol` names as seen from `user`: a graph.param of the enclosing function, else a graph.weight of the module.
/// Null when it is neither.
mlir::Operation* findWeight(mlir::Operation* user, mlir::FlatSymbolRefAttr symbol, mlir::SymbolTableCollection& tables);
/// Type of the weight or param that findWeight returns; null when there is none.
mlir::RankedTensorType weightType(mlir::Operation* user, mlir::FlatSymbolRefAttr symbol,
                                  mlir::SymbolTableCollection& tables);

/// What a static program is, from its graph.entry attribute.
using blob::EntryKind;
struct Entry {
  EntryKind kind = EntryKind::kPrefill;
  int64_t rows = 0;     ///< m
  int64_t context = 0;  ///< c; 0 for a head
  int64_t part = 0;     ///< of an entry that is cut
  int64_t parts = 1;
};
/// The entry that `func` is; nullopt for @model and for bodies.
std::optional<Entry> entryOf(FuncOp func);
/// True when result 0 are hidden rows, not logits.
inline bool leavesHidden(const Entry& entry) {
  return entry.kind == EntryKind::kPrefill || entry.part + 1 < entry.parts;
}
/// Its name (blob/names.h).
std::string entryName(const Entry& entry);
/// The graph.entry attribute of `entry`.
mlir::DictionaryAttr entryAttr(mlir::MLIRContext& context, const Entry& entry);

/// heads, T and head_dim of a cache, be it one for all rows or one for each row of a batch.
inline llvm::ArrayRef<int64_t> cacheDims(mlir::Type cache) {
  return llvm::cast<mlir::RankedTensorType>(cache).getShape().take_back(3);
}
/// True of the caches of a batch: one more dim in front, the row.
inline bool isCacheOfRows(mlir::Type cache) { return llvm::cast<mlir::RankedTensorType>(cache).getRank() == 4; }

/// The hyper-parameters of the module's graph.model attribute. nullopt when a key is missing or has another type.
struct ModelCard {
  llvm::StringRef architecture;
  int64_t embed = 0;
  int64_t heads = 0;
  int64_t kvHeads = 0;
  int64_t headDim = 0;
  int64_t ffn = 0;
  int64_t vocab = 0;
  int64_t layers = 0;
};
std::optional<ModelCard> modelCard(mlir::Operation* module);

}  // namespace firn::graph
