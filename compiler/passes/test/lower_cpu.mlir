// The cpu target: three segments a layer, work split among lanes, one stream of weights per lane and layer.
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64,128 kv-rows=128 head-rows=1 top=8' --graph-fold --graph-place --task-lower='lanes=2 max-prompt=64 min-response=64' -o %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: grep -c 'task.body' %t.mlir | FileCheck %s --check-prefix=BODIES
// RUN: grep -c 'task.stream' %t.mlir | FileCheck %s --check-prefix=STREAMS
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold --graph-place --task-lower='lanes=3 other-planes=2' | FileCheck %s --check-prefix=THREE
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1 top=8' --graph-fold --graph-place --task-lower | FileCheck %s --check-prefix=ONE-LANE
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1 top=8' --graph-fold | sed 's/graph.top_k %4 : (tensor<1x256xf32>)/graph.top_k %3 : (tensor<1x64xf32>)/' | not firn-opt --graph-place 2>&1 | FileCheck %s --check-prefix=TOP-OF-WHAT
// RUN: not firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold --graph-place --task-lower='max-prompt=64 min-response=64' 2>&1 | FileCheck %s --check-prefix=ROWS
// RUN: not firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold --task-lower 2>&1 | FileCheck %s --check-prefix=PLACED
// RUN: sed 's/graph.mul \(.s1\), \(.u1\)/graph.mul \2, \1/' %S/Inputs/tiny_llama.mlir | firn-opt --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold --graph-place=target=reference | sed 's/graph.device = "reference"/graph.device = "cpu"/' | not firn-opt --task-lower 2>&1 | FileCheck %s --check-prefix=RULE

// The bodies: first layer (which gathers the embedding), other layers and output, for 16 rows and for 1; the head.
// BODIES: {{^7$}}
// Embedding and head, rope table, norms and two lanes of two layers, last norm.
// STREAMS: {{^9$}}

// CHECK: task.program "cpu" lanes 2 model {{{.*}}kv_rows = 128 : i64, kv_type = "f16", {{.*}}max_prompt_tokens = 64 : i64, min_response_tokens = 64
// CHECK-LABEL: task.entry @prefill.16.64 "prefill" rows 16 context 64 group "prefill.16"
// CHECK: task.symbol "kv" "f16" [4, 2, 128, 16] bytes 32768 output
// CHECK: task.call @block.16 [@layer.0.shared, @layer.0.lane0, @layer.0.lane1, @rope.freqs.table, 0, 8192] layer 0
// CHECK: task.call @block.16.1 [@layer.1.shared, @layer.1.lane0, @layer.1.lane1, @rope.freqs.table, 16384, 24576] layer 1
// CHECK: task.call @prefill.16.output []
// CHECK-LABEL: task.body @block.16 [
// CHECK: task.segment
// CHECK-NEXT: task.lane 0
// CHECK-NEXT: "cpu.embed"
// CHECK-NEXT: "cpu.rms_norm" for "attn_norm"
// CHECK-NEXT: "cpu.quantize" {{.*}} : i8 [2, 16, 64]
// CHECK-NEXT: "cpu.linear_i8" for "attn_q" {{.*}}<weights "lane0" + 0 : q4_0 [32, 64] panels
// CHECK-NEXT: "cpu.rope" {{.*}}<weights "rope.freqs" + 0 : f32 [128, 8, 2]
// CHECK-NEXT: "cpu.linear_i8" for "attn_k" {{.*}} : q4_0 [16, 64] panels
// CHECK-NEXT: "cpu.rope"
// CHECK-NEXT: "cpu.linear_i8" for "attn_v"
// CHECK-NEXT: "cpu.kv_write" {{.*}}<kv "k" + 0 : f16 [1, 128, 16]
// CHECK-NEXT: "cpu.kv_write" {{.*}}<kv "v" + 0 : f16 [1, 128, 16]
// CHECK: task.lane 1
// CHECK: "cpu.kv_write" {{.*}}<kv "v" + 4096 : f16 [1, 128, 16]
// CHECK: task.segment
// CHECK: task.lane 0
// CHECK-NEXT: "cpu.attention" {{.*}} attrs [2.500000e-01, 0, 2, 0]
// CHECK-NEXT: "cpu.quantize" {{.*}} : i8 [1, 16, 32]
// CHECK-NEXT: "cpu.linear_i8" for "attn_output" {{.*}} : q4_0 [64, 32] panels {{.*}}"@attn_output_partials" + 0 :
// CHECK: task.lane 1
// CHECK-NEXT: "cpu.attention" {{.*}} attrs [2.500000e-01, 2, 2, 0]
// CHECK: "cpu.linear_i8" for "attn_output" {{.*}}"@attn_output_partials" + 4096 :
// CHECK: task.segment
// CHECK: task.lane 0
// CHECK-NEXT: "cpu.add_partials" for "residual" {{.*}}f32 [2, 16, 64]
// CHECK-NEXT: "cpu.rms_norm" for "ffn_norm"
// CHECK-NEXT: "cpu.quantize" {{.*}} : i8 [1, 16, 64]
// CHECK-NEXT: "cpu.linear_i8" for "ffn_gate" {{.*}} : q4_0 [32, 64] panels
// CHECK-NEXT: "cpu.linear_i8" for "ffn_up"
// CHECK-NEXT: "cpu.silu_mul"
// CHECK-NEXT: "cpu.quantize"
// CHECK-NEXT: "cpu.linear_i8" for "ffn_down" {{.*}}"@prefill.16.partials" + 0 :
// CHECK: task.lane 1
// CHECK: "cpu.linear_i8" for "ffn_gate" {{.*}} : q4_0 [64, 64] panels
// CHECK-NOT: task.segment
// CHECK-LABEL: task.body @block.16.1 [
// CHECK: task.lane 0
// CHECK-NEXT: "cpu.add_partials" {{.*}}"@prefill.16.partials"
// CHECK-LABEL: task.body @prefill.16.output []
// CHECK: "cpu.add_partials" {{.*}}f32 [16, 32] strides [64, 1]
// CHECK-NEXT: "cpu.copy" {{.*}}<symbol "hidden" + 0 : f32 [16, 32] strides [64, 1]
// CHECK: "cpu.copy" {{.*}}<symbol "hidden" + 128 : f32 [16, 32] strides [64, 1]
// CHECK-LABEL: task.body @generate.1.output [#task.param<weights "shared" bytes 256>]
// CHECK: "cpu.rms_norm" for "output_norm"
// CHECK-NEXT: "cpu.quantize" {{.*}} : i8 [2, 1, 64]
// CHECK-NEXT: "cpu.linear_i8" for "head" {{.*}}<weights "@token_embd" + 0 : q8_0 [128, 64] panels {{.*}}<symbol "logits" + 0 : f32 [1, 128]
// CHECK-NEXT: "cpu.top_k" {{.*}}<symbol "logits" + 0 : f32 [1, 128]{{.*}}"@top_logits" + 0 : f32 [1, 8]{{.*}}"@top_ids" + 0 : i32 [1, 8]{{.*}} attrs [0]
// CHECK: task.lane 1
// CHECK: "cpu.top_k" {{.*}}<symbol "logits" + 512 : f32 [1, 128]{{.*}}"@top_logits" + 32 : f32 [1, 8]{{.*}}"@top_ids" + 32 : i32 [1, 8]{{.*}} attrs [128]
// CHECK: task.segment
// CHECK-NEXT: task.lane 0
// CHECK-NEXT: "cpu.top_k_merge" {{.*}}"@top_logits" + 0 : f32 [2, 1, 8]{{.*}}"@top_ids" + 0 : i32 [2, 1, 8]{{.*}}<symbol "top_logits" + 0 : f32 [1, 8]{{.*}}<symbol "top_ids" + 0 : i32 [1, 8]

// Three lanes on four heads of 16 columns in groups of 32: one has no heads, and two parts are summed.
// THREE: "cpu.quantize" {{.*}} : i8 [2, 16, 64]
// THREE: "cpu.add_partials" {{.*}}f32 [2, 16, 64]

// One lane has nothing to merge.
// ONE-LANE-LABEL: task.body @generate.1.output
// ONE-LANE: "cpu.top_k" {{.*}}<symbol "top_logits" + 0 : f32 [1, 8]{{.*}}<symbol "top_ids" + 0 : i32 [1, 8]
// ONE-LANE-NOT: "cpu.top_k_merge"
// TOP-OF-WHAT: graph.place_c2: target cpu cannot run graph.top_k outside the layers (@generate.64): it has top_k only of the logits of a head; targets that can: none

// ROWS: task.lower_c2: the caches have 64 rows, expected max-prompt + min-response = 64 + 64
// PLACED: task.lower_c1: is on no device, expected one of: cpu, npu, reference
// RULE: 'graph.mul' op is no silu(gate) * up or gelu(gate) * up
