// Streams lie lane by lane; buffers that do not meet share memory; nothing is left with a name for an address.
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16,64 contexts=64,128 kv-rows=128 head-rows=1' --graph-fold --graph-place --task-lower=lanes=2 --task-schedule -o %t.mlir
// RUN: FileCheck %s --input-file %t.mlir
// RUN: firn-opt %s --task-schedule --verify-diagnostics

// CHECK: task.program {{.*}} memory {kv_bytes = 32768 : i64, scratch_bytes = {{[0-9]+}} : i64, weights_bytes = 62208 : i64}
// CHECK-LABEL: task.entry @prefill.16.64 "prefill" rows 16 context 64 group "prefill.16" scratch 49792 predicted {{[0-9]+}}
// CHECK: task.call @block.16 [17408, 26880, 41216, 17920, 0, 8192] layer 0
// CHECK: task.call @block.16.1 [26112, 34048, 51712, 17920, 16384, 24576] layer 1
// CHECK: task.stream @token_embd bytes 17408 at 0
// CHECK-NOT: scratch "@
// CHECK-NOT: weights "@
// CHECK: task.buffer @prefill.16.x.0 bytes 4096 lane 0 group "prefill.16" at 0
// CHECK: task.buffer @prefill.16.x.1 bytes 4096 lane 1 group "prefill.16" at 4096
// CHECK: task.buffer @prefill.16.partials bytes 8192 group "prefill.16" at 8192
// CHECK-LABEL: task.body @block.16 [
// CHECK: task.buffer @norm.0 bytes 4096 lane 0 at [[NORM:[0-9]+]]
// The keys of the layer are made after the last reader of the norm, codes, is gone.
// CHECK: task.buffer @attn_k.0 bytes 1024 lane 0 at [[NORM]]
// CHECK: task.stream @layer.0.lane0 bytes 7168 lane 0 at 26880
// CHECK: task.stream @layer.0.lane1 bytes 10496 lane 1 at 41216
// CHECK: task.stream @layer.1.lane0 bytes 7168 lane 0 at 34048
// CHECK: task.entry @prefill.64.64 "prefill" rows 64

// expected-error@below {{task.schedule_c1: expected a task.program: run lower first}}
module {
}
