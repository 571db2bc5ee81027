// The task dialect in C++: the classes that task_ops.td describes, and the names its text uses for spaces, symbols and
// layouts. Not here: how programs are made (compiler/passes) or turned into bytes (compiler/blob_emit).
#pragma once

#include <optional>

#include "base/dtype.h"
#include "blob/layout.h"
#include "blob/task_op.h"
#include "llvm/ADT/StringRef.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/RegionKindInterface.h"
#include "mlir/IR/SymbolTable.h"

namespace firn::task {

/// On a program of target npu: the text of its machine file.
inline constexpr llvm::StringLiteral kMachineAttr = "task.machine";

/// "scratch", "weights", "kv", "symbol", "cmx".
llvm::StringRef spaceName(blob::Space space);
std::optional<blob::Space> spaceFromName(llvm::StringRef name);

/// "ids", "positions", "valid", "row0", "mask", "hidden", "logits", "kv".
llvm::StringRef symbolName(blob::SymbolKind kind);
std::optional<blob::SymbolKind> symbolFromName(llvm::StringRef name);

/// "prefill", "generate", "head", "batch".
llvm::StringRef entryKindName(blob::EntryKind kind);
std::optional<blob::EntryKind> entryKindFromName(llvm::StringRef name);

/// "f32", "q4_1", ...: base/dtype.h by name.
std::optional<DType> dtypeFromName(llvm::StringRef name);
llvm::StringRef dtypeName(DType type);

/// The task op of that name ("cpu.linear_i8").
std::optional<blob::TaskOp> taskOpFromName(llvm::StringRef name);

/// blob::operandBytes for the numbers of the dialect; nullopt also for a number that a blob cannot hold.
std::optional<uint64_t> operandExtent(DType type, blob::Layout layout, llvm::ArrayRef<int64_t> dims,
                                      llvm::ArrayRef<int64_t> strides);

/// What a row of a pack of a plane holds.
struct PackPlane {
  DType dtype = DType::kU8;
  int64_t columns = 0;
};
/// Of the forms codes, scales and mins of `columns` weights of a type (kernels/quant/group_split.h); nullopt for other
/// forms, for a type without that plane, and for columns that are no whole groups.
std::optional<PackPlane> packPlane(llvm::StringRef form, DType type, int64_t columns);
/// True of those three.
bool isPlaneForm(llvm::StringRef form);

/// What the base of a cmx operand names: "@x.0:3" a buffer and a tile, "3" a tile alone. Nullopt for any other text.
struct CmxBase {
  llvm::StringRef buffer;
  unsigned tile = 0;
};
std::optional<CmxBase> cmxBase(llvm::StringRef base);

}  // namespace firn::task

#include "compiler/ir/task_dialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "compiler/ir/task_attrs.h.inc"
#define GET_OP_CLASSES
#include "compiler/ir/task_ops.h.inc"
