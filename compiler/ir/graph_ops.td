// The ops of the dialect "graph". docs/ops.md gives each its formula and its labelled constraints; the verifiers are in
// graph_verify.cc (tensor ops) and graph_module.cc (functions, weights, calls).
#ifndef FIRN_COMPILER_IR_GRAPH_OPS_TD
#define FIRN_COMPILER_IR_GRAPH_OPS_TD

include "compiler/ir/graph_types.td"
include "mlir/IR/OpAsmInterface.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Graph_Op<string name, list<Trait> traits = []> : Op<Graph_Dialect, name, traits>;

// Ops whose checks need no symbol.
class Graph_PlainOp<string name, list<Trait> traits = [Pure]> : Graph_Op<name, traits> {
  let hasVerifier = 1;
}

// Ops that name weights, params, states or functions: checked where the symbols can be looked up.
class Graph_SymbolOp<string name, list<Trait> traits = [Pure]>
    : Graph_Op<name, traits # [DeclareOpInterfaceMethods<SymbolUserOpInterface>]>;

//--- What a module holds

def Graph_WeightOp : Graph_Op<"weight", [Symbol]> {
  let summary = "a tensor of the source file, by its name there, or a computed constant with its value";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type, OptionalAttr<StrAttr>:$file,
                       OptionalAttr<ElementsAttr>:$value);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def Graph_StateOp : Graph_Op<"state", [Symbol]> {
  let summary = "one KV cache of one layer: tensor<kv_heads x T x d x f32>";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def Graph_FuncOp : Graph_Op<"func", [Symbol, SymbolTable, IsolatedFromAbove, SingleBlock, FunctionOpInterface,
                                     DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmBlockArgumentNames"]>]> {
  let summary = "the model, an entry or a body; argument names are part of the contract";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<StrAttr>:$sym_visibility, OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs, StrArrayAttr:$arg_names);
  let regions = (region SizedRegion<1>:$body);
  let extraClassDeclaration = [{
    /// FunctionOpInterface.
    ::mlir::Region* getCallableRegion() { return &getBody(); }
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }

    /// The argument with this name ("ids", "kv.k.0"), or null.
    ::mlir::BlockArgument findArgument(::llvm::StringRef name);
    /// Name of argument `index`.
    ::llvm::StringRef argumentName(unsigned index);
  }];
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Graph_ParamOp : Graph_Op<"param", [Symbol, HasParent<"FuncOp">]> {
  let summary = "a formal weight of a body; every call binds an actual one of the same type";
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<AnyRankedTensor>:$type);
  let assemblyFormat = "$sym_name `:` $type attr-dict";
  let hasVerifier = 1;
}

def Graph_CallOp : Graph_SymbolOp<"call", []> {
  let summary = "a body run for one layer: arguments by position, weights by name";
  let arguments = (ins FlatSymbolRefAttr:$callee, Variadic<AnyRankedTensor>:$args, DictionaryAttr:$bind, I32Attr:$layer);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = [{
    $callee `(` $args `)` `layer` $layer `bind` $bind attr-dict `:` functional-type($args, $results)
  }];
}

def Graph_ReturnOp : Graph_Op<"return", [Pure, Terminator, HasParent<"FuncOp">]> {
  let summary = "the results of the function";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
  let hasVerifier = 1;
}

//--- Token ids in, logits out

def Graph_EmbedOp : Graph_SymbolOp<"embed"> {
  let summary = "row ids[i] of the table";
  let arguments = (ins Graph_Ids:$ids, FlatSymbolRefAttr:$weight);
  let results = (outs Graph_Matrix:$result);
  let assemblyFormat = "$ids `,` $weight attr-dict `:` functional-type(operands, results)";
}

def Graph_HeadOp : Graph_SymbolOp<"head"> {
  let summary = "logits: a linear over the whole vocabulary";
  let arguments = (ins Graph_Matrix:$input, FlatSymbolRefAttr:$weight, OptionalAttr<FlatSymbolRefAttr>:$bias);
  let results = (outs Graph_Matrix:$result);
  let assemblyFormat = "$input `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

//--- Matrix products and norms

def Graph_LinearOp : Graph_SymbolOp<"linear"> {
  let summary = "y = x W^T + b";
  let arguments = (ins Graph_Matrix:$input, FlatSymbolRefAttr:$weight, OptionalAttr<FlatSymbolRefAttr>:$bias);
  let results = (outs Graph_Matrix:$result);
  let assemblyFormat = "$input `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

def Graph_RmsNormOp : Graph_SymbolOp<"rms_norm"> {
  let summary = "x / sqrt(mean(x^2) + eps) * w, row by row, or each of the `heads` of a row by itself";
  let arguments = (ins Graph_Matrix:$input, FlatSymbolRefAttr:$weight, F32Attr:$eps,
                       DefaultValuedAttr<I32Attr, "1">:$heads);
  let results = (outs Graph_Matrix:$result);
  let assemblyFormat = "$input `,` $weight attr-dict `:` functional-type(operands, results)";
}

def Graph_LayerNormOp : Graph_SymbolOp<"layer_norm"> {
  let summary = "(x - mean) / sqrt(var + eps) * w + b, row by row";
  let arguments = (ins Graph_Matrix:$input, FlatSymbolRefAttr:$weight, OptionalAttr<FlatSymbolRefAttr>:$bias,
                       F32Attr:$eps);
  let results = (outs Graph_Matrix:$result);
  let assemblyFormat = "$input `,` $weight (`bias` $bias^)? attr-dict `:` functional-type(operands, results)";
}

//--- Positions, KV state, attention

def Graph_RopeOp : Graph_SymbolOp<"rope"> {
  let summary = "rotates the first `dims` columns of each head by position";
  let arguments = (ins Graph_Matrix:$input, Graph_Ids:$positions, FlatSymbolRefAttr:$freqs,
                       Graph_RopePairing:$pairing, I32Attr:$heads, I32Attr:$dims, F32Attr:$magnitude);
  let results = (outs Graph_Matrix:$result);
  let assemblyFormat = [{
    $pairing $input `,` $positions `,` $freqs attr-dict `:` functional-type(operands, results)
  }];
}

def Graph_StateReadOp : Graph_SymbolOp<"state_read", []> {
  let summary = "the cache as it is now";
  let arguments = (ins FlatSymbolRefAttr:$state);
  let results = (outs Graph_Cache:$result);
  let assemblyFormat = "$state attr-dict `:` type($result)";
}

def Graph_StateWriteOp : Graph_SymbolOp<"state_write", []> {
  let summary = "appends the rows of this step to the cache";
  let arguments = (ins FlatSymbolRefAttr:$state, Graph_Matrix:$input, I32Attr:$heads);
  let assemblyFormat = "$state `,` $input attr-dict `:` type($input)";
}

def Graph_CacheUpdateOp : Graph_PlainOp<"cache_update"> {
  let summary = "the cache with rows row0 .. row0 + valid - 1 replaced: a state_write without state";
  let arguments = (ins Graph_Cache:$cache, Graph_Matrix:$input, Graph_Row0:$row0, Graph_Count:$valid, I32Attr:$heads);
  let results = (outs Graph_Cache:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Graph_AttentionOp : Graph_Op<"attention", [Pure, AttrSizedOperandSegments]> {
  let summary = "softmax(q K^T * scale) V, causal, grouped heads; with a mask once the program is stateless, and a "
                "window where it is not 0";
  let arguments = (ins Graph_Matrix:$query, Graph_Cache:$keys, Graph_Cache:$values, Optional<Graph_Mask>:$mask,
                       Optional<Graph_Row0>:$row0, I32Attr:$heads, I32Attr:$kv_heads, F32Attr:$scale,
                       DefaultValuedAttr<I32Attr, "0">:$window);
  let results = (outs Graph_Matrix:$result);
  let assemblyFormat = [{
    $query `,` $keys `,` $values (`mask` $mask^)? (`row0` $row0^)? attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

//--- Elementwise

class Graph_UnaryOp<string name> : Graph_PlainOp<name> {
  let arguments = (ins Graph_Matrix:$input);
  let results = (outs Graph_Matrix:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

class Graph_BinaryOp<string name> : Graph_PlainOp<name> {
  let arguments = (ins Graph_Matrix:$lhs, Graph_Matrix:$rhs);
  let results = (outs Graph_Matrix:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Graph_SiluOp : Graph_UnaryOp<"silu"> {
  let summary = "x / (1 + exp(-x))";
}

def Graph_GeluOp : Graph_UnaryOp<"gelu"> {
  let summary = "x * Phi(x), exact or by the tanh form";
  let arguments = (ins Graph_Matrix:$input, BoolAttr:$tanh);
}

def Graph_ScaleOp : Graph_UnaryOp<"scale"> {
  let summary = "x * factor";
  let arguments = (ins Graph_Matrix:$input, F32Attr:$factor);
}

def Graph_SoftcapOp : Graph_UnaryOp<"softcap"> {
  let summary = "cap * tanh(x / cap)";
  let arguments = (ins Graph_Matrix:$input, F32Attr:$cap);
}

def Graph_MulOp : Graph_BinaryOp<"mul"> {
  let summary = "a * b, element by element";
}

def Graph_AddOp : Graph_BinaryOp<"add"> {
  let summary = "a + b, element by element";
}

//--- Rows and columns

def Graph_SliceOp : Graph_UnaryOp<"slice"> {
  let summary = "columns start .. start + width of the result";
  let arguments = (ins Graph_Matrix:$input, I32Attr:$start);
}

def Graph_ConcatOp : Graph_BinaryOp<"concat"> {
  let summary = "columns of a, then columns of b";
}

def Graph_TopKOp : Graph_PlainOp<"top_k"> {
  let summary = "the largest numbers of each row and their columns, best first";
  let arguments = (ins Graph_Matrix:$input);
  let results = (outs Graph_Matrix:$values, Graph_IdMatrix:$ids);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

def Graph_SelectRowsOp : Graph_PlainOp<"select_rows"> {
  let summary = "row rows[i] of the input";
  let arguments = (ins Graph_Matrix:$input, Graph_Ids:$rows);
  let results = (outs Graph_Matrix:$result);
  let assemblyFormat = "operands attr-dict `:` functional-type(operands, results)";
}

#endif
