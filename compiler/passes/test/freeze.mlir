// One static clone per entry: prefill for every context >= chunk, generate for every context, the head alone.
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16,64 contexts=32,64,128 kv-rows=128 head-rows=1,16' -o %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: grep -c 'graph.func' %t.mlir | FileCheck %s --check-prefix=COUNT
// RUN: not firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=32 head-rows=1' 2>&1 | FileCheck %s --check-prefix=TOO-LONG
// RUN: not firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=64,16 contexts=64 kv-rows=64 head-rows=1' 2>&1 | FileCheck %s --check-prefix=ORDER
// RUN: not firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=64 contexts=32 kv-rows=64 head-rows=1' 2>&1 | FileCheck %s --check-prefix=UNCOVERED
// RUN: not firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='contexts=32 kv-rows=64 head-rows=1' 2>&1 | FileCheck %s --check-prefix=EMPTY
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=32,128 batches=2,4 kv-rows=128 head-rows=1' | FileCheck %s --check-prefix=BATCH
// RUN: not firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=32 batches=1,2 kv-rows=64 head-rows=1' 2>&1 | FileCheck %s --check-prefix=ONE-ROW
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=32 batches=2 kv-rows=32 head-rows=4 top=8' | FileCheck %s --check-prefix=TOP
// RUN: not firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=32 kv-rows=32 head-rows=4 top=257' 2>&1 | FileCheck %s --check-prefix=TOO-MANY
// RUN: not firn-opt %S/Inputs/tiny_llama.mlir --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' 2>&1 | FileCheck %s --check-prefix=STATEFUL
// RUN: firn-opt %s --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --split-input-file --verify-diagnostics

// COUNT: 10
// CHECK-NOT: @model
// CHECK-NOT: x?x
// CHECK-LABEL: graph.func @prefill.16.32(
// CHECK-SAME: %ids: tensor<16xi32>, %positions: tensor<16xi32>, %valid: tensor<i32>, %row0: tensor<i32>, %mask: tensor<32xi8>,
// CHECK-SAME: %kv.k.0: tensor<2x128x16xf32>,
// CHECK-SAME: -> (tensor<16x64xf32>, tensor<2x128x16xf32>,
// CHECK-SAME: graph.entry = {context = 32 : i32, kind = "prefill", rows = 16 : i32}
// CHECK: graph.attention {{.*}} : (tensor<16x64xf32>, tensor<2x128x16xf32>, tensor<2x128x16xf32>, tensor<32xi8>, tensor<i32>) -> tensor<16x64xf32>
// CHECK-NOT: graph.head
// CHECK-NOT: @output_norm
// CHECK: %[[DOWN:.*]] = graph.linear %{{.*}}, @blk.1.ffn_down
// CHECK-NEXT: %[[HIDDEN:.*]] = graph.add %{{.*}}, %[[DOWN]] : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
// CHECK-NEXT: graph.return %[[HIDDEN]],
// CHECK-LABEL: graph.func @prefill.16.64(
// CHECK-LABEL: graph.func @prefill.16.128(
// CHECK-LABEL: graph.func @prefill.64.64(
// CHECK-LABEL: graph.func @prefill.64.128(
// CHECK-LABEL: graph.func @generate.32(
// CHECK-SAME: %ids: tensor<1xi32>
// CHECK-SAME: -> (tensor<1x256xf32>, tensor<2x128x16xf32>,
// CHECK-SAME: graph.entry = {context = 32 : i32, kind = "generate", rows = 1 : i32}
// CHECK: graph.rms_norm {{.*}}, @output_norm
// CHECK-NEXT: %[[LOGITS:.*]] = graph.head {{.*}} : (tensor<1x64xf32>) -> tensor<1x256xf32>
// CHECK-NEXT: graph.return %[[LOGITS]],
// CHECK-LABEL: graph.func @generate.64(
// CHECK-LABEL: graph.func @generate.128(
// CHECK-LABEL: graph.func @head.1(%hidden: tensor<1x64xf32>) -> tensor<1x256xf32>
// CHECK-SAME: graph.entry = {context = 0 : i32, kind = "head", rows = 1 : i32}
// CHECK-LABEL: graph.func @head.16(%hidden: tensor<16x64xf32>) -> tensor<16x256xf32>
// CHECK-NEXT: %[[N:.*]] = graph.rms_norm %hidden, @output_norm
// CHECK-NEXT: %[[L:.*]] = graph.head %[[N]], @token_embd : (tensor<16x64xf32>) -> tensor<16x256xf32>
// CHECK-NEXT: graph.return %[[L]]

// A batch: each row has a cache, mask and first row of its own, and logits.
// BATCH: graph.func @generate.128(
// BATCH-LABEL: graph.func @batch.2.32(
// BATCH-SAME: %ids: tensor<2xi32>, %positions: tensor<2xi32>, %valid: tensor<i32>, %row0: tensor<2xi32>, %mask: tensor<2x32xi8>,
// BATCH-SAME: %kv.k.0: tensor<2x2x128x16xf32>,
// BATCH-SAME: -> (tensor<2x256xf32>, tensor<2x2x128x16xf32>,
// BATCH-SAME: graph.entry = {context = 32 : i32, kind = "batch", rows = 2 : i32}
// BATCH: graph.cache_update {{.*}} -> tensor<2x2x128x16xf32>
// BATCH: graph.attention {{.*}} tensor<2x32xi8>, tensor<2xi32>) -> tensor<2x64xf32>
// BATCH: graph.head
// BATCH-LABEL: graph.func @batch.2.128(
// BATCH-LABEL: graph.func @batch.4.32(
// BATCH-LABEL: graph.func @batch.4.128(
// BATCH-LABEL: graph.func @head.1(
// ONE-ROW: graph.freeze_c2: found {{.*}}batches [1, 2]

// Lists of the best come behind all logits, and behind nothing else.
// TOP-LABEL: graph.func @prefill.16.32(
// TOP-NOT: graph.top_k
// TOP-LABEL: graph.func @generate.32(
// TOP-SAME: -> (tensor<1x256xf32>, tensor<1x8xf32>, tensor<1x8xi32>, tensor<2x32x16xf32>,
// TOP: %[[LOGITS:.*]] = graph.head
// TOP-NEXT: %[[BEST:.*]], %[[IDS:.*]] = graph.top_k %[[LOGITS]] : (tensor<1x256xf32>) -> (tensor<1x8xf32>, tensor<1x8xi32>)
// TOP-NEXT: graph.return %[[LOGITS]], %[[BEST]], %[[IDS]],
// TOP-LABEL: graph.func @batch.2.32(
// TOP: graph.top_k {{.*}} -> (tensor<2x8xf32>, tensor<2x8xi32>)
// TOP-LABEL: graph.func @head.4(%hidden: tensor<4x64xf32>) -> (tensor<4x256xf32>, tensor<4x8xf32>, tensor<4x8xi32>)
// TOP: graph.top_k
// TOO-MANY: graph.freeze_c2: found {{.*}} top 257, expected {{.*}} top from 0 to the 256 tokens of the vocabulary

// TOO-LONG: graph.freeze_c2: found chunks [16], contexts [64], head rows [1], batches [], kv rows 32, top 0, expected ascending ladders
// ORDER: graph.freeze_c2: found chunks [64, 16]
// UNCOVERED: graph.freeze_c2: found chunks [64], contexts [32]
// EMPTY: graph.freeze_c2: found chunks []
// STATEFUL: graph.freeze_c1: expected exactly one graph.func, named @model, that is stateless

module {
  graph.weight @head : tensor<256x64xf32> {file = "head"}
  // expected-error @+1 {{graph.freeze_c3: result 0 is not made by a norm and a graph.head from one matrix}}
  graph.func @model(%ids: tensor<?xi32>, %mask: tensor<?xi8>) -> tensor<?x256xf32> {
    %0 = graph.embed %ids, @head : (tensor<?xi32>) -> tensor<?x64xf32>
    %1 = graph.head %0, @head : (tensor<?x64xf32>) -> tensor<?x256xf32>
    graph.return %1 : tensor<?x256xf32>
  }
}

// -----

module {
  graph.weight @norm : tensor<64xf32> {file = "norm"}
  graph.weight @head : tensor<256x64xf32> {file = "head"}
  // expected-error @+1 {{graph.freeze_c3: result 0 is not made by a norm and a graph.head from one matrix}}
  graph.func @model(%ids: tensor<?xi32>, %mask: tensor<?xi8>) -> tensor<?x64xf32> {
    %0 = graph.embed %ids, @head : (tensor<?xi32>) -> tensor<?x64xf32>
    %1 = graph.rms_norm %0, @norm {eps = 1.0e-5 : f32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    graph.return %1 : tensor<?x64xf32>
  }
}
