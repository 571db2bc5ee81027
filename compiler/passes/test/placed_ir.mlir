// What the graph half hands to lowering: a llama of two layers with one entry of each kind, after every graph phase.
// RUN: firn-opt %s | firn-opt | FileCheck %s
// RUN: firn-opt %S/Inputs/tiny_llama.mlir --graph-stateless --graph-freeze='chunks=16 contexts=64 kv-rows=64 head-rows=1' --graph-fold --graph-place=target=cpu > %t.mlir
// RUN: firn-opt %s -o %t.same.mlir && diff %t.same.mlir %t.mlir

// CHECK-LABEL: graph.func private @block.16(%x: tensor<16x64xf32>
// CHECK: graph.param @attn_q
// CHECK: graph.func @head.1(%hidden: tensor<1x64xf32>)

module attributes {graph.model = {architecture = "llama", embed = 64 : i32, ffn = 96 : i32, head_dim = 16 : i32, heads = 4 : i32, kv_heads = 2 : i32, layers = 2 : i32, vocab = 256 : i32}} {
  graph.weight @rope.freqs : tensor<8xf32> {value = dense<[1.000000e+00, 5.000000e-01, 2.500000e-01, 1.250000e-01, 6.250000e-02, 3.125000e-02, 1.562500e-02, 7.812500e-03]> : tensor<8xf32>}
  graph.weight @token_embd : tensor<256x64x!graph.q8_0> {file = "token_embd.weight"}
  graph.weight @blk.0.attn_norm : tensor<64xf32> {file = "blk.0.attn_norm.weight"}
  graph.weight @blk.0.attn_q : tensor<64x64x!graph.q4_0> {file = "blk.0.attn_q.weight"}
  graph.weight @blk.0.attn_k : tensor<32x64x!graph.q4_0> {file = "blk.0.attn_k.weight"}
  graph.weight @blk.0.attn_v : tensor<32x64x!graph.q4_0> {file = "blk.0.attn_v.weight"}
  graph.weight @blk.0.attn_output : tensor<64x64x!graph.q4_0> {file = "blk.0.attn_output.weight"}
  graph.weight @blk.0.ffn_norm : tensor<64xf32> {file = "blk.0.ffn_norm.weight"}
  graph.weight @blk.0.ffn_gate : tensor<96x64x!graph.q4_0> {file = "blk.0.ffn_gate.weight"}
  graph.weight @blk.0.ffn_up : tensor<96x64x!graph.q4_0> {file = "blk.0.ffn_up.weight"}
  graph.weight @blk.0.ffn_down : tensor<64x96x!graph.q4_0> {file = "blk.0.ffn_down.weight"}
  graph.weight @blk.1.attn_norm : tensor<64xf32> {file = "blk.1.attn_norm.weight"}
  graph.weight @blk.1.attn_q : tensor<64x64x!graph.q4_0> {file = "blk.1.attn_q.weight"}
  graph.weight @blk.1.attn_k : tensor<32x64x!graph.q4_0> {file = "blk.1.attn_k.weight"}
  graph.weight @blk.1.attn_v : tensor<32x64x!graph.q4_0> {file = "blk.1.attn_v.weight"}
  graph.weight @blk.1.attn_output : tensor<64x64x!graph.q4_0> {file = "blk.1.attn_output.weight"}
  graph.weight @blk.1.ffn_norm : tensor<64xf32> {file = "blk.1.ffn_norm.weight"}
  graph.weight @blk.1.ffn_gate : tensor<96x64x!graph.q4_0> {file = "blk.1.ffn_gate.weight"}
  graph.weight @blk.1.ffn_up : tensor<96x64x!graph.q4_0> {file = "blk.1.ffn_up.weight"}
  graph.weight @blk.1.ffn_down : tensor<64x96x!graph.q4_0> {file = "blk.1.ffn_down.weight"}
  graph.weight @output_norm : tensor<64xf32> {file = "output_norm.weight"}
  graph.func private @block.16(%x: tensor<16x64xf32>, %positions: tensor<16xi32>, %valid: tensor<i32>, %row0: tensor<i32>, %mask: tensor<?xi8>, %k: tensor<2x64x16xf32>, %v: tensor<2x64x16xf32>) -> (tensor<16x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) attributes {graph.device = "cpu", graph.reason = "target cpu has a kernel for each op here: add, attention, cache_update, linear, mul, rms_norm, rope, silu"} {
    graph.param @attn_norm : tensor<64xf32>
    graph.param @attn_q : tensor<64x64x!graph.q4_0>
    graph.param @rope.freqs : tensor<8xf32>
    graph.param @attn_k : tensor<32x64x!graph.q4_0>
    graph.param @attn_v : tensor<32x64x!graph.q4_0>
    graph.param @attn_output : tensor<64x64x!graph.q4_0>
    graph.param @ffn_norm : tensor<64xf32>
    graph.param @ffn_gate : tensor<96x64x!graph.q4_0>
    graph.param @ffn_up : tensor<96x64x!graph.q4_0>
    graph.param @ffn_down : tensor<64x96x!graph.q4_0>
    %0 = graph.rms_norm %x, @attn_norm {eps = 9.99999974E-6 : f32} : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %1 = graph.linear %0, @attn_q : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %2 = graph.rope interleaved %1, %positions, @rope.freqs {dims = 16 : i32, heads = 4 : i32, magnitude = 1.000000e+00 : f32} : (tensor<16x64xf32>, tensor<16xi32>) -> tensor<16x64xf32>
    %3 = graph.linear %0, @attn_k : (tensor<16x64xf32>) -> tensor<16x32xf32>
    %4 = graph.rope interleaved %3, %positions, @rope.freqs {dims = 16 : i32, heads = 2 : i32, magnitude = 1.000000e+00 : f32} : (tensor<16x32xf32>, tensor<16xi32>) -> tensor<16x32xf32>
    %5 = graph.linear %0, @attn_v : (tensor<16x64xf32>) -> tensor<16x32xf32>
    %6 = graph.cache_update %k, %4, %row0, %valid {heads = 2 : i32} : (tensor<2x64x16xf32>, tensor<16x32xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64x16xf32>
    %7 = graph.cache_update %v, %5, %row0, %valid {heads = 2 : i32} : (tensor<2x64x16xf32>, tensor<16x32xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64x16xf32>
    %8 = graph.attention %2, %6, %7 mask %mask row0 %row0 {heads = 4 : i32, kv_heads = 2 : i32, scale = 2.500000e-01 : f32} : (tensor<16x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<?xi8>, tensor<i32>) -> tensor<16x64xf32>
    %9 = graph.linear %8, @attn_output : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %10 = graph.add %x, %9 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    %11 = graph.rms_norm %10, @ffn_norm {eps = 9.99999974E-6 : f32} : (tensor<16x64xf32>) -> tensor<16x64xf32>
    %12 = graph.linear %11, @ffn_gate : (tensor<16x64xf32>) -> tensor<16x96xf32>
    %13 = graph.linear %11, @ffn_up : (tensor<16x64xf32>) -> tensor<16x96xf32>
    %14 = graph.silu %12 : (tensor<16x96xf32>) -> tensor<16x96xf32>
    %15 = graph.mul %14, %13 : (tensor<16x96xf32>, tensor<16x96xf32>) -> tensor<16x96xf32>
    %16 = graph.linear %15, @ffn_down : (tensor<16x96xf32>) -> tensor<16x64xf32>
    %17 = graph.add %10, %16 : (tensor<16x64xf32>, tensor<16x64xf32>) -> tensor<16x64xf32>
    graph.return %17, %6, %7 : tensor<16x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>
  }
  graph.func private @block.1(%x: tensor<1x64xf32>, %positions: tensor<1xi32>, %valid: tensor<i32>, %row0: tensor<i32>, %mask: tensor<?xi8>, %k: tensor<2x64x16xf32>, %v: tensor<2x64x16xf32>) -> (tensor<1x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) attributes {graph.device = "cpu", graph.reason = "target cpu has a kernel for each op here: add, attention, cache_update, linear, mul, rms_norm, rope, silu"} {
    graph.param @attn_norm : tensor<64xf32>
    graph.param @attn_q : tensor<64x64x!graph.q4_0>
    graph.param @rope.freqs : tensor<8xf32>
    graph.param @attn_k : tensor<32x64x!graph.q4_0>
    graph.param @attn_v : tensor<32x64x!graph.q4_0>
    graph.param @attn_output : tensor<64x64x!graph.q4_0>
    graph.param @ffn_norm : tensor<64xf32>
    graph.param @ffn_gate : tensor<96x64x!graph.q4_0>
    graph.param @ffn_up : tensor<96x64x!graph.q4_0>
    graph.param @ffn_down : tensor<64x96x!graph.q4_0>
    %0 = graph.rms_norm %x, @attn_norm {eps = 9.99999974E-6 : f32} : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %1 = graph.linear %0, @attn_q : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %2 = graph.rope interleaved %1, %positions, @rope.freqs {dims = 16 : i32, heads = 4 : i32, magnitude = 1.000000e+00 : f32} : (tensor<1x64xf32>, tensor<1xi32>) -> tensor<1x64xf32>
    %3 = graph.linear %0, @attn_k : (tensor<1x64xf32>) -> tensor<1x32xf32>
    %4 = graph.rope interleaved %3, %positions, @rope.freqs {dims = 16 : i32, heads = 2 : i32, magnitude = 1.000000e+00 : f32} : (tensor<1x32xf32>, tensor<1xi32>) -> tensor<1x32xf32>
    %5 = graph.linear %0, @attn_v : (tensor<1x64xf32>) -> tensor<1x32xf32>
    %6 = graph.cache_update %k, %4, %row0, %valid {heads = 2 : i32} : (tensor<2x64x16xf32>, tensor<1x32xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64x16xf32>
    %7 = graph.cache_update %v, %5, %row0, %valid {heads = 2 : i32} : (tensor<2x64x16xf32>, tensor<1x32xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64x16xf32>
    %8 = graph.attention %2, %6, %7 mask %mask row0 %row0 {heads = 4 : i32, kv_heads = 2 : i32, scale = 2.500000e-01 : f32} : (tensor<1x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<?xi8>, tensor<i32>) -> tensor<1x64xf32>
    %9 = graph.linear %8, @attn_output : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %10 = graph.add %x, %9 : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %11 = graph.rms_norm %10, @ffn_norm {eps = 9.99999974E-6 : f32} : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %12 = graph.linear %11, @ffn_gate : (tensor<1x64xf32>) -> tensor<1x96xf32>
    %13 = graph.linear %11, @ffn_up : (tensor<1x64xf32>) -> tensor<1x96xf32>
    %14 = graph.silu %12 : (tensor<1x96xf32>) -> tensor<1x96xf32>
    %15 = graph.mul %14, %13 : (tensor<1x96xf32>, tensor<1x96xf32>) -> tensor<1x96xf32>
    %16 = graph.linear %15, @ffn_down : (tensor<1x96xf32>) -> tensor<1x64xf32>
    %17 = graph.add %10, %16 : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    graph.return %17, %6, %7 : tensor<1x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>
  }
  graph.func @prefill.16.64(%ids: tensor<16xi32>, %positions: tensor<16xi32>, %valid: tensor<i32>, %row0: tensor<i32>, %mask: tensor<64xi8>, %kv.k.0: tensor<2x64x16xf32>, %kv.v.0: tensor<2x64x16xf32>, %kv.k.1: tensor<2x64x16xf32>, %kv.v.1: tensor<2x64x16xf32>) -> (tensor<16x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) attributes {graph.device = "cpu", graph.entry = {context = 64 : i32, kind = "prefill", rows = 16 : i32}, graph.reason = "--device cpu"} {
    %0 = graph.embed %ids, @token_embd : (tensor<16xi32>) -> tensor<16x64xf32>
    %1:3 = graph.call @block.16(%0, %positions, %valid, %row0, %mask, %kv.k.0, %kv.v.0) layer 0 bind {attn_k = @blk.0.attn_k, attn_norm = @blk.0.attn_norm, attn_output = @blk.0.attn_output, attn_q = @blk.0.attn_q, attn_v = @blk.0.attn_v, ffn_down = @blk.0.ffn_down, ffn_gate = @blk.0.ffn_gate, ffn_norm = @blk.0.ffn_norm, ffn_up = @blk.0.ffn_up, rope.freqs = @rope.freqs} : (tensor<16x64xf32>, tensor<16xi32>, tensor<i32>, tensor<i32>, tensor<64xi8>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) -> (tensor<16x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>)
    %2:3 = graph.call @block.16(%1#0, %positions, %valid, %row0, %mask, %kv.k.1, %kv.v.1) layer 1 bind {attn_k = @blk.1.attn_k, attn_norm = @blk.1.attn_norm, attn_output = @blk.1.attn_output, attn_q = @blk.1.attn_q, attn_v = @blk.1.attn_v, ffn_down = @blk.1.ffn_down, ffn_gate = @blk.1.ffn_gate, ffn_norm = @blk.1.ffn_norm, ffn_up = @blk.1.ffn_up, rope.freqs = @rope.freqs} : (tensor<16x64xf32>, tensor<16xi32>, tensor<i32>, tensor<i32>, tensor<64xi8>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) -> (tensor<16x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>)
    graph.return %2#0, %1#1, %1#2, %2#1, %2#2 : tensor<16x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>
  }
  graph.func @generate.64(%ids: tensor<1xi32>, %positions: tensor<1xi32>, %valid: tensor<i32>, %row0: tensor<i32>, %mask: tensor<64xi8>, %kv.k.0: tensor<2x64x16xf32>, %kv.v.0: tensor<2x64x16xf32>, %kv.k.1: tensor<2x64x16xf32>, %kv.v.1: tensor<2x64x16xf32>) -> (tensor<1x256xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) attributes {graph.device = "cpu", graph.entry = {context = 64 : i32, kind = "generate", rows = 1 : i32}, graph.reason = "--device cpu"} {
    %0 = graph.embed %ids, @token_embd : (tensor<1xi32>) -> tensor<1x64xf32>
    %1:3 = graph.call @block.1(%0, %positions, %valid, %row0, %mask, %kv.k.0, %kv.v.0) layer 0 bind {attn_k = @blk.0.attn_k, attn_norm = @blk.0.attn_norm, attn_output = @blk.0.attn_output, attn_q = @blk.0.attn_q, attn_v = @blk.0.attn_v, ffn_down = @blk.0.ffn_down, ffn_gate = @blk.0.ffn_gate, ffn_norm = @blk.0.ffn_norm, ffn_up = @blk.0.ffn_up, rope.freqs = @rope.freqs} : (tensor<1x64xf32>, tensor<1xi32>, tensor<i32>, tensor<i32>, tensor<64xi8>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) -> (tensor<1x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>)
    %2:3 = graph.call @block.1(%1#0, %positions, %valid, %row0, %mask, %kv.k.1, %kv.v.1) layer 1 bind {attn_k = @blk.1.attn_k, attn_norm = @blk.1.attn_norm, attn_output = @blk.1.attn_output, attn_q = @blk.1.attn_q, attn_v = @blk.1.attn_v, ffn_down = @blk.1.ffn_down, ffn_gate = @blk.1.ffn_gate, ffn_norm = @blk.1.ffn_norm, ffn_up = @blk.1.ffn_up, rope.freqs = @rope.freqs} : (tensor<1x64xf32>, tensor<1xi32>, tensor<i32>, tensor<i32>, tensor<64xi8>, tensor<2x64x16xf32>, tensor<2x64x16xf32>) -> (tensor<1x64xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>)
    %3 = graph.rms_norm %2#0, @output_norm {eps = 9.99999974E-6 : f32} : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %4 = graph.head %3, @token_embd : (tensor<1x64xf32>) -> tensor<1x256xf32>
    graph.return %4, %1#1, %1#2, %2#1, %2#2 : tensor<1x256xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>, tensor<2x64x16xf32>
  }
  graph.func @head.1(%hidden: tensor<1x64xf32>) -> tensor<1x256xf32> attributes {graph.device = "cpu", graph.entry = {context = 0 : i32, kind = "head", rows = 1 : i32}, graph.reason = "--device cpu"} {
    %0 = graph.rms_norm %hidden, @output_norm {eps = 9.99999974E-6 : f32} : (tensor<1x64xf32>) -> tensor<1x64xf32>
    %1 = graph.head %0, @token_embd : (tensor<1x64xf32>) -> tensor<1x256xf32>
    graph.return %1 : tensor<1x256xf32>
  }
}

