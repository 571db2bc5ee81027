// Element types of quantized weights. Every one is a row of base/dtype.h; builtin f32, f16 and bf16 are used as they
// are.
#ifndef FIRN_COMPILER_IR_GRAPH_TYPES_TD
#define FIRN_COMPILER_IR_GRAPH_TYPES_TD

include "compiler/ir/graph_dialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/CommonTypeConstraints.td"

class Graph_Type<string cppName, string name, string text> : TypeDef<Graph_Dialect, cppName> {
  let mnemonic = name;
  let summary = text;
}

def Graph_Q4_0 : Graph_Type<"Q4_0", "q4_0", "32 weights: an f16 scale and 32 nibbles">;
def Graph_Q4_1 : Graph_Type<"Q4_1", "q4_1", "32 weights: an f16 scale, an f16 min and 32 nibbles">;
def Graph_Q8_0 : Graph_Type<"Q8_0", "q8_0", "32 weights: an f16 scale and 32 signed bytes">;
def Graph_Q5_0 : Graph_Type<"Q5_0", "q5_0", "32 weights: an f16 scale and 32 codes of 5 bits">;
def Graph_Q5_1 : Graph_Type<"Q5_1", "q5_1", "32 weights: an f16 scale, an f16 min and 32 codes of 5 bits">;
def Graph_Q4_K : Graph_Type<"Q4_K", "q4_k", "256 weights: scales and mins of 8 groups and 256 nibbles">;
def Graph_Q5_K : Graph_Type<"Q5_K", "q5_k", "256 weights: scales and mins of 8 groups and 256 codes of 5 bits">;
def Graph_Q6_K : Graph_Type<"Q6_K", "q6_k", "256 weights: scales of 16 groups and 256 codes of 6 bits">;

// Operand types. The label in a summary is the one of docs/ops.md, so it recurs in the message.
class Graph_Ranked<list<int> ranks, list<Type> elements, string text>
    : Type<And<[RankedTensorOf<elements>.predicate, HasAnyRankOfPred<ranks>]>, text, "::mlir::RankedTensorType">;

def Graph_Matrix : Graph_Ranked<[2], [F32], "a matrix tensor<m x n x f32> (graph.matrix)">;
// In a batch each row has a cache, mask and first row of its own: one more dim, in front.
def Graph_Cache : Graph_Ranked<[3, 4], [F32], "a cache tensor<heads x T x d x f32>, or one a row (graph.cache)">;
def Graph_Ids : Graph_Ranked<[1], [I32], "a list tensor<m x i32> (graph.ids)">;
def Graph_IdMatrix : Graph_Ranked<[2], [I32], "a matrix tensor<m x n x i32> of ids (graph.id_matrix)">;
def Graph_Count : Graph_Ranked<[0], [I32], "a number tensor<i32> (graph.count)">;
def Graph_Row0 : Graph_Ranked<[0, 1], [I32], "a number tensor<i32>, or one a row (graph.row0)">;
def Graph_Mask : Graph_Ranked<[1, 2], [I8], "a mask tensor<c x i8>, or one a row (graph.mask)">;

def Graph_RopePairing : I32EnumAttr<"RopePairing", "which two columns of a head rotate together", [
    I32EnumAttrCase<"Interleaved", 0, "interleaved">,
    I32EnumAttrCase<"HalfSplit", 1, "half_split">]> {
  let cppNamespace = "::firn::graph";
}

#endif
