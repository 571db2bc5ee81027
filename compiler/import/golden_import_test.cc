// Real files of a real converter (tests/data/gguf, tests/data/quant) become the specs that their sources had.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "blob/tokenizer_image.h"
#include "compiler/import/import.h"

namespace firn::import {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ModelSpec load(const std::string& path) {
  Result<ModelSpec> spec = importModel(path);
  EXPECT_TRUE(spec.isOk()) << spec.status().toString();
  return spec.isOk() ? *std::move(spec) : ModelSpec{};
}

struct Sizes {
  uint32_t embed, heads, kvHeads, headDim;
  const char* architecture = "llama";
  RopePairing pairing = RopePairing::kInterleaved;
};

void expectSizes(const ModelSpec& spec, const Sizes& sizes) {
  EXPECT_EQ(spec.architecture, sizes.architecture);
  EXPECT_EQ(spec.embed, sizes.embed);
  EXPECT_EQ(spec.heads, sizes.heads);
  EXPECT_EQ(spec.kvHeads, sizes.kvHeads);
  EXPECT_EQ(spec.headDim, sizes.headDim);
  EXPECT_EQ(spec.vocab, 512U);
  EXPECT_EQ(spec.trainedContext, 512U);
  EXPECT_EQ(spec.rope.pairing, sizes.pairing);
  EXPECT_EQ(spec.rope.dims, sizes.headDim);
  EXPECT_FLOAT_EQ(spec.attentionScale, 1.0F / std::sqrt(static_cast<float>(sizes.headDim)));
  EXPECT_THAT(spec.unusedTensors, IsEmpty());
}

TEST(GoldenImportTest, Llama) {
  const ModelSpec spec = load("tests/data/gguf/llama.gguf");
  expectSizes(spec, {64, 4, 2, 16});
  ASSERT_EQ(spec.layers.size(), 3U);
  EXPECT_EQ(spec.ffn, 160U);
  EXPECT_EQ(spec.normEpsilon, 1e-6F);
  ASSERT_TRUE(spec.head.has_value());
  EXPECT_EQ(spec.head->weight.type, DType::kF32);
  EXPECT_THAT(spec.layers[2].down.weight.dims, ElementsAre(64, 160));
  EXPECT_EQ(spec.layers[2].down.weight.name, "blk.2.ffn_down.weight");
  EXPECT_THAT(spec.chatTemplate, ::testing::StartsWith("{% for m in messages %}"));
  const Result<blob::TokenizerImage> tokenizer = blob::TokenizerImage::open(spec.tokenizerImage);
  ASSERT_TRUE(tokenizer.isOk()) << tokenizer.status().toString();
  EXPECT_EQ(tokenizer->tokenCount(), 512U);
  EXPECT_EQ(tokenizer->findToken("<|im_end|>"), 511U);
  EXPECT_TRUE(tokenizer->isEndId(511));
}

TEST(GoldenImportTest, TiedHeadInBf16) {
  const ModelSpec spec = load("tests/data/gguf/llama-tied-bf16.gguf");
  expectSizes(spec, {72, 9, 3, 8});
  EXPECT_FALSE(spec.head.has_value());
  EXPECT_EQ(spec.embedding.type, DType::kBf16);
  EXPECT_EQ(spec.normEpsilon, 1e-5F);
  EXPECT_NEAR(spec.rope.freqs[1], std::pow(100000.0, -0.25), 1e-7);
}

TEST(GoldenImportTest, Llama3RopeDividesTheFrequencies) {
  const ModelSpec spec = load("tests/data/gguf/llama3-rope.gguf");
  expectSizes(spec, {64, 4, 2, 32});
  ASSERT_EQ(spec.rope.freqs.size(), 16U);
  // factor 8, low 1, high 4, original context 64, theta 500000: the first pair turns more than 4 times in 64 tokens,
  // the second (wavelength 14.3, 4.49 times) too, the last ones less than once.
  EXPECT_EQ(spec.rope.freqs[0], 1.0F);
  EXPECT_NEAR(spec.rope.freqs[1], std::pow(500000.0, -1.0 / 16), 1e-6);
  EXPECT_NEAR(spec.rope.freqs[15] * 8, std::pow(500000.0, -15.0 / 16), 1e-10);
  EXPECT_LT(spec.rope.freqs[3], std::pow(500000.0, -3.0 / 16) * 0.99);
}

TEST(GoldenImportTest, BiasesAndLinearRope) {
  const ModelSpec spec = load("tests/data/gguf/llama-bias-linear-rope.gguf");
  expectSizes(spec, {64, 4, 2, 16});
  EXPECT_EQ(spec.rope.freqs[0], 0.25F);
  for (const LayerSpec& layer : spec.layers) {
    EXPECT_TRUE(layer.q.bias && layer.k.bias && layer.v.bias && layer.o.bias);
    EXPECT_TRUE(layer.gate.bias && layer.up.bias && layer.down.bias);
  }
}

TEST(GoldenImportTest, Yarn) {
  const ModelSpec spec = load("tests/data/gguf/llama-yarn.gguf");
  expectSizes(spec, {64, 4, 2, 16});
  EXPECT_NEAR(spec.rope.magnitude, 0.1 * std::log(4.0) + 1, 1e-6);
  EXPECT_NEAR(spec.rope.freqs[1], 0.23717082, 1e-6);
  EXPECT_NEAR(spec.rope.freqs[4], 0.0025, 1e-8);
}

TEST(GoldenImportTest, MistralWindow) {
  const ModelSpec spec = load("tests/data/gguf/mistral-window.gguf");
  expectSizes(spec, {64, 4, 2, 24});
  for (const LayerSpec& layer : spec.layers) EXPECT_EQ(layer.window, 24U);
}

TEST(GoldenImportTest, Qwen2) {
  const ModelSpec spec = load("tests/data/gguf/qwen2.gguf");
  expectSizes(spec, {96, 6, 1, 16, "qwen2", RopePairing::kHalfSplit});
  EXPECT_NEAR(spec.rope.freqs[1], std::pow(1e6, -1.0 / 8), 1e-7);
  EXPECT_FALSE(spec.head.has_value());
  ASSERT_EQ(spec.layers.size(), 3U);
  for (const LayerSpec& layer : spec.layers) {
    EXPECT_TRUE(layer.q.bias && layer.k.bias && layer.v.bias);
    EXPECT_FALSE(layer.o.bias || layer.gate.bias || layer.up.bias || layer.down.bias);
  }
}

TEST(GoldenImportTest, Gemma3) {
  const ModelSpec spec = load("tests/data/gguf/gemma3.gguf");
  expectSizes(spec, {64, 4, 2, 32, "gemma3", RopePairing::kHalfSplit});
  EXPECT_NEAR(spec.rope.freqs[1], std::pow(1e6, -1.0 / 16), 1e-7);
  ASSERT_TRUE(spec.windowRope.has_value());
  EXPECT_NEAR(spec.windowRope->freqs[1], std::pow(1e4, -1.0 / 16), 1e-7);
  EXPECT_EQ(spec.embeddingScale, 8.0F);
  EXPECT_FALSE(spec.head.has_value());
  std::vector<uint32_t> windows;
  for (const LayerSpec& layer : spec.layers) {
    EXPECT_TRUE(layer.qNorm && layer.kNorm && layer.postAttnNorm && layer.postFfnNorm);
    windows.push_back(layer.window);
  }
  EXPECT_THAT(windows, ElementsAre(24, 24, 24, 24, 24, 0, 24));
}

TEST(GoldenImportTest, QuantizedWeights) {
  const std::pair<const char*, DType> files[] = {{"q8_0", DType::kQ8_0}, {"q4_0", DType::kQ4_0}, {"q4_1", DType::kQ4_1},
                                                 {"q5_0", DType::kQ5_0}, {"q5_1", DType::kQ5_1}, {"q4_k", DType::kQ4_K},
                                                 {"q5_k", DType::kQ5_K}, {"q6_k", DType::kQ6_K}};
  for (const auto& [name, type] : files) {
    const ModelSpec spec = load("tests/data/quant/" + std::string(name) + ".gguf");
    expectSizes(spec, {256, 4, 2, 64});
    ASSERT_EQ(spec.layers.size(), 2U);
    EXPECT_EQ(spec.layers[1].down.weight.type, type);
    EXPECT_EQ(spec.layers[1].down.weight.bytes.size(), *dtypeBytes(type, 256 * 512));
    EXPECT_EQ(spec.layers[1].attnNorm.type, DType::kF32);
  }
}

}  // namespace
}  // namespace firn::import
