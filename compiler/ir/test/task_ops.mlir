// Every op of the task dialect reads back as it prints.
// RUN: firn-opt %s | firn-opt | FileCheck %s

// CHECK: task.program "cpu" lanes 2 model {kv_rows = 128 : i64} memory {kv_bytes = 512 : i64}
task.program "cpu" lanes 2 model {kv_rows = 128 : i64} memory {kv_bytes = 512 : i64} {
  // CHECK: task.stream @layer.0.lane1 bytes 1408 lane 1 at 64
  task.stream @layer.0.lane1 bytes 1408 lane 1 at 64 {
    // CHECK: task.pack "panels" "q4_0" of "blk.0.attn_q.weight" rows [32, 32] columns [0, 64] at 0 bytes 1152
    task.pack "panels" "q4_0" of "blk.0.attn_q.weight" rows [32, 32] columns [0, 64] at 0 bytes 1152
    // CHECK: task.pack "f32" "f32" of "blk.0.attn_norm.weight" rows [0, 1] columns [0, 64] at 1152 bytes 256
    task.pack "f32" "f32" of "blk.0.attn_norm.weight" rows [0, 1] columns [0, 64] at 1152 bytes 256
  }
  task.stream @rope bytes 64 {
    // CHECK: task.pack "rope_table" "f32" of "rope" rows [0, 4] columns [0, 2] at 0 bytes 64 values dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf32> magnitude 1.000000e+00
    task.pack "rope_table" "f32" of "rope" rows [0, 4] columns [0, 2] at 0 bytes 64 values dense<[1.0, 0.5]> : tensor<2xf32> magnitude 1.0
  }
  task.stream @planes bytes 1408 {
    // CHECK: task.pack "codes" "q4_1" of "blk.0.attn_q.weight" rows [0, 32] columns [0, 64] at 0 bytes 1024
    task.pack "codes" "q4_1" of "blk.0.attn_q.weight" rows [0, 32] columns [0, 64] at 0 bytes 1024
    // CHECK: task.pack "scales" "q4_1" of "blk.0.attn_q.weight" rows [0, 32] columns [0, 64] at 1024 bytes 128
    task.pack "scales" "q4_1" of "blk.0.attn_q.weight" rows [0, 32] columns [0, 64] at 1024 bytes 128
    // CHECK: task.pack "mins" "q4_1" of "blk.0.attn_q.weight" rows [0, 32] columns [0, 64] at 1152 bytes 128
    task.pack "mins" "q4_1" of "blk.0.attn_q.weight" rows [0, 32] columns [0, 64] at 1152 bytes 128
  }
  task.stream @norm bytes 64 {
    // CHECK: task.pack "raw" "f32" of "norm" rows [0, 1] columns [0, 2] at 0 bytes 8 values dense<[1.000000e+00, 5.000000e-01]> : tensor<2xf32>
    task.pack "raw" "f32" of "norm" rows [0, 1] columns [0, 2] at 0 bytes 8 values dense<[1.0, 0.5]> : tensor<2xf32>
  }
  // CHECK: task.buffer @x bytes 4096 lane 0 group "prefill.16" at 0
  task.buffer @x bytes 4096 lane 0 group "prefill.16" at 0
  // CHECK: task.body @block [#task.param<weights "lane1" bytes 1408>, #task.param<kv "k" bytes 256>] group "prefill.16"
  task.body @block [#task.param<weights "lane1" bytes 1408>, #task.param<kv "k" bytes 256>] group "prefill.16" {
    task.buffer @codes bytes 64
    task.segment {
      // CHECK: task.lane 0
      task.lane 0 {
        // CHECK: task.run "cpu.copy" for "copy" [#task.operand<scratch "@x" + 0 : f32 [16, 64] strides [64, 1] bytes 4096>, #task.operand<symbol "hidden" + 0 : f32 [16, 64] strides [64, 1] bytes 4096>]
        task.run "cpu.copy" for "copy" [#task.operand<scratch "@x" + 0 : f32 [16, 64] strides [64, 1] bytes 4096>, #task.operand<symbol "hidden" + 0 : f32 [16, 64] strides [64, 1] bytes 4096>]
      }
      task.lane 1 {
        // CHECK: #task.operand<weights "lane1" + 0 : q4_0 [32, 64] panels bytes 1152>, #task.operand<scratch + 64 : f32 [16] strides [1] bytes 64>] attrs [1, 2.500000e-01]
        task.run "cpu.copy" for "copy" [#task.operand<weights "lane1" + 0 : q4_0 [32, 64] panels bytes 1152>, #task.operand<scratch + 64 : f32 [16] strides [1] bytes 64>] attrs [1, 0.25]
      }
    }
  }
  // CHECK: task.entry @prefill.16.64 "prefill" rows 16 context 64 group "prefill.16" scratch 4096 predicted 12
  task.entry @prefill.16.64 "prefill" rows 16 context 64 group "prefill.16" scratch 4096 predicted 12 {
    // CHECK: task.symbol "hidden" "f32" [16, 64] bytes 4096 output
    task.symbol "hidden" "f32" [16, 64] bytes 4096 output
    // CHECK: task.call @block [@layer.0.lane1, 0] layer 0
    task.call @block [@layer.0.lane1, 0] layer 0
  }
}
