// The ops whose tasks are made together, as the pass `fuse` has marked them (compiler/passes/npu/fuse.cc): linear
// layers that read one input, the norm before, and what stands behind. Not here: which ops may be fused (that pass),
// and what memory they take (linear_group.h).
#pragma once

#include "compiler/ir/graph.h"
#include "llvm/ADT/SmallVector.h"

namespace firn::target::npu {

/// A linear layer and what is made of its result alone. At most one of `rope` and `sum` is there.
struct FusedLayer {
  mlir::Operation* op = nullptr;  ///< graph.linear or graph.head
  graph::RopeOp rope;
  graph::AddOp sum;
};

struct FusedGroup {
  llvm::SmallVector<FusedLayer, 3> layers;  ///< as they stand in the block; of a gated pair the gate first
  graph::RmsNormOp norm;                    ///< null: x is not normed
  mlir::Operation* activation = nullptr;    ///< of a gated pair: graph.silu or graph.gelu
  graph::MulOp product;                     ///< of a gated pair

  /// A gate has its product, and is one of two layers.
  bool isWhole() const;

  /// What is read: the norm's input, or that of the layers.
  mlir::Value input() const;
};

/// True of graph.linear and graph.head.
bool isLinearLayer(mlir::Operation* op);

/// The group of a linear layer; one without a number is alone.
FusedGroup fusedGroupOf(mlir::Operation* layer);

/// True when no layer of its group stands before it: the tasks of all are made in its place.
bool leadsGroup(mlir::Operation* layer);

}  // namespace firn::target::npu
