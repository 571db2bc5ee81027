// What cannot be made together stays apart: a norm or a sum of values that are kept as f16, and a rope by other positions.
// RUN: firn-opt %s --npu-fuse | FileCheck %s

// CHECK-LABEL: @norm_of_half
// CHECK: graph.rms_norm %{{.*}}, @norm {eps = {{[^,]*}} : f32} :
// CHECK: graph.linear {{.*}}@a {graph.group = 0 : i32}
// CHECK-LABEL: @sum_with_half
// CHECK: graph.linear {{.*}}@a {graph.group = 0 : i32}
// CHECK-NEXT: graph.add %{{.*}}, %{{.*}} : (
// CHECK-NEXT: graph.return
// CHECK-LABEL: @other_positions
// CHECK: graph.rope {{.*}}%p1, @freqs {dims = 16 : i32, graph.group = 0 : i32
// CHECK: graph.rope {{.*}}%p2, @freqs {dims = 16 : i32, heads
// CHECK-LABEL: @together
// CHECK: graph.rms_norm {{.*}}graph.group = 0 : i32
// CHECK: graph.linear {{.*}}@a {graph.group = 0 : i32}
// CHECK-NEXT: graph.add {{.*}} {graph.group = 0 : i32}

module {
  graph.weight @norm : tensor<64xf32> {file = "norm"}
  graph.weight @freqs : tensor<8xf32> {file = "freqs"}
  graph.weight @a : tensor<64x64x!graph.q4_0> {file = "a"}
  graph.weight @b : tensor<64x64x!graph.q4_0> {file = "b"}
  graph.func private @norm_of_half(%half.x: tensor<16x64xf32>) -> tensor<16x64xf32> attributes {graph.device = "npu"} {
    %n = graph.rms_norm %half.x, @norm {eps = 1.0e-5 : f32} : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %a = graph.linear %n, @a : (tensor<16x64xf32>) -> tensor<16x64xf32>
    graph.return %a : tensor<16x64xf32>
  }
  graph.func private @sum_with_half(%x: tensor<16x64xf32>, %half.y: tensor<16x64xf32>) -> tensor<16x64xf32> attributes {graph.device = "npu"} {
    %a = graph.linear %x, @a : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %s = graph.add %a, %half.y : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    graph.return %s : tensor<16x64xf32>
  }
  graph.func private @other_positions(%x: tensor<16x64xf32>, %p1: tensor<16xi32>, %p2: tensor<16xi32>) -> (tensor<16x64xf32>, tensor<16x64xf32>) attributes {graph.device = "npu"} {
    %a = graph.linear %x, @a : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %ra = graph.rope interleaved %a, %p1, @freqs {dims = 16 : i32, heads = 4 : i32, magnitude = 1.0 : f32} : (tensor<16x64xf32>, tensor<16xi32>) -> tensor<16x64xf32>
    %b = graph.linear %x, @b : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %rb = graph.rope interleaved %b, %p2, @freqs {dims = 16 : i32, heads = 4 : i32, magnitude = 1.0 : f32} : (tensor<16x64xf32>, tensor<16xi32>) -> tensor<16x64xf32>
    graph.return %ra, %rb : tensor<16x64xf32>, tensor<16x64xf32>
  }
  graph.func private @together(%x: tensor<16x64xf32>) -> tensor<16x64xf32> attributes {graph.device = "npu"} {
    %n = graph.rms_norm %x, @norm {eps = 1.0e-5 : f32} : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %a = graph.linear %n, @a : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %s = graph.add %x, %a : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    graph.return %s : tensor<16x64xf32>
  }
}
