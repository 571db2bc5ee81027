// Small models as the importer would give them, and a context that keeps what buildGraph() says. Only for tests.
#pragma once

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "compiler/passes/import_model.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

namespace firn::passes {

inline import::TensorView tensor(std::string name, DType type, std::vector<uint64_t> dims) {
  import::TensorView view;
  view.name = std::move(name);
  view.type = type;
  view.dims = std::move(dims);
  return view;
}

inline import::LinearSpec linear(const std::string& name, uint64_t n, uint64_t k) {
  return {tensor(name + ".weight", DType::kQ4_0, {n, k}), std::nullopt};
}

/// The model of test/Inputs/tiny_llama.mlir, at any depth.
inline import::ModelSpec tinyLlama(size_t layers) {
  import::ModelSpec spec;
  spec.architecture = "llama";
  spec.sourcePath = "tiny.gguf";
  spec.embed = 64;
  spec.heads = 4;
  spec.kvHeads = 2;
  spec.headDim = 16;
  spec.ffn = 96;
  spec.vocab = 256;
  spec.normEpsilon = 1e-5F;
  spec.attentionScale = 0.25F;
  spec.rope.dims = 16;
  for (int i = 0; i < 8; ++i) spec.rope.freqs.push_back(1.0F / static_cast<float>(1 << i));
  spec.embedding = tensor("token_embd.weight", DType::kQ8_0, {256, 64});
  spec.outputNorm = tensor("output_norm.weight", DType::kF32, {64});
  for (size_t i = 0; i < layers; ++i) {
    const std::string block = "blk." + std::to_string(i) + ".";
    spec.layers.push_back({
        .attnNorm = tensor(block + "attn_norm.weight", DType::kF32, {64}),
        .q = linear(block + "attn_q", 64, 64),
        .k = linear(block + "attn_k", 32, 64),
        .v = linear(block + "attn_v", 32, 64),
        .o = linear(block + "attn_output", 64, 64),
        .ffnNorm = tensor(block + "ffn_norm.weight", DType::kF32, {64}),
        .gate = linear(block + "ffn_gate", 96, 64),
        .up = linear(block + "ffn_up", 96, 64),
        .down = linear(block + "ffn_down", 64, 96),
    });
  }
  return spec;
}

/// The model of test/Inputs/tiny_gemma3.mlir: layer 0 has a window, layer 1 sees all.
inline import::ModelSpec tinyGemma3() {
  import::ModelSpec spec = tinyLlama(2);
  spec.architecture = "gemma3";
  spec.headDim = 32;
  spec.embeddingScale = 8;
  spec.activation = import::Activation::kGeluTanh;
  spec.rope = {.pairing = import::RopePairing::kHalfSplit, .dims = 32, .freqs = {}, .magnitude = 1};
  spec.windowRope = spec.rope;
  for (int i = 0; i < 16; ++i) {
    spec.windowRope->freqs.push_back(1.0F / static_cast<float>(1 << i));
    spec.rope.freqs.push_back(0.5F / static_cast<float>(1 << i));
  }
  for (size_t i = 0; i < 2; ++i) {
    const std::string block = "blk." + std::to_string(i) + ".";
    import::LayerSpec& layer = spec.layers[i];
    layer.q = linear(block + "attn_q", 128, 64);
    layer.k = linear(block + "attn_k", 64, 64);
    layer.v = linear(block + "attn_v", 64, 64);
    layer.o = linear(block + "attn_output", 64, 128);
    layer.qNorm = tensor(block + "attn_q_norm.weight", DType::kF32, {32});
    layer.kNorm = tensor(block + "attn_k_norm.weight", DType::kF32, {32});
    layer.postAttnNorm = tensor(block + "post_attention_norm.weight", DType::kF32, {64});
    layer.postFfnNorm = tensor(block + "post_ffw_norm.weight", DType::kF32, {64});
    layer.window = i == 0 ? 24 : 0;
  }
  return spec;
}

/// A context that keeps the diagnostics as text.
class ImportModelTest : public ::testing::Test {
 protected:
  ImportModelTest()
      : context(mlir::MLIRContext::Threading::DISABLED), handler(&context, [this](mlir::Diagnostic& diagnostic) {
          errors += diagnostic.str() + "\n";
          return mlir::success();
        }) {}

  void expectRefused(const import::ModelSpec& spec, const std::string& text) {
    errors.clear();
    EXPECT_FALSE(buildGraph(spec, context));
    EXPECT_NE(errors.find(text), std::string::npos) << "found: " << errors << "expected: " << text;
  }

  /// What no reader gives, so that it is a bug: the verifier that runs behind every phase finds it.
  void expectUnverified(const import::ModelSpec& spec, const std::string& text) {
    errors.clear();
    const mlir::OwningOpRef<mlir::ModuleOp> module = buildGraph(spec, context);
    ASSERT_TRUE(module) << errors;
    EXPECT_TRUE(errors.empty()) << errors;
    EXPECT_TRUE(mlir::failed(mlir::verify(*module)));
    EXPECT_NE(errors.find(text), std::string::npos) << "found: " << errors << "expected: " << text;
  }

  mlir::MLIRContext context;
  std::string errors;
  mlir::ScopedDiagnosticHandler handler;
};

}  // namespace firn::passes
