// A gemma3 of two layers, one with a window and one that sees all, as the import phase makes it: the input of other tests.
module attributes {graph.model = {architecture = "gemma3", embed = 64 : i32, heads = 4 : i32, kv_heads = 2 : i32, head_dim = 32 : i32, ffn = 96 : i32, vocab = 256 : i32, layers = 2 : i32}} {
  graph.weight @rope.freqs : tensor<16xf32> {value = dense<[0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.001953125, 0.0009765625, 0.00048828125, 0.000244140625, 0.0001220703125, 6.103515625e-05, 3.0517578125e-05, 1.52587890625e-05]> : tensor<16xf32>}
  graph.weight @rope.window_freqs : tensor<16xf32> {value = dense<[1.0, 0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625, 0.001953125, 0.0009765625, 0.00048828125, 0.000244140625, 0.0001220703125, 6.103515625e-05, 3.0517578125e-05]> : tensor<16xf32>}
  graph.weight @token_embd : tensor<256x64x!graph.q8_0> {file = "token_embd.weight"}
  graph.weight @blk.0.attn_norm : tensor<64xf32> {file = "blk.0.attn_norm.weight"}
  graph.weight @blk.0.attn_q : tensor<128x64x!graph.q4_0> {file = "blk.0.attn_q.weight"}
  graph.weight @blk.0.attn_k : tensor<64x64x!graph.q4_0> {file = "blk.0.attn_k.weight"}
  graph.weight @blk.0.attn_v : tensor<64x64x!graph.q4_0> {file = "blk.0.attn_v.weight"}
  graph.weight @blk.0.attn_q_norm : tensor<32xf32> {file = "blk.0.attn_q_norm.weight"}
  graph.weight @blk.0.attn_k_norm : tensor<32xf32> {file = "blk.0.attn_k_norm.weight"}
  graph.weight @blk.0.attn_output : tensor<64x128x!graph.q4_0> {file = "blk.0.attn_output.weight"}
  graph.weight @blk.0.post_attention_norm : tensor<64xf32> {file = "blk.0.post_attention_norm.weight"}
  graph.weight @blk.0.ffn_norm : tensor<64xf32> {file = "blk.0.ffn_norm.weight"}
  graph.weight @blk.0.ffn_gate : tensor<96x64x!graph.q4_0> {file = "blk.0.ffn_gate.weight"}
  graph.weight @blk.0.ffn_up : tensor<96x64x!graph.q4_0> {file = "blk.0.ffn_up.weight"}
  graph.weight @blk.0.ffn_down : tensor<64x96x!graph.q4_0> {file = "blk.0.ffn_down.weight"}
  graph.weight @blk.0.post_ffw_norm : tensor<64xf32> {file = "blk.0.post_ffw_norm.weight"}
  graph.weight @blk.1.attn_norm : tensor<64xf32> {file = "blk.1.attn_norm.weight"}
  graph.weight @blk.1.attn_q : tensor<128x64x!graph.q4_0> {file = "blk.1.attn_q.weight"}
  graph.weight @blk.1.attn_k : tensor<64x64x!graph.q4_0> {file = "blk.1.attn_k.weight"}
  graph.weight @blk.1.attn_v : tensor<64x64x!graph.q4_0> {file = "blk.1.attn_v.weight"}
  graph.weight @blk.1.attn_q_norm : tensor<32xf32> {file = "blk.1.attn_q_norm.weight"}
  graph.weight @blk.1.attn_k_norm : tensor<32xf32> {file = "blk.1.attn_k_norm.weight"}
  graph.weight @blk.1.attn_output : tensor<64x128x!graph.q4_0> {file = "blk.1.attn_output.weight"}
  graph.weight @blk.1.post_attention_norm : tensor<64xf32> {file = "blk.1.post_attention_norm.weight"}
  graph.weight @blk.1.ffn_norm : tensor<64xf32> {file = "blk.1.ffn_norm.weight"}
  graph.weight @blk.1.ffn_gate : tensor<96x64x!graph.q4_0> {file = "blk.1.ffn_gate.weight"}
  graph.weight @blk.1.ffn_up : tensor<96x64x!graph.q4_0> {file = "blk.1.ffn_up.weight"}
  graph.weight @blk.1.ffn_down : tensor<64x96x!graph.q4_0> {file = "blk.1.ffn_down.weight"}
  graph.weight @blk.1.post_ffw_norm : tensor<64xf32> {file = "blk.1.post_ffw_norm.weight"}
  graph.weight @output_norm : tensor<64xf32> {file = "output_norm.weight"}
  graph.state @kv.k.0 : tensor<2x?x32xf32>
  graph.state @kv.v.0 : tensor<2x?x32xf32>
  graph.state @kv.k.1 : tensor<2x?x32xf32>
  graph.state @kv.v.1 : tensor<2x?x32xf32>
  graph.func @model(%ids: tensor<?xi32>, %positions: tensor<?xi32>) -> tensor<?x256xf32> {
    %e = graph.embed %ids, @token_embd : (tensor<?xi32>) -> tensor<?x64xf32>
    %x0 = graph.scale %e {factor = 8.000000e+00 : f32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %n0 = graph.rms_norm %x0, @blk.0.attn_norm {eps = 1.000000e-05 : f32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %q0 = graph.linear %n0, @blk.0.attn_q : (tensor<?x64xf32>) -> tensor<?x128xf32>
    %qn0 = graph.rms_norm %q0, @blk.0.attn_q_norm {eps = 1.000000e-05 : f32, heads = 4 : i32} : (tensor<?x128xf32>) -> tensor<?x128xf32>
    %qr0 = graph.rope half_split %qn0, %positions, @rope.window_freqs {dims = 32 : i32, heads = 4 : i32, magnitude = 1.0 : f32} : (tensor<?x128xf32>, tensor<?xi32>) -> tensor<?x128xf32>
    %k0 = graph.linear %n0, @blk.0.attn_k : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %kn0 = graph.rms_norm %k0, @blk.0.attn_k_norm {eps = 1.000000e-05 : f32, heads = 2 : i32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %kr0 = graph.rope half_split %kn0, %positions, @rope.window_freqs {dims = 32 : i32, heads = 2 : i32, magnitude = 1.0 : f32} : (tensor<?x64xf32>, tensor<?xi32>) -> tensor<?x64xf32>
    %v0 = graph.linear %n0, @blk.0.attn_v : (tensor<?x64xf32>) -> tensor<?x64xf32>
    graph.state_write @kv.k.0, %kr0 {heads = 2 : i32} : tensor<?x64xf32>
    %K0 = graph.state_read @kv.k.0 : tensor<2x?x32xf32>
    graph.state_write @kv.v.0, %v0 {heads = 2 : i32} : tensor<?x64xf32>
    %V0 = graph.state_read @kv.v.0 : tensor<2x?x32xf32>
    %a0 = graph.attention %qr0, %K0, %V0 {heads = 4 : i32, kv_heads = 2 : i32, scale = 2.500000e-01 : f32, window = 24 : i32} : (tensor<?x128xf32>, tensor<2x?x32xf32>, tensor<2x?x32xf32>) -> tensor<?x128xf32>
    %o0 = graph.linear %a0, @blk.0.attn_output : (tensor<?x128xf32>) -> tensor<?x64xf32>
    %on0 = graph.rms_norm %o0, @blk.0.post_attention_norm {eps = 1.000000e-05 : f32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %y0 = graph.add %x0, %on0 : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
    %m0 = graph.rms_norm %y0, @blk.0.ffn_norm {eps = 1.000000e-05 : f32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %g0 = graph.linear %m0, @blk.0.ffn_gate : (tensor<?x64xf32>) -> tensor<?x96xf32>
    %u0 = graph.linear %m0, @blk.0.ffn_up : (tensor<?x64xf32>) -> tensor<?x96xf32>
    %s0 = graph.gelu %g0 {tanh = true} : (tensor<?x96xf32>) -> tensor<?x96xf32>
    %h0 = graph.mul %s0, %u0 : (tensor<?x96xf32>, tensor<?x96xf32>) -> tensor<?x96xf32>
    %d0 = graph.linear %h0, @blk.0.ffn_down : (tensor<?x96xf32>) -> tensor<?x64xf32>
    %dn0 = graph.rms_norm %d0, @blk.0.post_ffw_norm {eps = 1.000000e-05 : f32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %x1 = graph.add %y0, %dn0 : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
    %n1 = graph.rms_norm %x1, @blk.1.attn_norm {eps = 1.000000e-05 : f32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %q1 = graph.linear %n1, @blk.1.attn_q : (tensor<?x64xf32>) -> tensor<?x128xf32>
    %qn1 = graph.rms_norm %q1, @blk.1.attn_q_norm {eps = 1.000000e-05 : f32, heads = 4 : i32} : (tensor<?x128xf32>) -> tensor<?x128xf32>
    %qr1 = graph.rope half_split %qn1, %positions, @rope.freqs {dims = 32 : i32, heads = 4 : i32, magnitude = 1.0 : f32} : (tensor<?x128xf32>, tensor<?xi32>) -> tensor<?x128xf32>
    %k1 = graph.linear %n1, @blk.1.attn_k : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %kn1 = graph.rms_norm %k1, @blk.1.attn_k_norm {eps = 1.000000e-05 : f32, heads = 2 : i32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %kr1 = graph.rope half_split %kn1, %positions, @rope.freqs {dims = 32 : i32, heads = 2 : i32, magnitude = 1.0 : f32} : (tensor<?x64xf32>, tensor<?xi32>) -> tensor<?x64xf32>
    %v1 = graph.linear %n1, @blk.1.attn_v : (tensor<?x64xf32>) -> tensor<?x64xf32>
    graph.state_write @kv.k.1, %kr1 {heads = 2 : i32} : tensor<?x64xf32>
    %K1 = graph.state_read @kv.k.1 : tensor<2x?x32xf32>
    graph.state_write @kv.v.1, %v1 {heads = 2 : i32} : tensor<?x64xf32>
    %V1 = graph.state_read @kv.v.1 : tensor<2x?x32xf32>
    %a1 = graph.attention %qr1, %K1, %V1 {heads = 4 : i32, kv_heads = 2 : i32, scale = 2.500000e-01 : f32} : (tensor<?x128xf32>, tensor<2x?x32xf32>, tensor<2x?x32xf32>) -> tensor<?x128xf32>
    %o1 = graph.linear %a1, @blk.1.attn_output : (tensor<?x128xf32>) -> tensor<?x64xf32>
    %on1 = graph.rms_norm %o1, @blk.1.post_attention_norm {eps = 1.000000e-05 : f32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %y1 = graph.add %x1, %on1 : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
    %m1 = graph.rms_norm %y1, @blk.1.ffn_norm {eps = 1.000000e-05 : f32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %g1 = graph.linear %m1, @blk.1.ffn_gate : (tensor<?x64xf32>) -> tensor<?x96xf32>
    %u1 = graph.linear %m1, @blk.1.ffn_up : (tensor<?x64xf32>) -> tensor<?x96xf32>
    %s1 = graph.gelu %g1 {tanh = true} : (tensor<?x96xf32>) -> tensor<?x96xf32>
    %h1 = graph.mul %s1, %u1 : (tensor<?x96xf32>, tensor<?x96xf32>) -> tensor<?x96xf32>
    %d1 = graph.linear %h1, @blk.1.ffn_down : (tensor<?x96xf32>) -> tensor<?x64xf32>
    %dn1 = graph.rms_norm %d1, @blk.1.post_ffw_norm {eps = 1.000000e-05 : f32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %x2 = graph.add %y1, %dn1 : (tensor<?x64xf32>, tensor<?x64xf32>) -> tensor<?x64xf32>
    %z = graph.rms_norm %x2, @output_norm {eps = 1.000000e-05 : f32} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %l = graph.head %z, @token_embd : (tensor<?x64xf32>) -> tensor<?x256xf32>
    graph.return %l : tensor<?x256xf32>
  }
}
