// One violation of every labelled constraint of docs/ops.md on embeddings, matrix products and norms; the labels recur in the
// messages.
// RUN: firn-opt %s --split-input-file --verify-diagnostics

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
