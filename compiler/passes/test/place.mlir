// Every function gets a device and the reason; an op that the target cannot run is named with its layer, and runs where
// it can.
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold -o %t.mlir
// RUN: firn-opt %t.mlir --graph-place=target=cpu | FileCheck %s -DDEVICE=cpu
// RUN: firn-opt %t.mlir --graph-place=target=reference | FileCheck %s -DDEVICE=reference
// RUN: not firn-opt %t.mlir --graph-place=target=toaster 2>&1 | FileCheck %s --check-prefix=TARGET
// RUN: sed 's/graph.silu %g1/graph.gelu %g1 {tanh = false}/' %S/Inputs/tiny_llama.mlir | firn-opt --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold -o %t.gelu.mlir
// RUN: firn-opt %t.gelu.mlir --graph-place=target=cpu 2>&1 | FileCheck %s --check-prefix=GELU
// RUN: firn-opt %t.gelu.mlir --graph-place=target=reference | FileCheck %s --check-prefix=GELU-REFERENCE
// RUN: sed 's/graph.silu %\(g[01]\)/graph.gelu %\1 {tanh = false}/' %S/Inputs/tiny_llama.mlir | firn-opt --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold --graph-place=target=cpu 2>&1 | FileCheck %s --check-prefix=BOTH
// RUN: firn-opt %s --graph-place --split-input-file --verify-diagnostics

// CHECK: graph.func private @block.16({{.*}} attributes {graph.device = "[[DEVICE]]", graph.reason = "target [[DEVICE]] has a kernel for each op here: add, attention, cache_update, linear, mul, rms_norm, rope, silu"}
// CHECK: graph.func private @block.1({{.*}}graph.device = "[[DEVICE]]"
// CHECK: graph.func @prefill.16.64({{.*}}graph.device = "[[DEVICE]]", graph.entry = {{.*}}, graph.reason = "--device [[DEVICE]]"}
// CHECK: graph.func @generate.64({{.*}}graph.device = "[[DEVICE]]"{{.*}}graph.reason = "--device [[DEVICE]]"}
// CHECK: graph.func @head.1({{.*}}graph.device = "[[DEVICE]]"

// TARGET: graph.place_c1: found target "toaster", expected one of: cpu, npu, reference
// GELU: warning: graph.place_c2: target cpu cannot run graph.gelu in layer 1: it has gelu only in the tanh form, as gelu(gate) * up; it runs on reference
// GELU: graph.func private @block.16({{.*}}graph.device = "cpu"
// GELU: graph.func private @block.16.1({{.*}}graph.device = "reference"
// GELU: graph.func @prefill.16.64.p0({{.*}}graph.device = "cpu"
// GELU: graph.func @prefill.16.64.p1({{.*}}graph.device = "reference"{{.*}}graph.reason = "cpu cannot run gelu in layer 1: it has gelu only in the tanh form, as gelu(gate) * up"}
// BOTH: warning: graph.place_c2: target cpu cannot run graph.gelu in layers 0 to 1: it has gelu only in the tanh form, as gelu(gate) * up; it runs on reference
// BOTH-NOT: warning:
// BOTH: graph.func @prefill.16.64.p1({{.*}}graph.reason = "cpu cannot run gelu in layers 0 to 1: it has gelu only in the tanh form, as gelu(gate) * up"}
// GELU-REFERENCE: each op here: add, attention, cache_update, gelu, linear, mul, rms_norm, rope"

module {
  graph.func @head.4(%hidden: tensor<4x32xf32>) -> tensor<4x32xf32> {
    // expected-warning @+1 {{graph.place_c2: target cpu cannot run graph.mul outside the layers: it has mul only as silu(gate) * up or gelu(gate) * up; it runs on reference}}
    %0 = graph.mul %hidden, %hidden : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
    graph.return %0 : tensor<4x32xf32>
  }
}

// -----

module {
  graph.func @head.4(%hidden: tensor<4x32xf32>) -> tensor<4x32xf32> {
    // expected-warning @+1 {{graph.place_c2: target cpu cannot run graph.silu outside the layers: it has silu only as silu(gate) * up; it runs on reference}}
    %0 = graph.silu %hidden : (tensor<4x32xf32>) -> tensor<4x32xf32>
    graph.return %0 : tensor<4x32xf32>
  }
}

// -----

module {
  graph.func @head.4(%hidden: tensor<4x32xf32>) -> tensor<4x32xf32> {
    // expected-warning @+1 {{graph.place_c2: target cpu cannot run graph.scale outside the layers: it has scale only of the rows of an embedding; it runs on reference}}
    %0 = graph.scale %hidden {factor = 2.0 : f32} : (tensor<4x32xf32>) -> tensor<4x32xf32>
    graph.return %0 : tensor<4x32xf32>
  }
}

// -----

module {
  graph.func @head.4(%hidden: tensor<4x32xf32>, %rows: tensor<1xi32>) -> tensor<1x32xf32> {
    // expected-error @+1 {{graph.place_c2: target cpu cannot run graph.select_rows outside the layers (@head.4): it has no kernel for it; targets that can: none}}
    %0 = graph.select_rows %hidden, %rows : (tensor<4x32xf32>, tensor<1xi32>) -> tensor<1x32xf32>
    graph.return %0 : tensor<1x32xf32>
  }
}
