// On a tile of 64 KiB a row of 16384 numbers is half of it: q, k and v lose their ropes, their norm and each other until
// they fit, and so do gate and up.
// RUN: sed 's/"bytes_per_tile": [0-9]*/"bytes_per_tile": 65536/' %S/../../target/npu/machines/lnl.json > %t.json
// RUN: firn-opt %s --npu-legalize=machine=%t.json --npu-fuse -o %t.fuse.mlir
// RUN: FileCheck %s --input-file %t.fuse.mlir --check-prefix=FUSED
// RUN: firn-opt %t.fuse.mlir --npu-strategy | FileCheck %s
// A tile of 16 MiB has room for them.
// RUN: sed 's/"bytes_per_tile": [0-9]*/"bytes_per_tile": 16777216/' %S/../../target/npu/machines/lnl.json > %t.large.json
// RUN: firn-opt %s --npu-legalize=machine=%t.large.json --npu-fuse --npu-strategy | FileCheck %s --check-prefix=ROOM

// FUSED: graph.rms_norm {{.*}}graph.group = 0
// FUSED: graph.rope {{.*}}graph.group = 0
// CHECK-NOT: graph.rms_norm {{.*}}graph.group
// CHECK: graph.linear {{.*}}@q {graph.group = [[Q:[0-9]+]] : i32, graph.tiling = {{{.*}}depth = {{(256|512|1024|2048|4096)}} : i64
// CHECK-NOT: graph.rope {{.*}}graph.group
// CHECK: graph.linear {{.*}}@k {graph.group = {{[0-9]+}} : i32, graph.tiling = {{{.*}}depth = {{(256|512|1024|2048|4096)}} : i64
// CHECK: graph.linear {{.*}}@up {graph.group = {{[0-9]+}} : i32, graph.tiling = {
// CHECK: graph.silu {{[^{]*}} :
// ROOM: graph.linear {{.*}}@q {graph.group = 0 : i32, graph.tiling = {{{.*}}depth = 16384 : i64
// ROOM: graph.linear {{.*}}@k {graph.group = 0 : i32} :

module {
  graph.weight @norm : tensor<16384xf32> {file = "norm"}
  graph.weight @freqs : tensor<32xf32> {file = "freqs"}
  graph.weight @q : tensor<256x16384x!graph.q4_0> {file = "q"}
  graph.weight @k : tensor<128x16384x!graph.q4_0> {file = "k"}
  graph.weight @gate : tensor<512x16384x!graph.q4_0> {file = "gate"}
  graph.weight @up : tensor<512x16384x!graph.q4_0> {file = "up"}
  graph.func private @body(%x: tensor<64x16384xf32>, %positions: tensor<64xi32>) -> (tensor<64x256xf32>, tensor<64x128xf32>, tensor<64x512xf32>) attributes {graph.device = "npu"} {
    %n = graph.rms_norm %x, @norm {eps = 1.0e-5 : f32} : (tensor<64x16384xf32>) -> tensor<64x16384xf32>
    %q = graph.linear %n, @q : (tensor<64x16384xf32>) -> tensor<64x256xf32>
    %qr = graph.rope interleaved %q, %positions, @freqs {dims = 64 : i32, heads = 4 : i32, magnitude = 1.0 : f32} : (tensor<64x256xf32>, tensor<64xi32>) -> tensor<64x256xf32>
    %k = graph.linear %n, @k : (tensor<64x16384xf32>) -> tensor<64x128xf32>
    %g = graph.linear %x, @gate : (tensor<64x16384xf32>) -> tensor<64x512xf32>
    %u = graph.linear %x, @up : (tensor<64x16384xf32>) -> tensor<64x512xf32>
    %s = graph.silu %g : (tensor<64x512xf32>) -> tensor<64x512xf32>
    %p = graph.mul %s, %u : (tensor<64x512xf32>, tensor<64x512xf32>) -> tensor<64x512xf32>
    graph.return %qr, %k, %p : tensor<64x256xf32>, tensor<64x128xf32>, tensor<64x512xf32>
  }
}
