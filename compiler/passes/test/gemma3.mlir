// What a model with windows, extra norms, GeGLU and a scaled embedding becomes on each target: two bodies a chunk, one for
// layers with the window and one for those that see all.
// RUN: firn-opt %S/Inputs/tiny_gemma3.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold -o %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: firn-opt %t.mlir --graph-place=target=reference --task-lower | FileCheck %s --check-prefix=REFERENCE
// RUN: firn-opt %t.mlir --graph-place --task-lower=lanes=2 | FileCheck %s --check-prefix=CPU

// CHECK-LABEL: graph.func private @block.16(
// CHECK: graph.param @rope.window_freqs : tensor<16xf32>
// CHECK: graph.rms_norm %{{.*}}, @attn_q_norm {{.*}}heads = 4 : i32
// CHECK: graph.rope half_split %{{.*}}, %positions, @rope.window_freqs
// CHECK: graph.attention {{.*}}mask %mask row0 %row0 {{.*}}window = 24 : i32
// CHECK-LABEL: graph.func private @block.16.1(
// CHECK: graph.param @rope.freqs : tensor<16xf32>
// CHECK: graph.attention
// CHECK-NOT: window
// CHECK-LABEL: graph.func private @block.1(
// CHECK-LABEL: graph.func private @block.1.1(
// CHECK-LABEL: graph.func @prefill.16.64(
// CHECK: graph.embed
// CHECK-NEXT: graph.scale %{{.*}} {factor = 8.000000e+00 : f32}
// CHECK-NEXT: graph.call @block.16(
// CHECK: graph.call @block.16.1(

// REFERENCE-LABEL: task.body @prefill.16.input
// REFERENCE: "ref.embed"
// REFERENCE-NEXT: "ref.scale" {{.*}} attrs [8.000000e+00]
// REFERENCE-LABEL: task.body @block.16 [
// REFERENCE: "ref.linear" for "attn_q"
// One task for each head.
// REFERENCE-COUNT-4: "ref.rms_norm" for "attn_q_norm" {{.*}} : f32 [16, 32] strides [128, 1]
// REFERENCE-NEXT: "ref.rope"
// REFERENCE-COUNT-2: "ref.rms_norm" for "attn_k_norm" {{.*}} : f32 [16, 32] strides [64, 1]
// REFERENCE: "ref.attention" {{.*}} attrs [2.500000e-01, 24]
// REFERENCE-NEXT: "ref.linear" for "attn_output"
// REFERENCE-NEXT: "ref.rms_norm" for "post_attention_norm"
// REFERENCE-NEXT: "ref.add"
// REFERENCE: "ref.gelu" {{.*}} attrs [1]
// REFERENCE-NEXT: "ref.mul"
// REFERENCE-NEXT: "ref.linear" for "ffn_down"
// REFERENCE-NEXT: "ref.rms_norm" for "post_ffw_norm"
// REFERENCE-NEXT: "ref.add"
// REFERENCE-LABEL: task.body @block.16.1 [
// REFERENCE: "ref.attention" {{.*}} attrs [2.500000e-01, 0]

// Every lane gathers and scales all rows, norms the heads it has, and adds up and norms what it adds to its copy.
// CPU: task.call @prefill.16.input
// CPU-NEXT: task.call @block.16 {{.*}}@rope.window_freqs.table
// CPU-NEXT: task.call @block.16.1 {{.*}}@rope.freqs.table
// CPU-LABEL: task.body @prefill.16.input
// CPU: "cpu.embed"
// CPU-NEXT: "cpu.scale" for "embd_scale" {{.*}} attrs [8.000000e+00]
// CPU-LABEL: task.body @block.16 [
// CPU: "cpu.linear_i8" for "attn_q" {{.*}} : q4_0 [64, 64] panels
// CPU-NEXT: "cpu.rms_norm" for "attn_q_norm" {{.*}} : f32 [16, 32] strides [64, 1]
// CPU-NEXT: "cpu.rms_norm" for "attn_q_norm" {{.*}} : f32 [16, 32] strides [64, 1]
// CPU-NEXT: "cpu.rope"
// CPU-NEXT: "cpu.linear_i8" for "attn_k" {{.*}} : q4_0 [32, 64] panels
// CPU-NEXT: "cpu.rms_norm" for "attn_k_norm"
// CPU-NEXT: "cpu.rope"
// CPU: task.segment
// CPU: "cpu.attention" {{.*}} attrs [2.500000e-01, 0, 2, 24]
// CPU: task.segment
// CPU: task.lane 0
// CPU-NEXT: "cpu.copy" for "sum" {{.*}}"@attn_output_partials" + 0 :
// CPU-NEXT: "cpu.add_partials" for "sum" {{.*}}"@attn_output_partials" + 4096 : f32 [1, 16, 64]
// CPU-NEXT: "cpu.rms_norm" for "post_attention_norm"
// CPU-NEXT: "cpu.add_partials" for "residual" {{.*}} : f32 [1, 16, 64]
// CPU-NEXT: "cpu.rms_norm" for "ffn_norm"
// CPU: "cpu.gelu_mul"
// CPU: task.segment
// CPU: "cpu.rms_norm" for "post_ffw_norm"
// CPU-NEXT: "cpu.add_partials" for "residual" {{.*}} : f32 [1, 16, 64]
// CPU-LABEL: task.body @block.16.1 [
// CPU: "cpu.attention" {{.*}} attrs [2.500000e-01, 0, 2, 0]
