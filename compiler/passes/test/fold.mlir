// Layers become calls; equal layers share a body, whatever the context; layers that differ in anything do not.
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64,128 kv-rows=128 head-rows=1' --graph-fold -o %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: grep -c 'graph.func private' %t.mlir | FileCheck %s --check-prefix=TWO
// RUN: grep -c 'graph.call' %t.mlir | FileCheck %s --check-prefix=EIGHT
//
// Another weight type in layer 1: two bodies a chunk.
// RUN: sed 's/@blk.1.ffn_down : tensor<64x96x!graph.q4_0>/@blk.1.ffn_down : tensor<64x96x!graph.q4_1>/' %S/Inputs/tiny_llama.mlir | firn-opt --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold | FileCheck %s --check-prefixes=DIFFER,TYPE
//
// A bias in layer 1 only.
// RUN: sed -e 's/graph.state @kv.k.0/graph.weight @blk.1.attn_q.bias : tensor<64xf32> {file = "bias"} graph.state @kv.k.0/' -e 's/, @blk.1.attn_q :/, @blk.1.attn_q bias @blk.1.attn_q.bias :/' %S/Inputs/tiny_llama.mlir | firn-opt --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold | FileCheck %s --check-prefixes=DIFFER,BIAS
//
// An attribute that differs.
// RUN: sed 's/@blk.1.ffn_norm {eps = 1.000000e-05/@blk.1.ffn_norm {eps = 1.000000e-06/' %S/Inputs/tiny_llama.mlir | firn-opt --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold | FileCheck %s --check-prefix=DIFFER
//
// Operands in another order, and another weight used twice.
// RUN: sed 's/graph.mul \(.s1\), \(.u1\)/graph.mul \2, \1/' %S/Inputs/tiny_llama.mlir | firn-opt --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold | FileCheck %s --check-prefix=DIFFER
// RUN: sed 's/graph.linear %m1, @blk.1.ffn_up/graph.linear %m1, @blk.1.ffn_gate/' %S/Inputs/tiny_llama.mlir | firn-opt --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold | FileCheck %s --check-prefixes=DIFFER
//
// The contexts of a batch share a body, which is none of a chunk of as many rows.
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=4 contexts=64,128 batches=4 kv-rows=128 head-rows=1' --graph-fold | FileCheck %s --check-prefix=BATCH
//
// RUN: firn-opt %s --graph-fold --split-input-file --verify-diagnostics

// TWO: {{^2$}}
// EIGHT: {{^8$}}
// CHECK-LABEL: graph.func private @block.16(
// CHECK-SAME: %x: tensor<16x64xf32>, %positions: tensor<16xi32>, %valid: tensor<i32>, %row0: tensor<i32>, %mask: tensor<?xi8>, %k: tensor<2x128x16xf32>, %v: tensor<2x128x16xf32>)
// CHECK-NEXT: graph.param @attn_norm : tensor<64xf32>
// CHECK-NEXT: graph.param @attn_q : tensor<64x64x!graph.q4_0>
// CHECK: graph.rms_norm %x, @attn_norm
// CHECK: graph.rope interleaved %{{.*}}, %positions, @rope.freqs
// CHECK: graph.attention %{{.*}}, %{{.*}}, %{{.*}} mask %mask row0 %row0
// CHECK-LABEL: graph.func private @block.1(
// CHECK-SAME: %x: tensor<1x64xf32>, %positions: tensor<1xi32>, {{.*}}%mask: tensor<?xi8>
// CHECK-LABEL: graph.func @prefill.16.64(
// CHECK-NEXT: %[[X:.*]] = graph.embed %ids, @token_embd
// CHECK-NEXT: %[[L0:.*]]:3 = graph.call @block.16(%[[X]], %positions, %valid, %row0, %mask, %kv.k.0, %kv.v.0) layer 0 bind {{{.*}}attn_q = @blk.0.attn_q, {{.*}}rope.freqs = @rope.freqs}
// CHECK-NEXT: %[[L1:.*]]:3 = graph.call @block.16(%[[L0]]#0, %positions, %valid, %row0, %mask, %kv.k.1, %kv.v.1) layer 1 bind {{{.*}}attn_q = @blk.1.attn_q,
// CHECK-NEXT: graph.return %[[L1]]#0, %[[L0]]#1, %[[L0]]#2, %[[L1]]#1, %[[L1]]#2
// CHECK-LABEL: graph.func @prefill.16.128(
// CHECK: graph.call @block.16(
// CHECK: graph.call @block.16(
// CHECK-LABEL: graph.func @generate.64(
// CHECK: graph.call @block.1({{.*}} layer 1
// CHECK-NEXT: graph.rms_norm {{.*}}, @output_norm
// CHECK-NEXT: graph.head
// CHECK-LABEL: graph.func @head.1(
// CHECK-NOT: graph.call

// DIFFER: graph.func private @block.16(
// DIFFER: graph.func private @block.16.1(
// TYPE: graph.param @ffn_down : tensor<64x96x!graph.q4_1>
// BIAS: graph.param @attn_q.bias : tensor<64xf32>
// DIFFER-LABEL: graph.func @prefill.16.64(
// DIFFER: graph.call @block.16({{.*}} layer 0
// DIFFER: graph.call @block.16.1({{.*}} layer 1
// DIFFER-LABEL: graph.func @generate.64(
// DIFFER: graph.call @block.1({{.*}} layer 0
// DIFFER: graph.call @block.1.1({{.*}} layer 1

// BATCH: graph.func private @block.4(
// BATCH-SAME: %mask: tensor<?xi8>, %k: tensor<2x128x16xf32>
// BATCH: graph.func private @block.4.1(
// BATCH-SAME: %row0: tensor<4xi32>, %mask: tensor<4x?xi8>, %k: tensor<4x2x128x16xf32>
// BATCH-NOT: graph.func private @block.4.2(
// BATCH-LABEL: graph.func @batch.4.64(
// BATCH: graph.call @block.4.1(
// BATCH: graph.call @block.4.1(
// BATCH-NEXT: graph.rms_norm
// BATCH-LABEL: graph.func @batch.4.128(
// BATCH: graph.call @block.4.1(

// No op makes a residual stream before the cache is touched: there is no place where a layer could begin.
module {
  // expected-error @+1 {{graph.fold_c1: found no decoder layers}}
  graph.func @prefill.4.16(%x: tensor<4x32xf32>, %row0: tensor<i32>, %valid: tensor<i32>, %mask: tensor<16xi8>, %kv.k.0: tensor<2x16x16xf32>) -> (tensor<4x32xf32>, tensor<2x16x16xf32>) attributes {graph.entry = {kind = "prefill", rows = 4 : i32, context = 16 : i32}} {
    %0 = graph.cache_update %kv.k.0, %x, %row0, %valid {heads = 2 : i32} : (tensor<2x16x16xf32>, tensor<4x32xf32>, tensor<i32>, tensor<i32>) -> tensor<2x16x16xf32>
    %1 = graph.attention %x, %0, %0 mask %mask row0 %row0 {heads = 2 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x32xf32>, tensor<2x16x16xf32>, tensor<2x16x16xf32>, tensor<16xi8>, tensor<i32>) -> tensor<4x32xf32>
    graph.return %1, %0 : tensor<4x32xf32>, tensor<2x16x16xf32>
  }
}
