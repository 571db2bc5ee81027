// The npu: a layer is cut around its attention, tasks stand in one order after lower, in queues after schedule.
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64,128 kv-rows=128 head-rows=1 top=8' --graph-fold --graph-place=target=npu --npu-legalize -o %t.cut.mlir
// RUN: FileCheck %s --input-file %t.cut.mlir --check-prefix=CUT
// RUN: firn-opt %t.cut.mlir --task-lower=machine=lnl -o %t.lower.mlir
// RUN: FileCheck %s --input-file %t.lower.mlir --check-prefix=LOWER
// RUN: firn-opt %t.lower.mlir --task-schedule -o %t.schedule.mlir
// RUN: FileCheck %s --input-file %t.schedule.mlir --check-prefix=SCHEDULE
// RUN: not firn-opt %t.cut.mlir --task-lower=machine=none 2>&1 | FileCheck %s --check-prefix=MACHINE
// RUN: not firn-opt %s --npu-legalize 2>&1 | FileCheck %s --check-prefix=TWICE

// Only the attention is made for each context.
// CUT: graph.func private @block.16.in(%x: tensor<16x64xf32>
// CUT: graph.rope
// CUT: graph.func private @block.16.out(
// CUT: graph.func private @block.16.attention.64({{.*}}%mask: tensor<64xi8>
// CUT: graph.func private @block.16.attention.128({{.*}}%mask: tensor<128xi8>
// CUT: graph.call @block.16.in({{.*}} layer 0
// CUT-NEXT: graph.call @block.16.attention.64({{.*}} layer 0
// CUT-NEXT: graph.call @block.16.out({{.*}} layer 0

// LOWER: task.program "npu" lanes 1 model {{{.*}}kv_type = "f16"
// LOWER-LABEL: task.body @block.16.in [
// LOWER: task.buffer @norm bytes 256 tiles 63
// LOWER: "npu.rms_norm" for "attn_norm"
// LOWER: "npu.matmul_groups" for "attn_q"
// LOWER: "npu.accumulate" for "attn_q"
// LOWER: "npu.rope" for "rope"
// LOWER: "npu.kv_write" for "kv_write"
// LOWER-LABEL: task.body @block.16.attention.64 [
// LOWER: "npu.matmul" for "qk"
// LOWER: "npu.softmax"
// LOWER: "npu.matmul" for "pv"

// Two DMA engines, six DPUs, six SHAVEs; addresses in the CMX of a tile; who waits for what.
// SCHEDULE-LABEL: task.body @block.16.in [
// SCHEDULE-SAME: takes
// SCHEDULE-COUNT-14: task.segment
// SCHEDULE: "npu.rms_norm" for "attn_norm" [#task.operand<cmx "{{[0-5]}}" +
// SCHEDULE-SAME: waits [{{[0-9]+, [0-9]+}}

// MACHINE: task.lower_c3: {{.*}}lnl, mtl, ptl
// TWICE: npu.legalize_c1: found 0 attentions in a layer, expected 1

module {
  graph.func private @body(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {graph.device = "npu"} {
    graph.return %x : tensor<1x4xf32>
  }
  graph.func @entry(%hidden: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {graph.device = "npu", graph.entry = {context = 0 : i32, kind = "head", rows = 1 : i32}} {
    %0 = graph.call @body(%hidden) layer 0 bind {} : (tensor<1x4xf32>) -> tensor<1x4xf32>
    graph.return %0 : tensor<1x4xf32>
  }
}
