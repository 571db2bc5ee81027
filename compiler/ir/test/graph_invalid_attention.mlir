// One violation of every labelled constraint of docs/ops.md on attention; the labels recur in the messages.
// RUN: firn-opt %s --split-input-file --verify-diagnostics

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
