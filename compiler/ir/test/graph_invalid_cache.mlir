// One violation of every labelled constraint of docs/ops.md on positions and KV state; the labels recur in the messages.
// RUN: firn-opt %s --split-input-file --verify-diagnostics

graph.func @f(%q: tensor<4x64xf32>, %c: tensor<2x128x16xf32>, %m: tensor<128xi8>, %r: tensor<i32>, %kr: tensor<4x32xf32>) {
  // expected-error @+1 {{must be a number tensor<i32>, or one a row (graph.row0)}}
  %0 = graph.cache_update %c, %kr, %m, %r {heads = 2 : i32} : (tensor<2x128x16xf32>, tensor<4x32xf32>, tensor<128xi8>, tensor<i32>) -> tensor<2x128x16xf32>
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
