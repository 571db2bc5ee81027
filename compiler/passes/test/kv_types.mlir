// Types of the cache: rows and, for i8, scales behind them; keys of an i8 cache stand without the bias of their projection.
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold -o %t.folded.mlir
// RUN: firn-opt %t.folded.mlir --graph-place --task-lower='lanes=2 kv-type=i8' --task-schedule | FileCheck %s --check-prefix=I8
// RUN: firn-opt %t.folded.mlir --graph-place --task-lower='lanes=2 kv-type=f32' | FileCheck %s --check-prefix=F32
// RUN: firn-opt %t.folded.mlir --graph-place=target=reference --task-lower=kv-type=f16 | FileCheck %s --check-prefix=REF16
// RUN: not firn-opt %t.folded.mlir --graph-place --task-lower=kv-type=bf16 2>&1 | FileCheck %s --check-prefix=TYPE
// RUN: sed -e 's/\(graph.weight @blk.\([01]\).attn_k\) :.*/&\n\1.bias : tensor<32xf32> {file = "blk.\2.attn_k.bias"}/' -e 's/\(graph.linear %n\([01]\), @blk.[01].attn_k\) :/\1 bias @blk.\2.attn_k.bias :/' %S/Inputs/tiny_llama.mlir > %t.biased.mlir
// RUN: firn-opt %t.biased.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold -o %t.biased.folded.mlir
// RUN: firn-opt %t.biased.folded.mlir --graph-place --task-lower='lanes=2 kv-type=i8' --task-schedule | FileCheck %s --check-prefix=BIAS
// RUN: firn-opt %t.biased.folded.mlir --graph-place --task-lower='lanes=2' | FileCheck %s --check-prefix=WHOLE
// RUN: firn-opt %t.biased.folded.mlir --graph-place=target=reference --task-lower=kv-type=i8 --task-schedule | FileCheck %s --check-prefix=REFBIAS

// 2 heads of 64 rows of 16 bytes and a scale of 4: 2560 a part, 4 parts.
// I8: task.program "cpu" lanes 2 model {{{.*}}kv_type = "i8"{{.*}}kv_bytes = 10240 : i64
// I8: task.symbol "kv" "i8" [4, 2, 64, 16] bytes 10240 output
// I8: task.call @block.16 [{{.*}}, 0, 2560] layer 0
// I8-LABEL: task.body @block.16 [
// I8-SAME: #task.param<kv "k" bytes 2560>
// I8: "cpu.kv_write" {{.*}}<kv "k" + 0 : i8 [1, 64, 16] {{[^>]*}}>, #task.operand<kv "k" + 2048 : f32 [1, 64]
// I8: task.lane 1
// I8: "cpu.kv_write" {{.*}}<kv "v" + 1024 : i8 [1, 64, 16] {{[^>]*}}>, #task.operand<kv "v" + 2304 : f32 [1, 64]
// I8: "cpu.attention" {{.*}}<kv "k" + 2048 : f32 [1, 64] {{[^>]*}}>, #task.operand<kv "v" + 2048 : f32 [1, 64] {{[^>]*}}>, #task.operand<scratch {{[^>]*}}>] attrs [2.500000e-01, 0, 2, 0]

// F32: task.symbol "kv" "f32" [4, 2, 64, 16] bytes 32768 output
// F32: "cpu.kv_write" {{.*}}<kv "k" + 0 : f32 [1, 64, 16] {{[^>]*}}>]
// F32: "cpu.attention" {{.*}}<kv "k" + 0 : f32 [1, 64, 16]

// REF16: "ref.state_write" {{.*}}<kv "k" + 0 : f16 [2, 64, 16] {{[^>]*}}>]
// REF16: "ref.attention" {{.*}}<scratch "@attention_rows" + 0 : f32 [2, 2, 64, 16] {{[^>]*}}>, #task.operand<scratch {{[^>]*}}>] attrs [2.500000e-01, 0]

// TYPE: task.lower_c2: the KV type is 'bf16', expected one of f16, i8, f32

// BIAS: "cpu.linear_i8" for "attn_k" [{{[^>]*}}>, {{[^>]*}}>, {{[^>]*}}>, #task.operand<weights "lane0" {{[^>]*}}>, #task.operand<scratch {{[^>]*}}>]
// BIAS: "cpu.attention" {{.*}}<weights "lane0" + {{[0-9]+}} : f32 [1, 16] {{[^>]*}}>, #task.operand<weights "rope.freqs" + 0 : f32 [64, 8, 2] {{[^>]*}}>, #task.operand<scratch {{[^>]*}}>] attrs [2.500000e-01, 0, 2, 0, 0, 16]

// WHOLE: "cpu.linear_i8" for "attn_k" [{{[^>]*}}>, {{[^>]*}}>, {{[^>]*}}>, #task.operand<weights "lane0" {{[^>]*}}>, #task.operand<weights "lane0" {{[^>]*}} : f32 [16]
// WHOLE: "cpu.attention" {{.*}} attrs [2.500000e-01, 0, 2, 0]

// REFBIAS: "ref.linear" for "attn_k" [{{[^>]*}}>, {{[^>]*}}>, #task.operand<scratch {{[^>]*}}>]
// REFBIAS: "ref.attention" {{.*}}<weights "lane0" + {{[0-9]+}} : f32 [2, 16] {{[^>]*}}>, #task.operand<weights {{[^>]*}}f32 [8]{{[^>]*}}>, #task.operand<scratch {{[^>]*}}>] attrs [2.500000e-01, 0, 0, 16, 1.000000e+00]
