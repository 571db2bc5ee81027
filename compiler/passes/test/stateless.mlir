// State becomes arguments and results, in the order of the states; every use sees the written cache.
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless | FileCheck %s
// RUN: firn-opt %s --graph-stateless --split-input-file --verify-diagnostics

// CHECK-NOT: graph.state
// CHECK-LABEL: graph.func @model(
// CHECK-SAME: %ids: tensor<?xi32>, %positions: tensor<?xi32>, %valid: tensor<i32>, %row0: tensor<i32>, %mask: tensor<?xi8>,
// CHECK-SAME: %kv.k.0: tensor<2x?x16xf32>, %kv.v.0: tensor<2x?x16xf32>, %kv.k.1: tensor<2x?x16xf32>, %kv.v.1: tensor<2x?x16xf32>)
// CHECK-SAME: -> (tensor<?x256xf32>, tensor<2x?x16xf32>, tensor<2x?x16xf32>, tensor<2x?x16xf32>, tensor<2x?x16xf32>)
// CHECK: %[[K0:.*]] = graph.cache_update %kv.k.0, %{{.*}}, %row0, %valid {heads = 2 : i32}
// CHECK: %[[V0:.*]] = graph.cache_update %kv.v.0, %{{.*}}, %row0, %valid {heads = 2 : i32}
// CHECK: graph.attention %{{.*}}, %[[K0]], %[[V0]] mask %mask row0 %row0
// CHECK: %[[K1:.*]] = graph.cache_update %kv.k.1
// CHECK: %[[V1:.*]] = graph.cache_update %kv.v.1
// CHECK: graph.attention %{{.*}}, %[[K1]], %[[V1]] mask %mask row0 %row0
// CHECK: %[[LOGITS:.*]] = graph.head
// CHECK: graph.return %[[LOGITS]], %[[K0]], %[[V0]], %[[K1]], %[[V1]]
// CHECK-NOT: graph.state

// expected-error @+1 {{graph.stateless_c1: expected exactly one graph.func, named @model}}
module {
  graph.func @other() {
    graph.return
  }
}

// -----

module {
  // expected-error @+1 {{graph.stateless_c1: @model has a mask argument, expected a stateful model}}
  graph.func @model(%mask: tensor<?xi8>) {
    graph.return
  }
}

// -----

module {
  graph.state @kv.k.0 : tensor<2x?x16xf32>
  graph.func @model(%x: tensor<?x32xf32>) {
    graph.state_write @kv.k.0, %x {heads = 2 : i32} : tensor<?x32xf32>
    // expected-error @+1 {{graph.stateless_c2: @kv.k.0 is written twice, expected one write a step}}
    graph.state_write @kv.k.0, %x {heads = 2 : i32} : tensor<?x32xf32>
    graph.return
  }
}

// -----

module {
  graph.state @kv.k.0 : tensor<2x?x16xf32>
  graph.func @model(%x: tensor<?x32xf32>) {
    // expected-error @+1 {{graph.stateless_c3: @kv.k.0 is read before the rows of this step are written to it}}
    %0 = graph.state_read @kv.k.0 : tensor<2x?x16xf32>
    graph.state_write @kv.k.0, %x {heads = 2 : i32} : tensor<?x32xf32>
    graph.return
  }
}
