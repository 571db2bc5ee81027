// One violation of every labelled constraint of docs/ops.md on elementwise ops, rows and columns; the labels recur in the
// messages.
// RUN: firn-opt %s --split-input-file --verify-diagnostics

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

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error @+1 {{must be a matrix tensor<m x n x i32> of ids (graph.id_matrix)}}
  %0:2 = graph.top_k %x : (tensor<4x64xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>)
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.top_k_c1: {{.*}}found 'tensor<5x8xf32>', expected the shape 4x8}}
  %0:2 = graph.top_k %x : (tensor<4x64xf32>) -> (tensor<5x8xf32>, tensor<4x8xi32>)
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.top_k_c1: {{.*}}found 'tensor<4x9xi32>', expected the shape 4x8}}
  %0:2 = graph.top_k %x : (tensor<4x64xf32>) -> (tensor<4x8xf32>, tensor<4x9xi32>)
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.top_k_c2: {{.*}}found lists of 65, expected 1 to 64, the columns of the input}}
  %0:2 = graph.top_k %x : (tensor<4x64xf32>) -> (tensor<4x65xf32>, tensor<4x65xi32>)
  graph.return
}

// -----

graph.func @f(%x: tensor<4x64xf32>) {
  // expected-error-re @+1 {{graph.top_k_c2: {{.*}}found lists of 0, expected 1 to 64}}
  %0:2 = graph.top_k %x : (tensor<4x64xf32>) -> (tensor<4x0xf32>, tensor<4x0xi32>)
  graph.return
}
