#include "compiler/passes/import_model.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>
#include <string>

#include "compiler/ir/graph.h"
#include "compiler/passes/model_spec_for_test.h"
#include "compiler/passes/passes.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace firn::passes {
namespace {

using import::ModelSpec;

std::string textOf(mlir::ModuleOp module) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream);
  return text;
}

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
