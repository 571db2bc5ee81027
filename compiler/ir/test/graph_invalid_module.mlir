// One violation of every labelled constraint of docs/ops.md on what a module holds: cards, entries, weights, states, functions, calls; the labels recur in the
// messages.
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
