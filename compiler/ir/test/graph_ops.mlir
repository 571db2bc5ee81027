// Every tensor op that the tiny llama does not use, valid, through the printer and the parser.
// RUN: firn-opt %s | firn-opt | FileCheck %s

graph.weight @norm : tensor<64xf32> {file = "norm.weight"}
graph.weight @norm.bias : tensor<64xbf16> {file = "norm.bias"}
graph.weight @up : tensor<96x64x!graph.q4_1> {file = "up.weight"}
graph.weight @up.bias : tensor<96xf16> {file = "up.bias"}

// Every quantized type that @up and the tiny llama do not have.
// CHECK: graph.weight @w0 : tensor<2x32x!graph.q5_0>
graph.weight @w0 : tensor<2x32x!graph.q5_0> {file = "w0"}
// CHECK: graph.weight @w1 : tensor<2x32x!graph.q5_1>
graph.weight @w1 : tensor<2x32x!graph.q5_1> {file = "w1"}
// CHECK: graph.weight @w2 : tensor<2x256x!graph.q4_k>
graph.weight @w2 : tensor<2x256x!graph.q4_k> {file = "w2"}
// CHECK: graph.weight @w3 : tensor<2x256x!graph.q5_k>
graph.weight @w3 : tensor<2x256x!graph.q5_k> {file = "w3"}
// CHECK: graph.weight @w4 : tensor<2x256x!graph.q6_k>
graph.weight @w4 : tensor<2x256x!graph.q6_k> {file = "w4"}

// CHECK-LABEL: graph.func @all(%x: tensor<?x64xf32>, %rows: tensor<?xi32>) -> tensor<?x160xf32>
graph.func @all(%x: tensor<?x64xf32>, %rows: tensor<?xi32>) -> tensor<?x160xf32> {
  // CHECK: graph.layer_norm %x, @norm bias @norm.bias {eps = 9.99999974E-6 : f32}
  %0 = graph.layer_norm %x, @norm bias @norm.bias {eps = 1.0e-5 : f32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
  // CHECK: graph.linear %{{.*}}, @up bias @up.bias : (tensor<?x64xf32>) -> tensor<?x96xf32>
  %1 = graph.linear %0, @up bias @up.bias : (tensor<?x64xf32>) -> tensor<?x96xf32>
  // CHECK: graph.gelu %{{.*}} {tanh = true}
  %2 = graph.gelu %1 {tanh = true} : (tensor<?x96xf32>) -> tensor<?x96xf32>
  // CHECK: graph.scale %{{.*}} {factor = 8.000000e+00 : f32}
  %3 = graph.scale %2 {factor = 8.0 : f32} : (tensor<?x96xf32>) -> tensor<?x96xf32>
  // CHECK: graph.softcap %{{.*}} {cap = 3.000000e+01 : f32}
  %4 = graph.softcap %3 {cap = 30.0 : f32} : (tensor<?x96xf32>) -> tensor<?x96xf32>
  // CHECK: graph.slice %{{.*}} {start = 32 : i32} : (tensor<?x96xf32>) -> tensor<?x64xf32>
  %5 = graph.slice %4 {start = 32 : i32} : (tensor<?x96xf32>) -> tensor<?x64xf32>
  // CHECK: graph.concat %{{.*}}, %{{.*}} : (tensor<?x64xf32>, tensor<?x96xf32>) -> tensor<?x160xf32>
  %6 = graph.concat %5, %4 : (tensor<?x64xf32>, tensor<?x96xf32>) -> tensor<?x160xf32>
  // CHECK: graph.select_rows %{{.*}}, %rows : (tensor<?x160xf32>, tensor<?xi32>) -> tensor<?x160xf32>
  %7 = graph.select_rows %6, %rows : (tensor<?x160xf32>, tensor<?xi32>) -> tensor<?x160xf32>
  // CHECK: graph.top_k %{{.*}} : (tensor<?x160xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>)
  %8:2 = graph.top_k %7 : (tensor<?x160xf32>) -> (tensor<?x8xf32>, tensor<?x8xi32>)
  graph.return %7 : tensor<?x160xf32>
}

// A step of a batch: a cache, mask and first row for each row.
// CHECK-LABEL: graph.func @batch(
graph.func @batch(%q: tensor<4x64xf32>, %kr: tensor<4x32xf32>, %c: tensor<4x2x128x16xf32>, %m: tensor<4x64xi8>, %r: tensor<4xi32>, %valid: tensor<i32>) -> (tensor<4x64xf32>, tensor<4x2x128x16xf32>) {
  // CHECK: graph.cache_update {{.*}} : (tensor<4x2x128x16xf32>, tensor<4x32xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x2x128x16xf32>
  %0 = graph.cache_update %c, %kr, %r, %valid {heads = 2 : i32} : (tensor<4x2x128x16xf32>, tensor<4x32xf32>, tensor<4xi32>, tensor<i32>) -> tensor<4x2x128x16xf32>
  // CHECK: graph.attention {{.*}} mask %{{.*}} row0 %{{.*}} : (tensor<4x64xf32>, tensor<4x2x128x16xf32>, tensor<4x2x128x16xf32>, tensor<4x64xi8>, tensor<4xi32>) -> tensor<4x64xf32>
  %1 = graph.attention %q, %0, %0 mask %m row0 %r {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<4x2x128x16xf32>, tensor<4x2x128x16xf32>, tensor<4x64xi8>, tensor<4xi32>) -> tensor<4x64xf32>
  graph.return %1, %0 : tensor<4x64xf32>, tensor<4x2x128x16xf32>
}
