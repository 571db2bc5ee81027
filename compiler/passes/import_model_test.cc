#include "compiler/passes/import_model.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <sstream>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/passes/passes.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace firn::passes {
namespace {

using import::LinearSpec;
using import::ModelSpec;
using import::TensorView;

TensorView tensor(std::string name, DType type, std::vector<uint64_t> dims) {
  TensorView view;
  view.name = std::move(name);
  view.type = type;
  view.dims = std::move(dims);
  return view;
}

LinearSpec linear(const std::string& name, uint64_t n, uint64_t k) {
  return {tensor(name + ".weight", DType::kQ4_0, {n, k}), std::nullopt};
}

/// The model of test/Inputs/tiny_llama.mlir, at any depth.
ModelSpec tinyLlama(size_t layers) {
  ModelSpec spec;
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
ModelSpec tinyGemma3() {
  ModelSpec spec = tinyLlama(2);
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

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

/// A context that keeps the diagnostics as text.
class ImportModelTest : public ::testing::Test {
 protected:
  ImportModelTest()
      : context(mlir::MLIRContext::Threading::DISABLED), handler(&context, [this](mlir::Diagnostic& diagnostic) {
          errors += diagnostic.str() + "\n";
          return mlir::success();
        }) {}

  void expectRefused(const ModelSpec& spec, const std::string& text) {
    errors.clear();
    EXPECT_FALSE(buildGraph(spec, context));
    EXPECT_NE(errors.find(text), std::string::npos) << "found: " << errors << "expected: " << text;
  }

  /// What no reader gives, so that it is a bug: the verifier that runs behind every phase finds it.
  void expectUnverified(const ModelSpec& spec, const std::string& text) {
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

TEST_F(ImportModelTest, BuildsTheGraphsOfTheLitTests) {
  for (const ModelSpec& spec : {tinyLlama(2), tinyGemma3()}) {
    mlir::OwningOpRef<mlir::ModuleOp> module = buildGraph(spec, context);
    ASSERT_TRUE(module) << errors;
    auto expected = mlir::parseSourceFile<mlir::ModuleOp>(
        "compiler/passes/test/Inputs/tiny_" + spec.architecture + ".mlir", mlir::ParserConfig(&context));
    ASSERT_TRUE(expected) << errors;
    EXPECT_EQ(textOf(*module), textOf(*expected));
  }
}

TEST_F(ImportModelTest, OwnHeadBiasesAndPairingAreUsedWhereTheSpecHasThem) {
  ModelSpec spec = tinyLlama(1);
  spec.rope.pairing = import::RopePairing::kHalfSplit;
  spec.head = linear("output", 256, 64);
  spec.head->bias = tensor("output.bias", DType::kF32, {256});
  spec.layers[0].q.bias = tensor("blk.0.attn_q.bias", DType::kF16, {64});
  spec.layers[0].down.bias = tensor("blk.0.ffn_down.bias", DType::kBf16, {64});
  mlir::OwningOpRef<mlir::ModuleOp> module = buildGraph(spec, context);
  ASSERT_TRUE(module) << errors;
  const std::string text = textOf(*module);
  for (const char* part : {"graph.weight @blk.0.attn_q.bias : tensor<64xf16> {file = \"blk.0.attn_q.bias\"}",
                           "@blk.0.attn_q bias @blk.0.attn_q.bias :", "@blk.0.ffn_down bias @blk.0.ffn_down.bias :",
                           "@output bias @output.bias :", "graph.rope half_split"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is missing in\n" << text;
  }
  EXPECT_EQ(text.find("bias @blk.0.attn_k"), std::string::npos);
}

TEST_F(ImportModelTest, EvenedNormsAreConstants) {
  ModelSpec spec = tinyGemma3();
  spec.rope.pairing = import::RopePairing::kInterleaved;
  std::vector<float> keys(32, 1);
  keys[0] = keys[16] = 4;
  const std::vector<float> queries(32, 3);
  for (import::LayerSpec& layer : spec.layers) {
    layer.qNorm->bytes = std::as_bytes(std::span(queries));
    layer.kNorm->bytes = std::as_bytes(std::span(keys));
  }
  const auto valuesOf = [&](const char* name) {
    mlir::OwningOpRef<mlir::ModuleOp> module = buildGraph(spec, context, {.evensHeadNorms = true});
    auto weight = module->lookupSymbol<graph::WeightOp>(name);
    std::vector<float> values;
    if (!weight.getValue()) return values;
    EXPECT_FALSE(weight.getFile());
    for (llvm::APFloat value : weight.getValue()->getValues<llvm::APFloat>()) values.push_back(value.convertToFloat());
    return values;
  };
  // Layer 0 has a window, whose rope turns column i with i + 16; layer 1 has neighbours turned.
  const auto with = [](std::vector<float> values, std::initializer_list<std::pair<size_t, float>> changes) {
    for (auto [column, value] : changes) values[column] = value;
    return values;
  };
  const std::vector<float> ones(32, 1);
  EXPECT_EQ(valuesOf("blk.0.attn_k_norm"), ones);
  EXPECT_EQ(valuesOf("blk.0.attn_q_norm"), with(queries, {{0, 12}, {16, 12}}));
  EXPECT_EQ(valuesOf("blk.1.attn_k_norm"), with(ones, {{1, 0.25F}, {17, 0.25F}}));
  EXPECT_EQ(valuesOf("blk.1.attn_q_norm"), with(queries, {{0, 12}, {1, 12}, {16, 12}, {17, 12}}));
  spec.layers[1].kNorm->dims = {16};
  errors.clear();
  EXPECT_FALSE(buildGraph(spec, context, {.evensHeadNorms = true}));
  EXPECT_NE(errors.find("graph.import_c3"), std::string::npos) << errors;
  spec = tinyLlama(2);
  EXPECT_EQ(textOf(*buildGraph(spec, context, {.evensHeadNorms = true})), textOf(*buildGraph(spec, context)));
}

TEST_F(ImportModelTest, RefusesHyperParametersOutOfRange) {
  for (uint32_t ModelSpec::* field : {&ModelSpec::embed, &ModelSpec::heads, &ModelSpec::kvHeads, &ModelSpec::headDim,
                                      &ModelSpec::ffn, &ModelSpec::vocab}) {
    for (uint32_t value : {0U, 0x80000000U, 0xFFFFFFFFU}) {
      ModelSpec spec = tinyLlama(1);
      spec.*field = value;
      expectRefused(spec, "graph.import_c1");
    }
  }
  ModelSpec spec = tinyLlama(1);
  spec.kvHeads = 3;
  expectRefused(spec, "graph.import_c1: tiny.gguf: heads is 4, expected a multiple of kv_heads 3");
  spec = tinyLlama(1);
  spec.heads = spec.kvHeads = spec.headDim = 1U << 16;
  expectRefused(spec, "graph.import_c1: tiny.gguf: heads x head_dim is above");
  spec = tinyLlama(0);
  expectRefused(spec, "graph.import_c1: tiny.gguf: found 0 layers");
  for (float bad : {0.0F, -1.0F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    spec = tinyLlama(1);
    spec.normEpsilon = bad;
    expectRefused(spec, "graph.import_c1");
    spec = tinyLlama(1);
    spec.attentionScale = bad;
    expectRefused(spec, "graph.import_c1");
    spec = tinyLlama(1);
    spec.embeddingScale = bad;
    expectRefused(spec, "graph.import_c1");
    spec = tinyLlama(1);
    spec.rope.magnitude = bad;
    expectUnverified(spec, "graph.rope_c6");
  }
}

TEST_F(ImportModelTest, RefusesWhatLayersOfTwoKindsHaveWrong) {
  ModelSpec spec = tinyGemma3();
  spec.layers[0].window = 1U << 31;
  expectRefused(spec, "graph.import_c1: tiny.gguf: a window is 2147483648");
  spec = tinyGemma3();
  spec.windowRope->dims = 34;
  expectRefused(spec, "graph.import_c2");
  spec = tinyGemma3();
  spec.layers[1].qNorm->dims = {64};
  expectRefused(spec, "graph.import_c3: tiny.gguf: tensor \"blk.1.attn_q_norm.weight\"");
  spec = tinyGemma3();
  spec.layers[1].postFfnNorm->dims = {32};
  expectRefused(spec, "graph.import_c3: tiny.gguf: tensor \"blk.1.post_ffw_norm.weight\"");
}

TEST_F(ImportModelTest, RefusesARopeThatDoesNotFit) {
  for (uint32_t dims : {0U, 15U, 18U, 0xFFFFFFFEU}) {
    ModelSpec spec = tinyLlama(1);
    spec.rope.dims = dims;
    expectRefused(spec, "graph.import_c2");
  }
  ModelSpec spec = tinyLlama(1);
  spec.rope.freqs.pop_back();
  expectRefused(spec, "graph.import_c2: tiny.gguf: rope has dims 16 and 7 frequencies");
  for (float bad : {-1.0F, 1e7F, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN()}) {
    spec = tinyLlama(1);
    spec.rope.freqs[3] = bad;
    expectRefused(spec, "graph.import_c2: tiny.gguf: a rope frequency is ");
  }
}

TEST_F(ImportModelTest, RefusesTensorsThatDoNotFit) {
  ModelSpec spec = tinyLlama(2);
  spec.layers[1].k.weight.dims = {64, 64};
  expectRefused(spec,
                "graph.import_c3: tiny.gguf: tensor \"blk.1.attn_k.weight\" for blk.1.attn_k has shape [64x64], "
                "expected [32x64]");
  for (const std::vector<uint64_t>& dims :
       {std::vector<uint64_t>{}, {64}, {64, 64, 1}, {0, 64}, {64, 0xFFFFFFFFFFFFFFFFULL}}) {
    spec = tinyLlama(1);
    spec.layers[0].o.weight.dims = dims;
    expectRefused(spec, "graph.import_c3");
  }
  spec = tinyLlama(1);
  spec.layers[0].q.weight.type = static_cast<DType>(200);
  expectRefused(spec, "graph.import_c3");
  spec = tinyLlama(1);
  spec.embedding.name.clear();
  expectRefused(spec, "graph.import_c3");
  spec = tinyLlama(1);
  spec.layers[0].attnNorm.type = DType::kQ8_0;
  expectUnverified(spec, "graph.rms_norm_c1");
  spec = tinyLlama(1);
  spec.layers[0].v.weight.type = DType::kI32;
  expectUnverified(spec, "graph.linear_c1");
  spec = tinyLlama(1);
  spec.ffn = 40;
  spec.layers[0].gate.weight.dims = spec.layers[0].up.weight.dims = {40, 64};
  spec.layers[0].down.weight.dims = {64, 40};
  expectUnverified(spec, "graph.weight_c2");
}

TEST_F(ImportModelTest, DeepModelsFoldToOneBodyAChunk) {
  mlir::OwningOpRef<mlir::ModuleOp> module = buildGraph(tinyLlama(30), context);
  ASSERT_TRUE(module) << errors;
  mlir::PassManager manager(&context);
  manager.addPass(createStatelessPass());
  manager.addPass(
      createFreezePass({.chunks = {16, 64, 256, 1024}, .contexts = {256, 512, 1024, 1152}, .kvRows = 1152}));
  manager.addPass(createFoldPass());
  manager.addPass(createPlacePass({.target = "cpu"}));
  ASSERT_TRUE(mlir::succeeded(manager.run(*module))) << errors;

  int entries = 0;
  int bodies = 0;
  for (auto func : module->getOps<graph::FuncOp>()) {
    func.isPrivate() ? ++bodies : ++entries;
    std::optional<graph::Entry> entry = graph::entryOf(func);
    EXPECT_EQ(entry.has_value(), !func.isPrivate());
    EXPECT_EQ(func->getAttrOfType<mlir::StringAttr>(graph::kDeviceAttr).getValue(), "cpu");
    if (!entry || entry->kind == graph::EntryKind::kHead) continue;
    int64_t layer = 0;
    for (auto call : func.getBody().getOps<graph::CallOp>()) {
      EXPECT_EQ(call.getCallee(), "block." + std::to_string(entry->rows));
      EXPECT_EQ(call.getLayer(), layer);
      EXPECT_EQ(llvm::cast<mlir::FlatSymbolRefAttr>(call.getBind().get("attn_q")).getValue(),
                "blk." + std::to_string(layer) + ".attn_q");
      ++layer;
    }
    EXPECT_EQ(layer, 30) << func.getSymName().str();
  }
  EXPECT_EQ(entries, 14 + 4 + 3);
  EXPECT_EQ(bodies, 5);
}

}  // namespace
}  // namespace firn::passes
