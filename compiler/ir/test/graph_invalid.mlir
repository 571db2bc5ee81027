// One violation of every labelled constraint of docs/ops.md; the labels recur in the messages.
// RUN: firn-opt %s --split-input-file --verify-diagnostics

// expected-error-re @+1 {{graph.model_c1: {{.*}}graph.model needs}}
module attributes {graph.model = {architecture = "llama", embed = 64 : i32}} {
}

// -----

// expected-error-re @+1 {{graph.entry_c1: {{.*}}graph.entry needs}}
graph.func @f() attributes {graph.entry = {kind = "prefill", rows = 16 : i32, context = 8 : i32}} {
  graph.return
}

// -----

// expected-error-re @+1 {{graph.weight_c1: {{.*}}found}}
graph.weight @w : tensor<4x?xf32> {file = "w"}

// -----

// expected-error-re @+1 {{graph.weight_c1: {{.*}}found}}
graph.weight @w : tensor<4x0xf32> {file = "w"}

// -----

// expected-error-re @+1 {{graph.weight_c1: {{.*}}found}}
graph.weight @w : tensor<4x4x4xf32> {file = "w"}

// -----

// expected-error-re @+1 {{graph.weight_c1: {{.*}}found}}
graph.weight @w : tensor<4x4xf64> {file = "w"}

// -----

// expected-error-re @+1 {{graph.weight_c2: {{.*}}found 'tensor<4x33x!graph.q4_1>', expected rows of whole blocks of 32}}
graph.weight @w : tensor<4x33x!graph.q4_1> {file = "w"}

// -----

// expected-error-re @+1 {{graph.weight_c2: {{.*}}found 'tensor<4x288x!graph.q6_k>', expected rows of whole blocks of 256}}
graph.weight @w : tensor<4x288x!graph.q6_k> {file = "w"}

// -----

// expected-error-re @+1 {{graph.weight_c3: {{.*}}found neither of file and value}}
graph.weight @w : tensor<4xf32>

// -----

// expected-error-re @+1 {{graph.weight_c4: {{.*}}found a value of type}}
graph.weight @w : tensor<4xf32> {value = dense<0.0> : tensor<8xf32>}

// -----

// expected-error-re @+1 {{graph.weight_c5: {{.*}}expected finite numbers}}
graph.weight @w : tensor<2xf32> {value = dense<[1.0, 0x7F800000]> : tensor<2xf32>}

// -----

graph.func private @f() {
  // expected-error-re @+1 {{graph.param_c1: {{.*}}found}}
  graph.param @w : tensor<?x4xf32>
  graph.return
}

// -----

graph.func private @f() {
  // expected-error-re @+1 {{graph.param_c2: {{.*}}found}}
  graph.param @w : tensor<4x40x!graph.q8_0>
  graph.return
}

// -----

// expected-error-re @+1 {{graph.state_c1: {{.*}}found}}
graph.state @s : tensor<2x?x?xf32>

// -----

// expected-error-re @+1 {{graph.func_c1: {{.*}}found 1 argument names, expected 0}}
"graph.func"() <{sym_name = "f", function_type = () -> (), arg_names = ["x"]}> ({
  graph.return
}) : () -> ()

// -----

// expected-error-re @+1 {{graph.func_c2: {{.*}}two arguments are named "x"}}
"graph.func"() <{sym_name = "f", function_type = (tensor<i32>, tensor<i32>) -> (), arg_names = ["x", "x"]}> ({
^bb0(%a: tensor<i32>, %b: tensor<i32>):
  graph.return
}) : () -> ()

// -----

// expected-error-re @+1 {{graph.func_c3: {{.*}}found an argument of type 'i32'}}
graph.func @f(%x: i32) {
  graph.return
}

// -----

// expected-error-re @+1 {{graph.func_c4: {{.*}}expected a body that ends in graph.return}}
graph.func @f() {
  graph.param @w : tensor<4xf32>
}

// -----

// expected-error-re @+1 {{graph.func_c5: {{.*}}the mask of a body is 'tensor<64xi8>'}}
graph.func private @f(%mask: tensor<64xi8>) {
  graph.param @w : tensor<4xf32>
  graph.return
}

// -----

// expected-error-re @+1 {{graph.func_c6: {{.*}}found graph.param in a public function}}
graph.func @f() {
  graph.param @w : tensor<4xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) -> tensor<4x32xf32> {
  // expected-error-re @+1 {{graph.return_c1: {{.*}}found types}}
  graph.return %x : tensor<4x64xf32>
}

// -----

graph.weight @n : tensor<64xf32> {file = "n"}
graph.weight @m : tensor<32xf32> {file = "m"}
graph.func private @block(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  graph.param @w : tensor<64xf32>
  graph.return %x : tensor<4x64xf32>
}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.call_c1: {{.*}}found @none, expected a private graph.func}}
  %0 = graph.call @none(%x) layer 0 bind {w = @n} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<64xf32> {file = "n"}
graph.weight @m : tensor<32xf32> {file = "m"}
graph.func private @block(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  graph.param @w : tensor<64xf32>
  graph.return %x : tensor<4x64xf32>
}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.call_c2: {{.*}}found arguments ()}}
  %0 = graph.call @block() layer 0 bind {w = @n} : () -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<64xf32> {file = "n"}
graph.weight @m : tensor<32xf32> {file = "m"}
graph.func private @block(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  graph.param @w : tensor<64xf32>
  graph.return %x : tensor<4x64xf32>
}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.call_c3: {{.*}}found results ()}}
  graph.call @block(%x) layer 0 bind {w = @n} : (tensor<4x64xf32>) -> ()
  graph.return
}

// -----

graph.weight @n : tensor<64xf32> {file = "n"}
graph.weight @m : tensor<32xf32> {file = "m"}
graph.func private @block(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  graph.param @w : tensor<64xf32>
  graph.return %x : tensor<4x64xf32>
}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.call_c4: {{.*}}param @w is bound to @m of type}}
  %0 = graph.call @block(%x) layer 0 bind {w = @m} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<64xf32> {file = "n"}
graph.weight @m : tensor<32xf32> {file = "m"}
graph.func private @block(%x: tensor<4x64xf32>) -> tensor<4x64xf32> {
  graph.param @w : tensor<64xf32>
  graph.return %x : tensor<4x64xf32>
}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.call_c5: {{.*}}found 2 bound weights, expected the 1 params}}
  %0 = graph.call @block(%x) layer 0 bind {v = @n, w = @n} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf16>) {
  // expected-error @+1 {{must be a matrix tensor<m x n x f32> (graph.matrix)}}
  %0 = graph.silu %x : (tensor<4x64xf16>) -> tensor<4x64xf16>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>, %r: tensor<4xf32>) {
  // expected-error @+1 {{must be a list tensor<m x i32> (graph.ids)}}
  %0 = graph.select_rows %x, %r : (tensor<4x64xf32>, tensor<4xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error @+1 {{must be a cache tensor<heads x T x d x f32>, or one a row (graph.cache)}}
  %0 = graph.attention %q, %q, %q {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<4x64xf32>, tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error @+1 {{must be a mask tensor<c x i8>, or one a row (graph.mask)}}
  %0 = graph.attention %q, %c, %c mask %q row0 %r {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<2x128x16xf32>, tensor<2x128x16xf32>, tensor<4x64xf32>, tensor<i32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error @+1 {{must be a number tensor<i32>, or one a row (graph.row0)}}
  %0 = graph.cache_update %c, %kr, %m, %r {heads = 2 : i32} : (tensor<2x128x16xf32>, tensor<4x32xf32>, tensor<128xi8>, tensor<i32>) -> tensor<2x128x16xf32>
  graph.return
}

// -----

graph.weight @w : tensor<32x64xf32> {file = "w"}
graph.func @f(%ids: tensor<4xi32>, %x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.embed_c1: {{.*}}@w is 'tensor<32x64xf32>', expected the shape ?x63}}
  %0 = graph.embed %ids, @w : (tensor<4xi32>) -> tensor<4x63xf32>
  graph.return
}

// -----

graph.func @f(%ids: tensor<4xi32>, %x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.embed_c1: {{.*}}found no graph.weight or graph.param @w}}
  %0 = graph.embed %ids, @w : (tensor<4xi32>) -> tensor<4x63xf32>
  graph.return
}

// -----

graph.weight @w : tensor<32x64xf32> {file = "w"}
graph.func @f(%ids: tensor<4xi32>, %x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.embed_c2: {{.*}}found 'tensor<5x64xf32>', expected the shape 4x64}}
  %0 = graph.embed %ids, @w : (tensor<4xi32>) -> tensor<5x64xf32>
  graph.return
}

// -----

graph.weight @w : tensor<32x63xf32> {file = "w"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.linear_c1: {{.*}}@w is 'tensor<32x63xf32>', expected the shape 32x64 of a weight type}}
  %0 = graph.linear %x, @w : (tensor<4x64xf32>) -> tensor<4x32xf32>
  graph.return
}

// -----

graph.weight @w : tensor<32x64xf32> {file = "w"}
graph.weight @b : tensor<16xf32> {file = "b"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.linear_c2: {{.*}}@b is 'tensor<16xf32>', expected the shape 32 of f32, f16 or bf16}}
  %0 = graph.linear %x, @w bias @b : (tensor<4x64xf32>) -> tensor<4x32xf32>
  graph.return
}

// -----

graph.weight @w : tensor<32x64xf32> {file = "w"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.linear_c3: {{.*}}found 'tensor<5x32xf32>', expected the shape 4x32}}
  %0 = graph.linear %x, @w : (tensor<4x64xf32>) -> tensor<5x32xf32>
  graph.return
}

// -----

graph.weight @w : tensor<32x63xf32> {file = "w"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.head_c1: {{.*}}@w is 'tensor<32x63xf32>', expected the shape 32x64 of a weight type}}
  %0 = graph.head %x, @w : (tensor<4x64xf32>) -> tensor<4x32xf32>
  graph.return
}

// -----

graph.weight @w : tensor<32x64xf32> {file = "w"}
graph.weight @b : tensor<16xf32> {file = "b"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.head_c2: {{.*}}@b is 'tensor<16xf32>', expected the shape 32 of f32, f16 or bf16}}
  %0 = graph.head %x, @w bias @b : (tensor<4x64xf32>) -> tensor<4x32xf32>
  graph.return
}

// -----

graph.weight @w : tensor<32x64xf32> {file = "w"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.head_c3: {{.*}}found 'tensor<5x32xf32>', expected the shape 4x32}}
  %0 = graph.head %x, @w : (tensor<4x64xf32>) -> tensor<5x32xf32>
  graph.return
}

// -----

graph.weight @n : tensor<64x!graph.q8_0> {file = "n"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.rms_norm_c1: {{.*}}@n is 'tensor<64x!graph.q8_0>', expected the shape 64 of f32, f16 or bf16}}
  %0 = graph.rms_norm %x, @n {eps = 1.0e-5 : f32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<64xf32> {file = "n"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.rms_norm_c2: {{.*}}found eps 0.000000e+00}}
  %0 = graph.rms_norm %x, @n {eps = 0.0 : f32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<64xf32> {file = "n"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.rms_norm_c2: {{.*}}found eps 0x7F800000}}
  %0 = graph.rms_norm %x, @n {eps = 0x7F800000 : f32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<16xf32> {file = "n"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.rms_norm_c4: {{.*}}found 64 columns for 3 heads}}
  %0 = graph.rms_norm %x, @n {eps = 1.0e-5 : f32, heads = 3 : i32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<16xf32> {file = "n"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.rms_norm_c4: {{.*}}found 64 columns for 0 heads}}
  %0 = graph.rms_norm %x, @n {eps = 1.0e-5 : f32, heads = 0 : i32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<16xf32> {file = "n"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.rms_norm_c1: {{.*}}@n is 'tensor<16xf32>', expected the shape 32}}
  %0 = graph.rms_norm %x, @n {eps = 1.0e-5 : f32, heads = 2 : i32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<64xf32> {file = "n"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.rms_norm_c3: {{.*}}found a result of}}
  %0 = graph.rms_norm %x, @n {eps = 1.0e-5 : f32} : (tensor<4x64xf32>) -> tensor<?x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<64x!graph.q8_0> {file = "n"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.layer_norm_c1: {{.*}}@n is 'tensor<64x!graph.q8_0>', expected the shape 64 of f32, f16 or bf16}}
  %0 = graph.layer_norm %x, @n {eps = 1.0e-5 : f32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<64xf32> {file = "n"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.layer_norm_c2: {{.*}}found eps 0.000000e+00}}
  %0 = graph.layer_norm %x, @n {eps = 0.0 : f32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<64xf32> {file = "n"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.layer_norm_c2: {{.*}}found eps 0x7F800000}}
  %0 = graph.layer_norm %x, @n {eps = 0x7F800000 : f32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<64xf32> {file = "n"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.layer_norm_c3: {{.*}}found a result of}}
  %0 = graph.layer_norm %x, @n {eps = 1.0e-5 : f32} : (tensor<4x64xf32>) -> tensor<?x64xf32>
  graph.return
}

// -----

graph.weight @n : tensor<64xf32> {file = "n"}
graph.weight @b : tensor<16xf32> {file = "b"}
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.layer_norm_c4: {{.*}}@b is 'tensor<16xf32>'}}
  %0 = graph.layer_norm %x, @n bias @b {eps = 1.0e-5 : f32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @f : tensor<8xf32> {file = "f"}
graph.func @f(%x: tensor<4x64xf32>, %p: tensor<4xi32>, %p5: tensor<5xi32>) {
  // expected-error-re @+1 {{graph.rope_c1: {{.*}}found 64 columns for 5 heads}}
  %0 = graph.rope half_split %x, %p, @f {heads = 5 : i32, dims = 16 : i32, magnitude = 1.0 : f32} : (tensor<4x64xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @f : tensor<8xf32> {file = "f"}
graph.func @f(%x: tensor<4x64xf32>, %p: tensor<4xi32>, %p5: tensor<5xi32>) {
  // expected-error-re @+1 {{graph.rope_c1: {{.*}}found 64 columns for 0 heads}}
  %0 = graph.rope half_split %x, %p, @f {heads = 0 : i32, dims = 16 : i32, magnitude = 1.0 : f32} : (tensor<4x64xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @f : tensor<8xf32> {file = "f"}
graph.func @f(%x: tensor<4x64xf32>, %p: tensor<4xi32>, %p5: tensor<5xi32>) {
  // expected-error-re @+1 {{graph.rope_c2: {{.*}}found dims 18, expected an even number from 2 to 16}}
  %0 = graph.rope half_split %x, %p, @f {heads = 4 : i32, dims = 18 : i32, magnitude = 1.0 : f32} : (tensor<4x64xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @f : tensor<8xf32> {file = "f"}
graph.func @f(%x: tensor<4x64xf32>, %p: tensor<4xi32>, %p5: tensor<5xi32>) {
  // expected-error-re @+1 {{graph.rope_c2: {{.*}}found dims 15}}
  %0 = graph.rope half_split %x, %p, @f {heads = 4 : i32, dims = 15 : i32, magnitude = 1.0 : f32} : (tensor<4x64xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @b : tensor<16xf32> {file = "b"}
graph.func @f(%x: tensor<4x64xf32>, %p: tensor<4xi32>, %p5: tensor<5xi32>) {
  // expected-error-re @+1 {{graph.rope_c3: {{.*}}@b is 'tensor<16xf32>', expected the shape 8}}
  %0 = graph.rope half_split %x, %p, @b {heads = 4 : i32, dims = 16 : i32, magnitude = 1.0 : f32} : (tensor<4x64xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @f : tensor<8xf32> {file = "f"}
graph.func @f(%x: tensor<4x64xf32>, %p: tensor<4xi32>, %p5: tensor<5xi32>) {
  // expected-error-re @+1 {{graph.rope_c4: {{.*}}found 'tensor<5xi32>', expected the shape 4}}
  %0 = graph.rope half_split %x, %p5, @f {heads = 4 : i32, dims = 16 : i32, magnitude = 1.0 : f32} : (tensor<4x64xf32>, tensor<5xi32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.weight @f : tensor<8xf32> {file = "f"}
graph.func @f(%x: tensor<4x64xf32>, %p: tensor<4xi32>, %p5: tensor<5xi32>) {
  // expected-error-re @+1 {{graph.rope_c5: {{.*}}found a result of}}
  %0 = graph.rope half_split %x, %p, @f {heads = 4 : i32, dims = 16 : i32, magnitude = 1.0 : f32} : (tensor<4x64xf32>, tensor<4xi32>) -> tensor<?x64xf32>
  graph.return
}

// -----

graph.weight @f : tensor<8xf32> {file = "f"}
graph.func @f(%x: tensor<4x64xf32>, %p: tensor<4xi32>, %p5: tensor<5xi32>) {
  // expected-error-re @+1 {{graph.rope_c6: {{.*}}found magnitude 0.000000e+00}}
  %0 = graph.rope half_split %x, %p, @f {heads = 4 : i32, dims = 16 : i32, magnitude = 0.0 : f32} : (tensor<4x64xf32>, tensor<4xi32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.state @s : tensor<2x?x16xf32>
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.state_read_c1: {{.*}}found a result of}}
  %0 = graph.state_read @s : tensor<2x?x8xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.state_read_c1: {{.*}}found a result of}}
  %0 = graph.state_read @s : tensor<2x?x8xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.state_write_c1: {{.*}}found no graph.state @s}}
  graph.state_write @s, %x {heads = 4 : i32} : tensor<4x64xf32>
  graph.return
}

// -----

graph.state @s : tensor<2x?x16xf32>
graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.state_write_c2: {{.*}}with 4 heads, expected rows of the state}}
  graph.state_write @s, %x {heads = 4 : i32} : tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.cache_update_c1: {{.*}}found a result of}}
  %0 = graph.cache_update %c, %kr, %r, %r {heads = 2 : i32} : (tensor<2x128x16xf32>, tensor<4x32xf32>, tensor<i32>, tensor<i32>) -> tensor<2x64x16xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.cache_update_c2: {{.*}}with 4 heads, expected rows of the cache}}
  %0 = graph.cache_update %c, %kr, %r, %r {heads = 4 : i32} : (tensor<2x128x16xf32>, tensor<4x32xf32>, tensor<i32>, tensor<i32>) -> tensor<2x128x16xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<129x32xf32>) {
  // expected-error-re @+1 {{graph.cache_update_c3: {{.*}}found 129 new rows, expected at most the 128 rows}}
  %0 = graph.cache_update %c, %kr, %r, %r {heads = 2 : i32} : (tensor<2x128x16xf32>, tensor<129x32xf32>, tensor<i32>, tensor<i32>) -> tensor<2x128x16xf32>
  graph.return
}

// -----

graph.func @f(%c: tensor<2x128x16xf32>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error @+1 {{must be a number tensor<i32> (graph.count)}}
  %0 = graph.cache_update %c, %kr, %r, %kr {heads = 2 : i32} : (tensor<2x128x16xf32>, tensor<4x32xf32>, tensor<i32>, tensor<4x32xf32>) -> tensor<2x128x16xf32>
  graph.return
}

// -----

graph.func @f(%c: tensor<4x2x128x16xf32>, %r0: tensor<i32>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.cache_update_c4: {{.*}}every one of the 4 rows}}
  %0 = graph.cache_update %c, %kr, %r0, %r {heads = 2 : i32} : (tensor<4x2x128x16xf32>, tensor<4x32xf32>, tensor<i32>, tensor<i32>) -> tensor<4x2x128x16xf32>
  graph.return
}

// -----

graph.func @f(%c: tensor<2x128x16xf32>, %r0: tensor<4xi32>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.cache_update_c4: {{.*}}every one of the 4 rows}}
  %0 = graph.cache_update %c, %kr, %r0, %r {heads = 2 : i32} : (tensor<2x128x16xf32>, tensor<4x32xf32>, tensor<4xi32>, tensor<i32>) -> tensor<2x128x16xf32>
  graph.return
}

// -----

graph.func @f(%c: tensor<3x2x128x16xf32>, %r0: tensor<4xi32>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.cache_update_c4: {{.*}}every one of the 4 rows}}
  %0 = graph.cache_update %c, %kr, %r0, %r {heads = 2 : i32} : (tensor<3x2x128x16xf32>, tensor<4x32xf32>, tensor<4xi32>, tensor<i32>) -> tensor<3x2x128x16xf32>
  graph.return
}

// -----

graph.func @f(%c: tensor<4x2x128x16xf32>, %r0: tensor<3xi32>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.cache_update_c4: {{.*}}every one of the 4 rows}}
  %0 = graph.cache_update %c, %kr, %r0, %r {heads = 2 : i32} : (tensor<4x2x128x16xf32>, tensor<4x32xf32>, tensor<3xi32>, tensor<i32>) -> tensor<4x2x128x16xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.attention_c1: {{.*}}found 5 heads and 2 kv_heads}}
  %0 = graph.attention %q, %c, %c {heads = 5 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<2x128x16xf32>, tensor<2x128x16xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.attention_c1: {{.*}}found 4 heads and 0 kv_heads}}
  %0 = graph.attention %q, %c, %c {heads = 4 : i32, kv_heads = 0 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<2x128x16xf32>, tensor<2x128x16xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>, %d: tensor<2x64x16xf32>) {
  // expected-error-re @+1 {{graph.attention_c2: {{.*}}expected one type with 2 heads}}
  %0 = graph.attention %q, %c, %d {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<2x128x16xf32>, tensor<2x64x16xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.attention_c2: {{.*}}expected one type with 4 heads}}
  %0 = graph.attention %q, %c, %c {heads = 4 : i32, kv_heads = 4 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<2x128x16xf32>, tensor<2x128x16xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.attention_c3: {{.*}}expected 8 heads of 16 columns}}
  %0 = graph.attention %q, %c, %c {heads = 8 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<2x128x16xf32>, tensor<2x128x16xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.attention_c4: {{.*}}found a result of}}
  %0 = graph.attention %q, %c, %c {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<2x128x16xf32>, tensor<2x128x16xf32>) -> tensor<?x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.attention_c5: {{.*}}found mask alone}}
  %0 = graph.attention %q, %c, %c mask %m {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<2x128x16xf32>, tensor<2x128x16xf32>, tensor<128xi8>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>, %l: tensor<129xi8>) {
  // expected-error-re @+1 {{graph.attention_c6: {{.*}}found a mask of 129 rows, expected at most the 128 rows}}
  %0 = graph.attention %q, %c, %c mask %l row0 %r {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<2x128x16xf32>, tensor<2x128x16xf32>, tensor<129xi8>, tensor<i32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.attention_c7: {{.*}}found scale 0x7FC00000}}
  %0 = graph.attention %q, %c, %c {heads = 4 : i32, kv_heads = 2 : i32, scale = 0x7FC00000 : f32} : (tensor<4x64xf32>, tensor<2x128x16xf32>, tensor<2x128x16xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.attention_c8: {{.*}}found window -1, expected 0 or more}}
  %0 = graph.attention %q, %c, %c {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32, window = -1 : i32} : (tensor<4x64xf32>, tensor<2x128x16xf32>, tensor<2x128x16xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<4x2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<4xi32>) {
  // expected-error-re @+1 {{graph.attention_c9: {{.*}}every one of the 4 rows}}
  %0 = graph.attention %q, %c, %c mask %m row0 %r {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<4x2x128x16xf32>, tensor<4x2x128x16xf32>, tensor<128xi8>, tensor<4xi32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<4x2x128x16xf32>, %m: tensor<4x128xi8>, %r: tensor<i32>) {
  // expected-error-re @+1 {{graph.attention_c9: {{.*}}every one of the 4 rows}}
  %0 = graph.attention %q, %c, %c mask %m row0 %r {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<4x2x128x16xf32>, tensor<4x2x128x16xf32>, tensor<4x128xi8>, tensor<i32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<4x128xi8>, %r: tensor<i32>) {
  // expected-error-re @+1 {{graph.attention_c9: {{.*}}every one of the 4 rows}}
  %0 = graph.attention %q, %c, %c mask %m row0 %r {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<2x128x16xf32>, tensor<2x128x16xf32>, tensor<4x128xi8>, tensor<i32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<4x2x128x16xf32>, %m: tensor<3x128xi8>, %r: tensor<4xi32>) {
  // expected-error-re @+1 {{graph.attention_c9: {{.*}}every one of the 4 rows}}
  %0 = graph.attention %q, %c, %c mask %m row0 %r {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<4x2x128x16xf32>, tensor<4x2x128x16xf32>, tensor<3x128xi8>, tensor<4xi32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<3x2x128x16xf32>, %m: tensor<4x128xi8>, %r: tensor<4xi32>) {
  // expected-error-re @+1 {{graph.attention_c9: {{.*}}every one of the 4 rows}}
  %0 = graph.attention %q, %c, %c mask %m row0 %r {heads = 4 : i32, kv_heads = 2 : i32, scale = 0.25 : f32} : (tensor<4x64xf32>, tensor<3x2x128x16xf32>, tensor<3x2x128x16xf32>, tensor<4x128xi8>, tensor<4xi32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.silu_c1: {{.*}}expected one type}}
  %0 = graph.silu %x : (tensor<4x64xf32>) -> tensor<4x32xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.gelu_c1: {{.*}}expected one type}}
  %0 = graph.gelu %x {tanh = true} : (tensor<4x64xf32>) -> tensor<4x32xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.scale_c1: {{.*}}expected one type}}
  %0 = graph.scale %x {factor = 2.0 : f32} : (tensor<4x64xf32>) -> tensor<4x32xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.softcap_c1: {{.*}}expected one type}}
  %0 = graph.softcap %x {cap = 30.0 : f32} : (tensor<4x64xf32>) -> tensor<4x32xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>, %y: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.mul_c1: {{.*}}found 'tensor<4x32xf32>' and 'tensor<4x64xf32>', expected one type}}
  %0 = graph.mul %x, %y : (tensor<4x64xf32>, tensor<4x32xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>, %y: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.add_c1: {{.*}}found 'tensor<4x32xf32>' and 'tensor<4x64xf32>', expected one type}}
  %0 = graph.add %x, %y : (tensor<4x64xf32>, tensor<4x32xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.scale_c2: {{.*}}found factor 0x7F800000}}
  %0 = graph.scale %x {factor = 0x7F800000 : f32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.softcap_c2: {{.*}}found cap -1.000000e+00}}
  %0 = graph.softcap %x {cap = -1.0 : f32} : (tensor<4x64xf32>) -> tensor<4x64xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.slice_c1: {{.*}}found 5 rows, expected 4}}
  %0 = graph.slice %x {start = 0 : i32} : (tensor<4x64xf32>) -> tensor<5x8xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.slice_c2: {{.*}}found columns 60 to 60 + 8}}
  %0 = graph.slice %x {start = 60 : i32} : (tensor<4x64xf32>) -> tensor<4x8xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.slice_c2: {{.*}}found columns -1 to -1 + 8}}
  %0 = graph.slice %x {start = -1 : i32} : (tensor<4x64xf32>) -> tensor<4x8xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>, %y: tensor<5x32xf32>) {
  // expected-error-re @+1 {{graph.concat_c1: {{.*}}found rows 4 and 5}}
  %0 = graph.concat %x, %y : (tensor<4x64xf32>, tensor<5x32xf32>) -> tensor<4x96xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>, %y: tensor<4x32xf32>) {
  // expected-error-re @+1 {{graph.concat_c2: {{.*}}found 95 columns, expected 64 + 32}}
  %0 = graph.concat %x, %y : (tensor<4x64xf32>, tensor<4x32xf32>) -> tensor<4x95xf32>
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>, %r: tensor<2xi32>) {
  // expected-error-re @+1 {{graph.select_rows_c1: {{.*}}found 'tensor<4x64xf32>', expected the shape 2x64}}
  %0 = graph.select_rows %x, %r : (tensor<4x64xf32>, tensor<2xi32>) -> tensor<4x64xf32>
  graph.return
}
