// What the qwen2 architecture has of its own: its keys, the pairing of its rope, biases of q, k and v.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/import/imported_for_test.h"

namespace firn::import {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Qwen2ImportTest, ReadsItsKeysBiasesAndPairing) {
  const Imported model(tinyQwen2().f32("qwen2.rope.freq_base", 1e6F));
  ASSERT_TRUE(model.spec.isOk()) << model.spec.status().toString();
  const ModelSpec& spec = *model.spec;
  EXPECT_EQ(spec.architecture, "qwen2");
  EXPECT_EQ(spec.rope.pairing, RopePairing::kHalfSplit);
  EXPECT_THAT(spec.rope.freqs, ElementsAre(1.0F, 0.001F));
  const LayerSpec& layer = spec.layers[0];
  EXPECT_TRUE(layer.q.bias && layer.k.bias && layer.v.bias);
  EXPECT_FALSE(layer.o.bias);
  EXPECT_THAT(spec.unusedTensors, IsEmpty());
}

TEST(Qwen2ImportTest, TheHeadIsTiedUnlessTheFileHasOne) {
  EXPECT_FALSE(Imported(tinyQwen2()).spec->head.has_value());
  EXPECT_TRUE(Imported(tinyQwen2().tensor("output.weight", {8, 6})).spec->head.has_value());
}

TEST(Qwen2ImportTest, WhatWouldChangeTheAnswerIsRefused) {
  EXPECT_THAT(refusal(tinyQwen2().u32("qwen2.expert_count", 8)),
              AllOf(HasSubstr("unsupported"), HasSubstr("'qwen2.expert_count' is 8")));
  EXPECT_THAT(refusal(tinyQwen2().u32("qwen2.attention.sliding_window", 32)),
              HasSubstr("'qwen2.attention.sliding_window' is 32"));
  EXPECT_THAT(refusal(tinyQwen2().tensor("blk.0.attn_q_norm.weight", {4})), HasSubstr("'blk.0.attn_q_norm.weight'"));
  EXPECT_THAT(refusal(tinyQwen2().tensor("blk.0.attn_k.bias", {8})), HasSubstr("'blk.0.attn_k.bias' is [8]"));
}

}  // namespace
}  // namespace firn::import
