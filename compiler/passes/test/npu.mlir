// The npu, phase by phase: a layer is cut around its attention, ops are fused and tiled, tasks stand in one order after
// lower, in queues after schedule, with waits after barriers, with addresses after emit.
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64,128 kv-rows=128 head-rows=1 top=8' --graph-fold --graph-place=target=npu --npu-legalize=machine=lnl -o %t.cut.mlir
// RUN: FileCheck %s --input-file %t.cut.mlir --check-prefix=CUT
// RUN: firn-opt %t.cut.mlir --npu-fuse -o %t.fuse.mlir
// RUN: FileCheck %s --input-file %t.fuse.mlir --check-prefix=FUSE
// RUN: firn-opt %t.fuse.mlir --npu-strategy -o %t.strategy.mlir
// RUN: FileCheck %s --input-file %t.strategy.mlir --check-prefix=STRATEGY
// RUN: firn-opt %t.strategy.mlir --task-lower -o %t.lower.mlir
// RUN: FileCheck %s --input-file %t.lower.mlir --check-prefix=LOWER
// RUN: firn-opt %t.lower.mlir --task-schedule -o %t.schedule.mlir
// RUN: FileCheck %s --input-file %t.schedule.mlir --check-prefix=SCHEDULE
// RUN: firn-opt %t.schedule.mlir --npu-barriers -o %t.barriers.mlir
// RUN: FileCheck %s --input-file %t.barriers.mlir --check-prefix=BARRIERS
// RUN: firn-opt %t.barriers.mlir --npu-check --npu-emit | FileCheck %s --check-prefix=EMIT
//
// Without fuse each op has tasks of its own; without strategy none can be lowered.
// RUN: firn-opt %t.cut.mlir --npu-strategy --task-lower --task-schedule --npu-barriers --npu-check | FileCheck %s --check-prefix=ALONE
// RUN: not firn-opt %t.fuse.mlir --task-lower 2>&1 | FileCheck %s --check-prefix=UNTILED
//
// What is broken is found by the check, which names the tasks.
// RUN: sed 's/ waits \[[0-9, ]*\]//' %t.barriers.mlir | not firn-opt --npu-check 2>&1 | FileCheck %s --check-prefix=RACE
// RUN: sed 's/ signals \[[0-9, ]*\]//' %t.barriers.mlir | not firn-opt --npu-check 2>&1 | FileCheck %s --check-prefix=DEADLOCK
// RUN: not firn-opt %t.schedule.mlir --npu-check 2>&1 | FileCheck %s --check-prefix=RACE
//
// RUN: not firn-opt %s --npu-legalize=machine=none 2>&1 | FileCheck %s --check-prefix=MACHINE
// RUN: not firn-opt %s --npu-legalize=machine=lnl 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: sed 's/graph.machine = "[^"]*"/graph.machine = "{}"/' %t.fuse.mlir | not firn-opt --npu-strategy 2>&1 | FileCheck %s --check-prefix=SPOILT
// RUN: sed 's/task.machine = "[^"]*"/task.other = ""/' %t.lower.mlir | not firn-opt --task-schedule 2>&1 | FileCheck %s --check-prefix=NAMELESS

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

// Norm, q, k, v and the ropes are one group; the output projection and its sum; gate, up and their product; down.
// FUSE-LABEL: graph.func private @block.16.in(
// FUSE: graph.rms_norm {{.*}}@attn_norm {{{.*}}graph.group = 0 : i32
// FUSE: graph.linear {{.*}}@attn_q {graph.group = 0 : i32}
// FUSE: graph.rope {{.*}}graph.group = 0 : i32
// FUSE: graph.linear {{.*}}@attn_v {graph.group = 0 : i32}
// FUSE-LABEL: graph.func private @block.16.out(
// FUSE: graph.linear {{.*}}@attn_output {graph.group = 0 : i32}
// FUSE-NEXT: graph.add {{.*}} {graph.group = 0 : i32}
// FUSE-NEXT: graph.rms_norm {{.*}}graph.group = 1 : i32
// FUSE-NEXT: graph.linear {{.*}}@ffn_gate {graph.group = 1 : i32}
// FUSE-NEXT: graph.linear {{.*}}@ffn_up {graph.group = 1 : i32}
// FUSE-NEXT: graph.silu {{.*}} {graph.group = 1 : i32}
// FUSE-NEXT: graph.mul {{.*}} {graph.group = 1 : i32}
// FUSE-NEXT: graph.linear {{.*}}@ffn_down {graph.group = 2 : i32}
// FUSE-NEXT: graph.add {{.*}} {graph.group = 2 : i32}

// The first layer of a group says how all of it is cut.
// STRATEGY-LABEL: graph.func private @block.16.in(
// STRATEGY: @attn_q {graph.group = 0 : i32, graph.tiling = {by_rows = false, columns = {{[0-9]+}} : i64, depth = 64 : i64, multiplies_codes = true, piece = {{[0-9]+}} : i64, rows = 16 : i64}}
// STRATEGY: @attn_k {graph.group = 0 : i32} :
// STRATEGY: graph.func @head.1(
// STRATEGY: graph.head {{.*}}graph.tiling = {

// Two DMA engines, six DPUs, six SHAVEs; buffers have addresses, tasks the place that they had.
// SCHEDULE-LABEL: task.entry @prefill.16.64
// SCHEDULE-NOT: predicted
// SCHEDULE-LABEL: task.body @block.16.in [
// SCHEDULE-NOT: takes
// SCHEDULE: task.buffer @norm bytes 256 tiles 63 at
// SCHEDULE-COUNT-14: task.segment
// SCHEDULE: "npu.rms_norm" for "attn_norm" [#task.operand<cmx "@x32:{{[0-5]}}" +
// SCHEDULE-SAME: position

// Who waits for whom.
// BARRIERS-LABEL: task.entry @prefill.16.64
// BARRIERS-SAME: predicted
// BARRIERS-LABEL: task.body @block.16.in [
// BARRIERS-SAME: takes
// BARRIERS: "npu.rms_norm" for "attn_norm"
// BARRIERS-SAME: waits [{{[0-9]+, [0-9]+}}
// BARRIERS-SAME: position

// EMIT-LABEL: task.body @block.16.in [
// EMIT-NOT: operand<cmx "@
// EMIT-NOT: operand<scratch "@
// EMIT: "npu.rms_norm" for "attn_norm" [#task.operand<cmx "{{[0-5]}}" +
// EMIT-NOT: position {{[0-9]}}

// ALONE-LABEL: task.body @block.16.in [
// ALONE: task.run "npu.rms_norm" for "attn_norm"
// ALONE: task.run "npu.copy" for "attn_norm" [#task.operand<cmx
// UNTILED: npu.linear_c1: has no graph.tiling
// RACE: npu.check_c2: {{.*}}task '{{.*}}task '
// DEADLOCK: npu.check_c2: {{.*}}task '{{.*}}but the body has

// MACHINE: npu.legalize_c2: {{.*}}lnl, mtl, ptl
// TWICE: npu.legalize_c1: found 0 attentions in a layer, expected 1
// SPOILT: npu.strategy_c1: machine graph.machine: field '
// NAMELESS: task.schedule_c2: found no attribute task.machine

module {
  graph.func private @body(%x: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {graph.device = "npu"} {
    graph.return %x : tensor<1x4xf32>
  }
  graph.func @entry(%hidden: tensor<1x4xf32>) -> tensor<1x4xf32> attributes {graph.device = "npu", graph.entry = {context = 0 : i32, kind = "head", rows = 1 : i32}} {
    %0 = graph.call @body(%hidden) layer 0 bind {} : (tensor<1x4xf32>) -> tensor<1x4xf32>
    graph.return %0 : tensor<1x4xf32>
  }
}
