// The task dialect: where and when. A program of entries that call bodies; a body is segments of lanes of tasks; every
// task names the memory it touches. One op per record of blob/layout.h.
#ifndef FIRN_COMPILER_IR_TASK_OPS
#define FIRN_COMPILER_IR_TASK_OPS

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"

def Task_Dialect : Dialect {
  let name = "task";
  let cppNamespace = "::firn::task";
  let summary = "static programs: tasks on lanes, barriers, addresses, entries";
  let useDefaultAttributePrinterParser = 1;
  let extraClassDeclaration = "void registerAttributes();";
}

class Task_Op<string mnemonic, list<Trait> traits = []> : Op<Task_Dialect, mnemonic, traits>;

def Task_OperandAttr : AttrDef<Task_Dialect, "Operand"> {
  let mnemonic = "operand";
  let summary = "memory that a task reads or writes";
  let description = [{
    `#task.operand<scratch "@x.0" + 0 : f32 [16, 576] strides [576, 1] bytes 36864>`

    `base` is: a task.buffer or task.stream ("@name", until schedule puts its address in place of it; of target npu
    until emit does), a parameter of the body ("lane0"), a symbol kind ("ids"), or empty. In space cmx it names the tile
    too: "@name:3", and "3" alone behind emit. dims and strides count elements; `panels` weights have no strides.
    `bytes` is the extent from the offset. Checked by task.run.
  }];
  let parameters = (ins
    "blob::Space":$space,
    StringRefParameter<"what offset counts from">:$base,
    "uint64_t":$offset,
    "DType":$dtype,
    "blob::Layout":$layout,
    ArrayRefParameter<"int64_t">:$dims,
    ArrayRefParameter<"int64_t">:$strides,
    "uint64_t":$bytes
  );
  let hasCustomAssemblyFormat = 1;
}

def Task_ParamAttr : AttrDef<Task_Dialect, "Param"> {
  let mnemonic = "param";
  let summary = "a byte offset that each call of a body gives";
  let description = [{ `#task.param<weights "lane0" bytes 1024>`: the body touches 1024 bytes from there. }];
  let parameters = (ins "blob::Space":$space, StringRefParameter<"its name">:$name, "uint64_t":$bytes);
  let hasCustomAssemblyFormat = 1;
}

def Task_ProgramOp : Task_Op<"program", [SymbolTable, IsolatedFromAbove, NoRegionArguments] # GraphRegionNoTerminator.traits> {
  let summary = "a whole static program";
  let description = [{
    `model` holds the numbers of the blob's program header: layers, embed, heads, kv_heads, head_dim, vocab,
    max_prompt_tokens, min_response_tokens, kv_rows, kv_type. Schedule adds `memory`: kv_bytes, scratch_bytes,
    weights_bytes.
  }];
  let arguments = (ins StrAttr:$target, I64Attr:$lanes, DictionaryAttr:$model, OptionalAttr<DictionaryAttr>:$memory);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$target `lanes` $lanes `model` $model (`memory` $memory^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Task_StreamOp : Task_Op<"stream", [Symbol, NoRegionArguments, 
                                       HasParent<"ProgramOp">] # GraphRegionNoTerminator.traits> {
  let summary = "bytes of the weight section that are read together, in order";
  let description = [{ `lane`: only this lane reads it. Addresses put the streams of one lane one after the other. }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$bytes, OptionalAttr<I64Attr>:$lane,
                       OptionalAttr<I64Attr>:$address);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `bytes` $bytes (`lane` $lane^)? (`at` $address^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Task_PackOp : Task_Op<"pack", [HasParent<"StreamOp">]> {
  let summary = "one tensor of a stream: what of the source it holds, in which form";
  let description = [{
    Forms: `raw` (bytes of the source, or f32 `values`), `f32` (the source, or `values`, as fp32), `panels`
    (kernels/quant/panel.h), `rope_table` (f32 [rows, 2 * columns]: cos and sin times `magnitude` of position times each
    of `values`), or a plane of a type with groups (kernels/quant/group_split.h): `codes` (u8 [rows, bytes]), `scales` or
    `mins` (f16 [rows, groups]), rows in the order of the source. The values of `raw` and `f32` are one for each element.
    `rows` and `columns` are [first, count] of the source matrix [N, K]; a vector is one row.
  }];
  let arguments = (ins StrAttr:$source, DenseI64ArrayAttr:$rows, DenseI64ArrayAttr:$columns, StrAttr:$form,
                       StrAttr:$dtype, I64Attr:$offset, I64Attr:$bytes, OptionalAttr<ElementsAttr>:$values,
                       OptionalAttr<F64Attr>:$magnitude);
  let assemblyFormat = [{
    $form $dtype `of` $source `rows` $rows `columns` $columns `at` $offset `bytes` $bytes
    (`values` $values^)? (`magnitude` $magnitude^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Task_BufferOp : Task_Op<"buffer", [Symbol]> {
  let summary = "scratch memory: of an entry (in the program) or of one call (in a body)";
  let description = [{
    In the program a buffer keeps its bytes between the calls of an entry; `group` names the entries that share one
    plan. In a body its bytes are free before its first and after its last task; `lane` says that only this lane
    touches it; `tiles` that it lies in the on-chip memory of these tiles (bits), at the same address in each.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, I64Attr:$bytes, OptionalAttr<I64Attr>:$lane,
                       OptionalAttr<I64Attr>:$tiles, OptionalAttr<StrAttr>:$group, OptionalAttr<I64Attr>:$address);
  let assemblyFormat = [{
    $sym_name `bytes` $bytes (`lane` $lane^)? (`tiles` $tiles^)? (`group` $group^)? (`at` $address^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Task_BodyOp : Task_Op<"body", [Symbol, SymbolTable, NoRegionArguments, 
                                   HasParent<"ProgramOp">] # GraphRegionNoTerminator.traits> {
  let summary = "a function shared by calls: segments in order, a barrier of all lanes after each";
  let description = [{
    Of target npu: before schedule one segment with all tasks in lane 0, in an order in which they could run one by one;
    after it a segment for each queue of the machine, which run at once; `takes` (picoseconds) is there from barriers on.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypedArrayAttrBase<Task_ParamAttr, "params">:$params,
                       OptionalAttr<StrAttr>:$group, OptionalAttr<I64Attr>:$picoseconds);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $params (`group` $group^)? (`takes` $picoseconds^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Task_SegmentOp : Task_Op<"segment", [NoRegionArguments, 
                                         HasParent<"BodyOp">] # GraphRegionNoTerminator.traits> {
  let summary = "what every lane does until the next barrier";
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Task_LaneOp : Task_Op<"lane", [NoRegionArguments, 
                                   HasParent<"SegmentOp">] # GraphRegionNoTerminator.traits> {
  let summary = "tasks of one lane, in order";
  let arguments = (ins I64Attr:$index);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$index attr-dict-with-keyword $body";
}

def Task_RunOp : Task_Op<"run", [HasParent<"LaneOp">]> {
  let summary = "one task: an op of blob/task_op.h with its operands and attributes";
  let description = [{
    Of target npu: `position`, from schedule to emit, is its place in the order in which tasks could run one by one;
    `waits` (pairs of barrier and count) and `signals` (barriers; blob/layout.h, BarrierUse) are there from barriers on.
  }];
  let arguments = (ins StrAttr:$op, StrAttr:$name, TypedArrayAttrBase<Task_OperandAttr, "operands">:$args,
                       OptionalAttr<ArrayAttr>:$values, OptionalAttr<DenseI64ArrayAttr>:$waits,
                       OptionalAttr<DenseI64ArrayAttr>:$signals, OptionalAttr<I64Attr>:$position);
  let assemblyFormat = [{
    $op `for` $name $args (`attrs` $values^)? (`waits` $waits^)? (`signals` $signals^)? (`position` $position^)?
    attr-dict
  }];
  let hasVerifier = 1;
}

def Task_EntryOp : Task_Op<"entry", [Symbol, NoRegionArguments, 
                                     HasParent<"ProgramOp">] # GraphRegionNoTerminator.traits> {
  let summary = "one static program of the blob: symbols, then calls in order";
  let description = [{ `part` [0, 2]: the first of two functions that the entry was cut into. }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind, I64Attr:$rows, I64Attr:$context_rows, StrAttr:$group,
                       OptionalAttr<I64Attr>:$scratch, OptionalAttr<I64Attr>:$picoseconds,
                       OptionalAttr<DenseI64ArrayAttr>:$part, OptionalAttr<StrAttr>:$reason);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $kind `rows` $rows `context` $context_rows `group` $group (`scratch` $scratch^)?
    (`predicted` $picoseconds^)? (`part` $part^)? (`because` $reason^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Task_SymbolOp : Task_Op<"symbol", [HasParent<"EntryOp">]> {
  let summary = "memory that the caller binds: an input or output of the entry";
  let arguments = (ins StrAttr:$kind, StrAttr:$dtype, DenseI64ArrayAttr:$dims, I64Attr:$bytes, UnitAttr:$output);
  let assemblyFormat = "$kind $dtype $dims `bytes` $bytes (`output` $output^)? attr-dict";
  let hasVerifier = 1;
}

def Task_CallOp : Task_Op<"call", [HasParent<"EntryOp">]> {
  let summary = "a body run with a value for each of its params";
  let description = [{ A value is the symbol of a stream until schedule, then a byte offset of the param's space. }];
  let arguments = (ins FlatSymbolRefAttr:$callee, ArrayAttr:$args, OptionalAttr<I64Attr>:$layer);
  let assemblyFormat = "$callee $args (`layer` $layer^)? attr-dict";
  let hasVerifier = 1;
}

#endif  // FIRN_COMPILER_IR_TASK_OPS
