// What the gemma3 architecture has of its own: windows and their rope, extra norms, scales, the gelu.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/import/imported_for_test.h"

namespace firn::import {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<uint32_t> windowsOf(const GgufWriter& file) {
  const Imported model(file);
  EXPECT_TRUE(model.spec.isOk()) << model.spec.status().toString();
  std::vector<uint32_t> windows;
  if (!model.spec.isOk()) return windows;
  for (const LayerSpec& layer : model.spec->layers) windows.push_back(layer.window);
  return windows;
}

TEST(Gemma3ImportTest, ReadsItsNormsAndScales) {
  const Imported model(tinyGemma3());
  ASSERT_TRUE(model.spec.isOk()) << model.spec.status().toString();
  const ModelSpec& spec = *model.spec;
  EXPECT_EQ(spec.architecture, "gemma3");
  EXPECT_EQ(spec.activation, Activation::kGeluTanh);
  EXPECT_EQ(spec.embeddingScale, std::sqrt(8.0F));
  EXPECT_EQ(spec.attentionScale, 0.5F);
  EXPECT_EQ(spec.rope.pairing, RopePairing::kHalfSplit);
  const LayerSpec& layer = spec.layers[0];
  ASSERT_TRUE(layer.qNorm && layer.kNorm && layer.postAttnNorm && layer.postFfnNorm);
  EXPECT_THAT(layer.kNorm->dims, ElementsAre(4));
  EXPECT_THAT(layer.postFfnNorm->dims, ElementsAre(8));
  EXPECT_THAT(spec.unusedTensors, IsEmpty());
}

TEST(Gemma3ImportTest, EverySixthLayerSeesAllUnlessThePatternSaysOtherwise) {
  EXPECT_THAT(windowsOf(tinyGemma3(7)), ElementsAre(24, 24, 24, 24, 24, 0, 24));
  const std::string pattern = "gemma3.attention.sliding_window_pattern";
  EXPECT_THAT(windowsOf(tinyGemma3(4).u32(pattern, 2)), ElementsAre(24, 0, 24, 0));
  EXPECT_THAT(windowsOf(tinyGemma3(3).i32s(pattern, {0, 1, 1})), ElementsAre(0, 24, 24));
  EXPECT_THAT(refusal(tinyGemma3(3).i32s(pattern, {0, 1})), AllOf(HasSubstr(pattern), HasSubstr("2 values")));
  EXPECT_THAT(refusal(tinyGemma3(2).i32s(pattern, {0, 2})), AllOf(HasSubstr(pattern), HasSubstr("0 and 1")));
  EXPECT_THAT(refusal(tinyGemma3(2).texts(pattern, {"a", "b"})), AllOf(HasSubstr(pattern), HasSubstr("0 and 1")));
  EXPECT_THAT(refusal(tinyGemma3(2).u32(pattern, 0)), HasSubstr(pattern));
}

TEST(Gemma3ImportTest, TheWindowMustBeThere) {
  EXPECT_THAT(refusal(tinyGemma3().erase("gemma3.attention.sliding_window")),
              AllOf(HasSubstr("'gemma3.attention.sliding_window'"), HasSubstr("missing")));
  EXPECT_THAT(refusal(tinyGemma3().u32("gemma3.attention.sliding_window", 0)), HasSubstr("sliding_window' is 0"));
  EXPECT_THAT(refusal(tinyGemma3().u64("gemma3.attention.sliding_window", 1ULL << 40)),
              HasSubstr("'gemma3.attention.sliding_window'"));
}

TEST(Gemma3ImportTest, WindowedLayersHaveARopeOfTheirOwn) {
  GgufWriter file = tinyGemma3().f32("gemma3.rope.freq_base", 1e6F);
  file.text("gemma3.rope.scaling.type", "linear").f32("gemma3.rope.scaling.factor", 8);
  const Imported model(file);
  ASSERT_TRUE(model.spec.isOk()) << model.spec.status().toString();
  EXPECT_THAT(model.spec->rope.freqs, ElementsAre(0.125F, 0.000125F));
  ASSERT_TRUE(model.spec->windowRope.has_value());
  EXPECT_THAT(model.spec->windowRope->freqs, ElementsAre(1.0F, 0.01F)) << "no scaling, base 10000";
  EXPECT_EQ(model.spec->windowRope->pairing, RopePairing::kHalfSplit);
  const Imported other(tinyGemma3().f32("gemma3.rope.freq_base_swa", 100));
  EXPECT_THAT(other.spec->windowRope->freqs, ElementsAre(1.0F, 0.1F));
  EXPECT_THAT(refusal(tinyGemma3().f32("gemma3.rope.freq_base_swa", 0)), HasSubstr("'gemma3.rope.freq_base_swa'"));
  EXPECT_THAT(refusal(tinyGemma3().u32("gemma3.rope.dimension_count_swa", 3)), HasSubstr("dimension_count_swa' is 3"));
}

TEST(Gemma3ImportTest, TheLargestModelScalesScoresByEmbeddingOverHeads) {
  EXPECT_EQ(Imported(tinyGemma3(61)).spec->attentionScale, 0.5F);
  GgufWriter file = tinyGemma3(62);
  file.u32("gemma3.attention.key_length", 4).u32("gemma3.attention.value_length", 4);
  EXPECT_EQ(Imported(file).spec->attentionScale, 1 / std::sqrt(8.0F / 2));
  EXPECT_EQ(Imported(file.f32("gemma3.attention.scale", 0.25F)).spec->attentionScale, 0.25F);
}

TEST(Gemma3ImportTest, WhatWouldChangeTheAnswerIsRefused) {
  for (const char* name : {"attn_q_norm", "attn_k_norm", "post_attention_norm", "post_ffw_norm"}) {
    const std::string tensor = std::string("blk.0.") + name + ".weight";
    EXPECT_THAT(refusal(tinyGemma3().eraseTensor(tensor)), AllOf(HasSubstr(tensor), HasSubstr("missing")));
    EXPECT_THAT(refusal(tinyGemma3().tensor(tensor, {6})), AllOf(HasSubstr(tensor), HasSubstr("[6]")));
  }
  EXPECT_THAT(refusal(tinyGemma3().f32("gemma3.final_logit_softcapping", 30)), HasSubstr("final_logit_softcapping"));
}

}  // namespace
}  // namespace firn::import
