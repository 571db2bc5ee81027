// The reference target: one task per graph op, weights as in the file, the cache in f32.
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64,128 kv-rows=128 head-rows=1 top=8' --graph-fold --graph-place=target=reference --task-lower -o %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: grep -c 'task.body' %t.mlir | FileCheck %s --check-prefix=BODIES

// input, layer, output for 16 rows and for 1; the head.
// BODIES: {{^7$}}

// CHECK: task.program "reference" lanes 1 model {{{.*}}kv_type = "f32"
// CHECK-LABEL: task.entry @prefill.16.64
// CHECK: task.call @prefill.16.input []
// CHECK-NEXT: task.call @block.16 [@layer.0.lane0, @rope.freqs, 0, 16384] layer 0
// CHECK-NEXT: task.call @block.16 [@layer.1.lane0, @rope.freqs, 32768, 49152] layer 1
// CHECK-NEXT: task.call @prefill.16.output []
// CHECK-LABEL: task.stream @token_embd bytes 17408
// CHECK-NEXT: task.pack "raw" "q8_0" of "token_embd.weight" rows [0, 256] columns [0, 64]
// CHECK-LABEL: task.body @block.16 [
// CHECK: task.lane 0
// CHECK-NEXT: "ref.rms_norm" for "attn_norm"
// CHECK-NEXT: "ref.linear" for "attn_q" {{.*}} : q4_0 [64, 64] strides [64, 1]
// CHECK-NEXT: "ref.rope" {{.*}} attrs [0, 16, 1.000000e+00]
// CHECK: "ref.state_write" {{.*}}<kv "k" + 0 : f32 [2, 128, 16]
// CHECK-NEXT: "ref.state_write"
// CHECK-NEXT: "ref.attention" {{.*}}<symbol "mask" + 0 : u8 [128]
// CHECK: "ref.add" {{.*}}<scratch "@prefill.16.x0"
// CHECK: "ref.silu"
// CHECK-NEXT: "ref.mul"
// The last add writes where the next layer reads.
// CHECK: "ref.add" {{.*}}<scratch "@prefill.16.x0" + 0 : f32 [16, 64] strides [64, 1] bytes 4096>]
// CHECK-NOT: "ref.add"
// CHECK-LABEL: task.body @prefill.16.output
// CHECK: "ref.copy" {{.*}}<symbol "hidden"
// CHECK-LABEL: task.body @head.1.output
// CHECK: "ref.linear" for "token_embd" {{.*}}<symbol "logits" + 0 : f32 [1, 256]
// CHECK-NEXT: "ref.top_k" {{.*}}<symbol "logits" + 0 : f32 [1, 256]{{.*}}<symbol "top_logits" + 0 : f32 [1, 8]{{.*}}<symbol "top_ids" + 0 : i32 [1, 8]
