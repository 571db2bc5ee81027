// A buffer on chip and the stream that it is filled from may have one name: weights are read where the stream lies.
// RUN: firn-opt %s --npu-emit | FileCheck %s

// CHECK: task.run "npu.copy" for "norm" [#task.operand<weights + 4160 : f32 [16] strides [1] bytes 64>, #task.operand<cmx "3" + 128 : f32 [16] strides [1] bytes 64>]
// CHECK: task.run "npu.copy" for "norm" [#task.operand<cmx "3" + 128 : f32 [16] strides [1] bytes 64>, #task.operand<scratch + 512 : f32 [16] strides [1] bytes 64>]
// CHECK: task.run "npu.copy" for "norm" [#task.operand<cmx "3" + 128 : f32 [16] strides [1] bytes 64>, #task.operand<scratch + 256 : f32 [16] strides [1] bytes 64>]

module {
  task.program "npu" lanes 1 model {} {
    task.stream @norm bytes 128 at 4096 {
    }
    task.buffer @kept bytes 64 group "generate.1" at 256
    task.body @b [] group "generate.1" {
      task.buffer @norm bytes 64 tiles 8 at 128
      task.buffer @local bytes 64 lane 0 at 512
      task.segment {
        task.lane 0 {
          task.run "npu.copy" for "norm" [#task.operand<weights "@norm" + 64 : f32 [16] strides [1] bytes 64>, #task.operand<cmx "@norm:3" + 0 : f32 [16] strides [1] bytes 64>] attrs [0] position 0
          task.run "npu.copy" for "norm" [#task.operand<cmx "@norm:3" + 0 : f32 [16] strides [1] bytes 64>, #task.operand<scratch "@local" + 0 : f32 [16] strides [1] bytes 64>] attrs [0] position 1
          task.run "npu.copy" for "norm" [#task.operand<cmx "@norm:3" + 0 : f32 [16] strides [1] bytes 64>, #task.operand<scratch "@kept" + 0 : f32 [16] strides [1] bytes 64>] attrs [0] position 2
        }
      }
    }
  }
}
