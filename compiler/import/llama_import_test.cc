// What the llama architecture (and with it every decoder) takes, defaults and refuses, on a model of 2 KiB built here.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compiler/import/imported_for_test.h"

namespace firn::import {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(LlamaImportTest, ReadsTheSizesAndTheWeights) {
  const Imported model(tinyLlama());
  ASSERT_TRUE(model.spec.isOk()) << model.spec.status().toString();
  const ModelSpec& spec = *model.spec;
  EXPECT_EQ(spec.architecture, "llama");
  EXPECT_EQ(spec.name, "tiny");
  EXPECT_EQ(spec.embed, 8U);
  EXPECT_EQ(spec.heads, 2U);
  EXPECT_EQ(spec.kvHeads, 1U);
  EXPECT_EQ(spec.headDim, 4U);
  EXPECT_EQ(spec.ffn, 16U);
  EXPECT_EQ(spec.vocab, 6U);
  EXPECT_EQ(spec.trainedContext, 64U);
  EXPECT_EQ(spec.normEpsilon, 1e-5F);
  EXPECT_EQ(spec.attentionScale, 0.5F);
  EXPECT_EQ(spec.rope.pairing, RopePairing::kInterleaved);
  EXPECT_EQ(spec.rope.dims, 4U);
  EXPECT_THAT(spec.rope.freqs, ElementsAre(1.0F, 0.01F));
  ASSERT_EQ(spec.layers.size(), 1U);
  EXPECT_THAT(spec.layers[0].k.weight.dims, ElementsAre(4, 8));
  EXPECT_THAT(spec.layers[0].down.weight.dims, ElementsAre(8, 16));
  EXPECT_EQ(spec.layers[0].q.bias, std::nullopt);
  EXPECT_FALSE(spec.tokenizerImage.empty());
  EXPECT_THAT(spec.tokenizerAbsence, IsEmpty());
}

TEST(LlamaImportTest, WeightsAreViewsOfTheFile) {
  const Imported model(tinyLlama());
  ASSERT_TRUE(model.spec.isOk());
  const std::span<const std::byte> down = model.spec->layers[0].down.weight.bytes;
  EXPECT_EQ(down.size(), 16U * 8 * 4);
  EXPECT_GE(down.data(), model.bytes.data());
  EXPECT_LE(down.data() + down.size(), model.bytes.data() + model.bytes.size());
}

TEST(LlamaImportTest, TheHeadIsTiedUnlessTheFileHasOne) {
  EXPECT_FALSE(Imported(tinyLlama()).spec->head.has_value());
  const Imported own(tinyLlama().tensor("output.weight", {8, 6}));
  ASSERT_TRUE(own.spec.isOk()) << own.spec.status().toString();
  ASSERT_TRUE(own.spec->head.has_value());
  EXPECT_THAT(own.spec->head->weight.dims, ElementsAre(6, 8));
}

TEST(LlamaImportTest, MissingKeysHaveTheirDefaults) {
  GgufWriter file = tinyLlama();
  file.erase("llama.attention.head_count_kv").erase("llama.context_length");
  file.tensor("blk.0.attn_k.weight", {8, 8}).tensor("blk.0.attn_v.weight", {8, 8});
  const Imported model(file);
  ASSERT_TRUE(model.spec.isOk()) << model.spec.status().toString();
  EXPECT_EQ(model.spec->kvHeads, 2U);
  EXPECT_EQ(model.spec->trainedContext, 0U);
  EXPECT_THAT(model.spec->chatTemplate, IsEmpty());
}

TEST(LlamaImportTest, MissingKeysWithoutADefaultAreNamed) {
  for (const char* key : {"llama.block_count", "llama.embedding_length", "llama.feed_forward_length",
                          "llama.attention.head_count", "llama.attention.layer_norm_rms_epsilon"}) {
    EXPECT_THAT(refusal(tinyLlama().erase(key)), AllOf(HasSubstr(key), HasSubstr("missing")));
  }
}

TEST(LlamaImportTest, CountsMayBeWideOrPerLayer) {
  GgufWriter file = tinyLlama();
  file.u64("llama.block_count", 1).u64("llama.embedding_length", 8).u16("llama.attention.head_count", 2);
  file.i32s("llama.attention.head_count_kv", {1}).i32s("llama.feed_forward_length", {16});
  const Imported model(file);
  ASSERT_TRUE(model.spec.isOk()) << model.spec.status().toString();
  EXPECT_EQ(model.spec->kvHeads, 1U);
  EXPECT_EQ(model.spec->ffn, 16U);
}

TEST(LlamaImportTest, LayersThatDifferAreRefusedByName) {
  GgufWriter file = tinyLlama();
  file.u32("llama.block_count", 2).i32s("llama.attention.head_count_kv", {1, 2});
  EXPECT_THAT(refusal(file),
              AllOf(HasSubstr("unsupported"), HasSubstr("'llama.attention.head_count_kv'"), HasSubstr("layer 1")));
  EXPECT_THAT(refusal(tinyLlama().i32s("llama.attention.head_count_kv", {1, 1, 1})), HasSubstr("3 values"));
  EXPECT_THAT(refusal(tinyLlama().i32s("llama.attention.head_count_kv", {-1})), HasSubstr("head_count_kv"));
}

TEST(LlamaImportTest, SizesOutsideTheLimitsAreRefused) {
  const std::pair<const char*, uint64_t> cases[] = {
      {"llama.block_count", 0},          {"llama.block_count", 1ULL << 40},
      {"llama.embedding_length", 0},     {"llama.embedding_length", 0xFFFFFFFF},
      {"llama.feed_forward_length", 0},  {"llama.attention.head_count", 0},
      {"llama.attention.head_count", 3}, {"llama.attention.head_count_kv", 0},
      {"llama.attention.key_length", 3}, {"llama.attention.head_count_kv", 3},
      {"llama.context_length", 0},       {"llama.context_length", 1ULL << 33},
      {"llama.vocab_size", 0},           {"llama.rope.dimension_count", 6},
      {"llama.rope.dimension_count", 3}, {"llama.attention.value_length", 2},
      {"llama.vocab_size", 7},
  };
  for (const auto& [key, value] : cases) {
    EXPECT_THAT(refusal(tinyLlama().u64(key, value)), AllOf(HasSubstr(key), HasSubstr(std::to_string(value))));
  }
}

TEST(LlamaImportTest, EpsilonAndBaseMustBeSane) {
  for (const float value :
       {0.0F, -1e-5F, std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), 2.0F}) {
    EXPECT_THAT(refusal(tinyLlama().f32("llama.attention.layer_norm_rms_epsilon", value)), HasSubstr("epsilon"));
  }
  for (const float value : {0.0F, 1.0F, std::numeric_limits<float>::infinity()}) {
    EXPECT_THAT(refusal(tinyLlama().f32("llama.rope.freq_base", value)), HasSubstr("'llama.rope.freq_base'"));
  }
  EXPECT_THAT(refusal(tinyLlama().u32("llama.rope.freq_base", 10000)), HasSubstr("expected f32"));
}

TEST(LlamaImportTest, TensorsMustFitTheSizes) {
  EXPECT_THAT(refusal(tinyLlama().eraseTensor("blk.0.ffn_up.weight")),
              AllOf(HasSubstr("'blk.0.ffn_up.weight'"), HasSubstr("missing"), HasSubstr("[16, 8]")));
  EXPECT_THAT(refusal(tinyLlama().tensor("blk.0.attn_q.weight", {8, 4})),
              AllOf(HasSubstr("'blk.0.attn_q.weight'"), HasSubstr("[4, 8]"), HasSubstr("[8, 8]")));
  EXPECT_THAT(refusal(tinyLlama().tensor("token_embd.weight", {8, 7})), HasSubstr("'token_embd.weight' is [7, 8]"));
  EXPECT_THAT(refusal(tinyLlama().tensor("blk.0.attn_q.bias", {7})), HasSubstr("'blk.0.attn_q.bias' is [7]"));
  EXPECT_THAT(refusal(tinyLlama().tensor("output_norm.weight", {8, 1, 1, 2})), HasSubstr("[2, 1, 1, 8]"));
  // Writers drop trailing dimensions of 1, or keep them.
  EXPECT_EQ(refusal(tinyLlama().tensor("output_norm.weight", {8, 1})), "accepted");
}

TEST(LlamaImportTest, KnownButUnsupportedTypesAreRefusedByName) {
  GgufWriter wide = tinyLlama();
  wide.tensor("blk.0.attn_q.weight", {256, 8}, 29);
  EXPECT_THAT(refusal(wide), HasSubstr("'blk.0.attn_q.weight' is [8, 256]"));
  // Of 32-element blocks the sizes of this model allow none, so the type must win over nothing but itself.
  GgufWriter file = tinyLlama();
  file.tensor("blk.0.attn_q.weight", {8, 8}, 28);
  EXPECT_THAT(refusal(file), AllOf(HasSubstr("unsupported tensor type f64"), HasSubstr("'blk.0.attn_q.weight'"),
                                   HasSubstr("f32, f16, bf16, q4_0, q4_1, q8_0, q5_0, q5_1, q4_k, q5_k, q6_k")));
  EXPECT_THAT(refusal(tinyLlama().tensor("output_norm.weight", {8}, 1)),
              AllOf(HasSubstr("unsupported tensor type f16"), HasSubstr("'output_norm.weight'")));
  EXPECT_EQ(refusal(tinyLlama().tensor("blk.0.attn_q.weight", {8, 8}, 30)), "accepted");
}

TEST(LlamaImportTest, BiasesAreTaken) {
  GgufWriter file = tinyLlama();
  file.tensor("blk.0.attn_q.bias", {8}).tensor("blk.0.attn_k.bias", {4}).tensor("blk.0.attn_v.bias", {4});
  file.tensor("blk.0.attn_output.bias", {8}).tensor("blk.0.ffn_gate.bias", {16});
  file.tensor("blk.0.ffn_up.bias", {16}).tensor("blk.0.ffn_down.bias", {8});
  const Imported model(file);
  ASSERT_TRUE(model.spec.isOk()) << model.spec.status().toString();
  const LayerSpec& layer = model.spec->layers[0];
  for (const LinearSpec* linear : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
    ASSERT_TRUE(linear->bias.has_value()) << linear->weight.name;
    EXPECT_THAT(linear->bias->dims, ElementsAre(linear->weight.dims[0]));
  }
  EXPECT_THAT(model.spec->unusedTensors, IsEmpty());
}

TEST(LlamaImportTest, RopeFactorsOfTheFileAreUsed) {
  const Imported model(tinyLlama().f32Tensor("rope_freqs.weight", {1.0F, 4.0F}));
  ASSERT_TRUE(model.spec.isOk()) << model.spec.status().toString();
  EXPECT_THAT(model.spec->rope.freqs, ElementsAre(1.0F, 0.0025F));
  EXPECT_THAT(refusal(tinyLlama().f32Tensor("rope_freqs.weight", {1.0F, 0.0F})), HasSubstr("'rope_freqs.weight'"));
  EXPECT_THAT(refusal(tinyLlama().f32Tensor("rope_freqs.weight", {1, 2, 3})), HasSubstr("'rope_freqs.weight' is [3]"));
}

TEST(LlamaImportTest, RopeScalingByKeys) {
  GgufWriter linear = tinyLlama();
  linear.text("llama.rope.scaling.type", "linear").f32("llama.rope.scaling.factor", 2);
  EXPECT_THAT(Imported(linear).spec->rope.freqs, ElementsAre(0.5F, 0.005F));
  EXPECT_THAT(Imported(tinyLlama().f32("llama.rope.scaling.factor", 2)).spec->rope.freqs, ElementsAre(0.5F, 0.005F));
  EXPECT_THAT(Imported(tinyLlama().f32("llama.rope.scale_linear", 2)).spec->rope.freqs, ElementsAre(0.5F, 0.005F));
  GgufWriter none = tinyLlama();
  none.text("llama.rope.scaling.type", "none").f32("llama.rope.scaling.factor", 2);
  EXPECT_THAT(Imported(none).spec->rope.freqs, ElementsAre(1.0F, 0.01F));
  GgufWriter llama3 = tinyLlama();
  llama3.text("llama.rope.scaling.type", "llama3").f32("llama.rope.scaling.factor", 8);
  llama3.u32("llama.rope.scaling.original_context_length", 64).f32("llama.rope.scaling.high_freq_factor", 4);
  // Pair 0 turns 10.2 times in 64 tokens, pair 1 0.1 times.
  EXPECT_THAT(Imported(llama3).spec->rope.freqs, ElementsAre(1.0F, 0.00125F));
  llama3.f32Tensor("rope_freqs.weight", {1.0F, 8.0F});
  EXPECT_THAT(Imported(llama3).spec->rope.freqs, ElementsAre(1.0F, 0.00125F)) << "factors must not count twice";
}

TEST(LlamaImportTest, WrongRopeScalingIsRefusedByName) {
  EXPECT_THAT(refusal(tinyLlama().text("llama.rope.scaling.type", "longrope")),
              AllOf(HasSubstr("'longrope'"), HasSubstr("none, linear, llama3, yarn")));
  EXPECT_THAT(refusal(tinyLlama().text("llama.rope.scaling.type", "yarn")), HasSubstr("'llama.rope.scaling.factor'"));
  EXPECT_THAT(refusal(tinyLlama().f32("llama.rope.scaling.factor", 0)), HasSubstr("'llama.rope.scaling.factor'"));
  EXPECT_THAT(refusal(tinyLlama().f32("llama.rope.scaling.attn_factor", 1.5F)), HasSubstr("attn_factor' is 1.5"));
  EXPECT_EQ(refusal(tinyLlama().f32("llama.rope.scaling.attn_factor", 1.0F)), "accepted");
}

TEST(LlamaImportTest, WhatWouldChangeTheAnswerIsRefused) {
  EXPECT_THAT(refusal(tinyLlama().u32("llama.expert_count", 8)),
              AllOf(HasSubstr("unsupported"), HasSubstr("'llama.expert_count' is 8"), HasSubstr("experts")));
  EXPECT_THAT(refusal(tinyLlama().f32("llama.logit_scale", 0.5F)), HasSubstr("'llama.logit_scale'"));
  EXPECT_THAT(refusal(tinyLlama().boolean("llama.attention.causal", false)), HasSubstr("'llama.attention.causal'"));
  EXPECT_THAT(refusal(tinyLlama().f32("llama.rope.freq_base_swa", 10000)), HasSubstr("'llama.rope.freq_base_swa'"));
  EXPECT_THAT(refusal(tinyLlama().tensor("blk.0.attn_q_norm.weight", {4})), HasSubstr("'blk.0.attn_q_norm.weight'"));
  EXPECT_THAT(refusal(tinyLlama().tensor("blk.1.attn_q.weight", {8, 8})),
              AllOf(HasSubstr("'blk.1.attn_q.weight'"), HasSubstr("block_count")));
  GgufWriter neutral = tinyLlama();
  neutral.u32("llama.expert_count", 0).f32("llama.logit_scale", 1).boolean("llama.attention.causal", true);
  neutral.u32("llama.attention.sliding_window", 64);
  EXPECT_EQ(refusal(neutral), "accepted");
}

TEST(LlamaImportTest, AWindowIsThatOfEveryLayer) {
  EXPECT_EQ(Imported(tinyLlama()).spec->layers[0].window, 0U);
  EXPECT_EQ(Imported(tinyLlama().u32("llama.attention.sliding_window", 0)).spec->layers[0].window, 0U);
  const Imported model(tinyLlama().u32("llama.attention.sliding_window", 32));
  ASSERT_TRUE(model.spec.isOk()) << model.spec.status().toString();
  EXPECT_EQ(model.spec->layers[0].window, 32U);
  EXPECT_FALSE(model.spec->windowRope.has_value());
  EXPECT_THAT(refusal(tinyLlama().u64("llama.attention.sliding_window", 1ULL << 31)),
              HasSubstr("'llama.attention.sliding_window' is 2147483648"));
}

TEST(LlamaImportTest, TheAttentionScaleOfTheFileIsUsed) {
  EXPECT_EQ(Imported(tinyLlama().f32("llama.attention.scale", 0.25F)).spec->attentionScale, 0.25F);
}

TEST(LlamaImportTest, UnknownKeysAndTensorsAreLeftOut) {
  GgufWriter file = tinyLlama();
  file.text("llama.flavour", "vanilla").texts("general.tags", {"x"}).tensor("extra.weight", {256}, 29);
  const Imported model(file);
  ASSERT_TRUE(model.spec.isOk()) << model.spec.status().toString();
  EXPECT_THAT(model.spec->unusedTensors, ElementsAre("'extra.weight'"));
}

TEST(ModelImportTest, NoModelIsRefusedWithTheReason) {
  EXPECT_THAT(refusal(tinyLlama().eraseTensors()), HasSubstr("model has no weights"));
  EXPECT_THAT(refusal(GgufWriter()), HasSubstr("no weights"));
  EXPECT_THAT(refusal(tinyLlama().erase("general.architecture")), HasSubstr("'general.architecture' is missing"));
  EXPECT_THAT(refusal(tinyLlama().u32("general.architecture", 1)), HasSubstr("expected string"));
  EXPECT_THAT(refusal(tinyLlama().text("general.architecture", "gpt5")),
              AllOf(HasSubstr("unsupported"), HasSubstr("'gpt5'"), HasSubstr("known: gemma3, llama, qwen2")));
}

TEST(ModelImportTest, TheHashSeesMetadataAndSizeButNotWeights) {
  const blob::Hash128 base = Imported(tinyLlama()).spec->sourceHash;
  EXPECT_EQ(Imported(tinyLlama()).spec->sourceHash, base);
  EXPECT_FALSE(Imported(tinyLlama().u32("llama.context_length", 65)).spec->sourceHash == base);
  GgufWriter weights = tinyLlama();
  weights.find("token_embd.weight")->data[0] ^= std::byte{1};
  EXPECT_EQ(Imported(weights).spec->sourceHash, base);
}

TEST(ModelImportTest, ChatTemplatesAreCopiedUpToALimit) {
  EXPECT_EQ(Imported(tinyLlama().text("tokenizer.chat_template", "{{ x }}")).spec->chatTemplate, "{{ x }}");
  EXPECT_THAT(refusal(tinyLlama().text("tokenizer.chat_template", std::string((1U << 20) + 1, 'x'))),
              HasSubstr("'tokenizer.chat_template'"));
}

TEST(ModelImportTest, TextsAreSafeToPrint) {
  EXPECT_EQ(Imported(tinyLlama().text("general.name", "a\x1b[31m")).spec->name, "tiny.gguf");
  EXPECT_EQ(Imported(tinyLlama().text("general.name", "\xff")).spec->name, "tiny.gguf");
  EXPECT_EQ(Imported(tinyLlama().text("general.name", "Modèle")).spec->name, "Modèle");
  EXPECT_THAT(refusal(tinyLlama().text("tokenizer.chat_template", "\xff")), HasSubstr("UTF-8"));
}

TEST(ModelImportTest, FlippedBytesNeverCrash) {
  const ByteVector whole = tinyLlama().bytes();
  int accepted = 0;
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const unsigned flip : {0x01U, 0x40U, 0xFFU}) {
      ByteVector flipped = whole;
      flipped[i] ^= std::byte(flip);
      const Result<GgufFile> file = GgufFile::fromMemory(flipped, "tiny.gguf");
      if (!file.isOk()) continue;
      const Result<ModelSpec> spec = importModel(*file);
      if (spec.isOk()) {
        ++accepted;
        ASSERT_EQ(spec->layers.size(), 1U);
        ASSERT_EQ(spec->embedding.bytes.size(), *dtypeBytes(spec->embedding.type, 8 * 6));
      }
    }
  }
  EXPECT_GT(accepted, 0) << "a flipped weight is no reason to refuse";
}

}  // namespace
}  // namespace firn::import
