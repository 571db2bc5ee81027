// An entry whose layers run on several targets becomes a function for each; bodies get a copy for each target.
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold -o %t.mlir
// RUN: firn-opt %t.mlir --graph-place='places=layers[1:]=reference,head=reference' | FileCheck %s
// RUN: firn-opt %t.mlir --graph-place='places=layers[0:1]=reference,head=cpu' | FileCheck %s --check-prefix=MIXED
// RUN: firn-opt %t.mlir --graph-place='places=head=cpu' | FileCheck %s --check-prefix=HEAD
// RUN: firn-opt %t.mlir --graph-place='prefill=reference decode=cpu' | FileCheck %s --check-prefix=PHASE
// RUN: firn-opt %t.mlir --graph-place='places=layers[0:1]=cpu,layers[1:2]=cpu' | FileCheck %s --check-prefix=SAME
// RUN: firn-opt %t.mlir --graph-place='places=layers[0:1]=cpu,layers[1:2]=cpu' --task-lower=lanes=2 --task-schedule | FileCheck %s --check-prefix=TASKS
// RUN: firn-opt %t.mlir --graph-place='places=layers[1:2]=reference' --task-lower=lanes=2 --task-schedule | FileCheck %s --check-prefix=BOTH
// RUN: not firn-opt %t.mlir --graph-place='places=layers[1:3]=cpu' 2>&1 | FileCheck %s --check-prefix=RANGE
// RUN: not firn-opt %t.mlir --graph-place='places=layers[1]=cpu' 2>&1 | FileCheck %s --check-prefix=FORM
// RUN: not firn-opt %t.mlir --graph-place='decode=toaster' 2>&1 | FileCheck %s --check-prefix=TARGET

// The embedding joins the first layer, and the head has a place of its own on the target of the last one.
// CHECK: graph.func private @block.16({{.*}}graph.device = "cpu"
// CHECK: graph.func private @block.16.reference({{.*}}graph.device = "reference"
// CHECK: graph.func @prefill.16.64.p0(%ids: tensor<16xi32>, %positions: tensor<16xi32>, %valid: tensor<i32>, %row0: tensor<i32>, %mask: tensor<64xi8>, %kv.k.0: tensor<2x64x16xf32>, %kv.v.0: tensor<2x64x16xf32>) -> (tensor<16x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) attributes {graph.device = "cpu", graph.entry = {context = 64 : i32, kind = "prefill", part = 0 : i32, parts = 2 : i32, rows = 16 : i32}
// CHECK: graph.embed
// CHECK: graph.call @block.16(
// CHECK: graph.func @prefill.16.64.p1(%hidden: tensor<16x64xf32>, %positions: tensor<16xi32>, %valid: tensor<i32>, %row0: tensor<i32>, %mask: tensor<64xi8>, %kv.k.1: tensor<2x64x16xf32>, %kv.v.1: tensor<2x64x16xf32>) -> (tensor<16x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) attributes {graph.device = "reference", {{.*}}graph.reason = "--place layers[1:]=reference"
// CHECK: graph.call @block.16.reference(%hidden
// CHECK: graph.func @generate.64.p1({{.*}}-> (tensor<1x256xf32>, {{.*}}graph.reason = "--place layers[1:]=reference; --place head=reference"
// CHECK: graph.func @head.1({{.*}}graph.device = "reference"

// A part of several wishes names each.
// MIXED: graph.func @generate.64.p1({{.*}}graph.reason = "--place layers[0:1]=reference"
// MIXED: graph.func @generate.64.p2({{.*}}graph.reason = "--device cpu; --place head=cpu"
// HEAD: graph.func @prefill.16.64({{.*}}graph.reason = "--device cpu"
// HEAD: graph.func @generate.64({{.*}}graph.reason = "--device cpu; --place head=cpu"
// HEAD: graph.func @head.1({{.*}}graph.reason = "--place head=cpu"

// PHASE: graph.func private @block.16({{.*}}graph.device = "reference"
// PHASE: graph.func private @block.1({{.*}}graph.device = "cpu"
// PHASE: graph.func @prefill.16.64({{.*}}graph.device = "reference"{{.*}}graph.reason = "--prefill-device reference"
// PHASE: graph.func @generate.64({{.*}}graph.device = "cpu"{{.*}}graph.reason = "--decode-device cpu"
// PHASE: graph.func @head.1({{.*}}graph.device = "cpu"

// SAME: graph.func @prefill.16.64.p0({{.*}}graph.device = "cpu"
// SAME: graph.func @prefill.16.64.p1({{.*}}graph.device = "cpu"

// Every lane of the second function takes a copy of the hidden rows, and its last layer leaves them there.
// TASKS: task.entry @prefill.16.64.p0 {{.*}} part [0, 2] because
// TASKS: task.symbol "hidden" "f32" [16, 64] bytes 4096 output
// TASKS: task.entry @prefill.16.64.p1 {{.*}} part [1, 2] because
// TASKS: task.symbol "positions"
// TASKS: task.symbol "hidden" "f32" [16, 64] bytes 4096 output
// TASKS: task.body @prefill.16.hidden
// TASKS: task.lane 0
// TASKS-NEXT: "cpu.copy" for "hidden" {{.*}}symbol "hidden"
// TASKS: task.lane 1
// TASKS-NEXT: "cpu.copy" for "hidden" {{.*}}symbol "hidden"

// A program for each target, with one number of lanes, one type of cache, and weights behind those of the other.
// BOTH: task.program "cpu" lanes 2 {{.*}}kv_type = "f32"{{.*}} weights_bytes = [[END:[0-9]+]]
// BOTH: task.program "reference" lanes 2 {{.*}}kv_type = "f32"
// BOTH: task.stream {{.*}} at [[END]]
// RANGE: graph.place_c3: --place 'layers[1:3]=cpu': the model has layers 0 to 1
// FORM: graph.place_c3: --place 'layers[1]=cpu': expected head, layers or layers[FIRST:END]
// TARGET: graph.place_c1: found target "toaster", expected one of: cpu, npu, reference
