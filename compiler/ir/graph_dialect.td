// The dialect "graph": what a model computes, at the level of a model card. docs/ops.md is its specification.
#ifndef FIRN_COMPILER_IR_GRAPH_DIALECT_TD
#define FIRN_COMPILER_IR_GRAPH_DIALECT_TD

include "mlir/IR/DialectBase.td"

def Graph_Dialect : Dialect {
  let name = "graph";
  let cppNamespace = "::firn::graph";
  let summary = "What a language model computes: matrices of activations, weights by name, KV state";
  let useDefaultTypePrinterParser = 1;
  let usePropertiesForAttributes = 1;
  let hasOperationAttrVerify = 1;
}

#endif
