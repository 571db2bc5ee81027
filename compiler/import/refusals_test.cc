// What would change the answers in a way that firn does not: every key and tensor of the lists, by name.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "compiler/import/decoder_refusals.h"
#include "compiler/import/imported_for_test.h"

namespace firn::import {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<RefusedKey> allRefusedKeys() {
  std::vector<RefusedKey> keys(std::begin(kRefusedKeys), std::end(kRefusedKeys));
  keys.insert(keys.end(), std::begin(kRefusedWindowRopeKeys), std::end(kRefusedWindowRopeKeys));
  keys.insert(keys.end(), std::begin(kRefusedRopeKeys), std::end(kRefusedRopeKeys));
  return keys;
}

TEST(RefusalsTest, KeysAreRefusedUnlessNeutral) {
  for (const RefusedKey& key : allRefusedKeys()) {
    const std::string name = "llama." + std::string(key.suffix);
    const auto refused = [&](const std::string& found) {
      return AllOf(HasSubstr("unsupported"), HasSubstr("'" + name + "' is " + found), HasSubstr(key.meaning));
    };
    for (const double neutral : {key.neutral, key.alsoNeutral}) {
      EXPECT_EQ(refusal(tinyLlama().f32(name, static_cast<float>(neutral))), "accepted") << name << " " << neutral;
      EXPECT_EQ(refusal(tinyLlama().u32(name, static_cast<uint32_t>(neutral))), "accepted") << name << " " << neutral;
      EXPECT_EQ(refusal(tinyLlama().boolean(name, neutral == 1)), "accepted") << name << " " << neutral;
    }
    for (const double other : {0.0, 1.0, 0.5, -1.0, 7.0}) {
      if (other == key.neutral || other == key.alsoNeutral) continue;
      EXPECT_THAT(refusal(tinyLlama().f32(name, static_cast<float>(other))), refused("")) << other;
    }
    EXPECT_THAT(refusal(tinyLlama().i32(name, -3)), refused("-3"));
    EXPECT_THAT(refusal(tinyLlama().text(name, "much")), refused("set"));
    EXPECT_THAT(refusal(tinyLlama().i32s(name, {0, 0})), refused("set"));
  }
}

TEST(RefusalsTest, TensorsOutsideTheLayersAreRefusedByName) {
  for (const std::string_view name : kRefusedTensors) {
    EXPECT_THAT(refusal(tinyLlama().tensor(name, {8})),
                AllOf(HasSubstr("unsupported"), HasSubstr("'" + std::string(name) + "'"), HasSubstr("'llama'")));
  }
}

TEST(RefusalsTest, WhatALayerDoesNotAskForIsRefused) {
  for (const char* name : {"attn_norm.bias",
                           "ffn_norm.bias",
                           "attn_q_norm.weight",
                           "attn_q_norm.bias",
                           "attn_k_norm.weight",
                           "attn_k_norm.bias",
                           "attn_qkv.weight",
                           "attn_sinks.weight",
                           "attn_sub_norm.weight",
                           "ffn_sub_norm.weight",
                           "post_attention_norm.weight",
                           "post_ffw_norm.weight",
                           "ffn_gate_inp.weight",
                           "ffn_gate_exps.weight",
                           "attn_q.scale",
                           "attn_k.scale",
                           "attn_v.scale",
                           "attn_output.scale",
                           "ffn_gate.scale",
                           "ffn_up.scale",
                           "ffn_down.scale",
                           "attn_q.input_scale",
                           "layer_output_scale.weight",
                           "nobody.knows.it",
                           "attn_rot_embd"}) {
    const std::string tensor = std::string("blk.0.") + name;
    EXPECT_THAT(refusal(tinyLlama().tensor(tensor, {8})), AllOf(HasSubstr("unsupported"), HasSubstr("'" + tensor)));
  }
}

TEST(RefusalsTest, WhatChangesNoAnswerIsLeftOut) {
  std::vector<std::string> names = {"blk.weight", "blk.x.attn_q.scale", "extra.weight"};
  for (const std::string_view name : kHarmlessLayerTensors) names.push_back("blk.0." + std::string(name));
  for (const std::string& name : names) {
    const Imported model(tinyLlama().tensor(name, {8}));
    ASSERT_TRUE(model.spec.isOk()) << model.spec.status().toString();
    EXPECT_THAT(model.spec->unusedTensors, ElementsAre("'" + name + "'"));
  }
}

TEST(RefusalsTest, AValueThatIsDerivedIsNotBlamedOnItsKey) {
  EXPECT_THAT(refusal(tinyLlama().u32("llama.embedding_length", 2050)),
              AllOf(HasSubstr("'llama.attention.key_length' is missing, and 'embedding_length' over"),
                    HasSubstr("gives 1025, expected 1 to 1024")));
  EXPECT_THAT(refusal(tinyLlama().u32("llama.embedding_length", 6)),
              AllOf(HasSubstr("'llama.attention.key_length' is missing, and 'embedding_length' over"),
                    HasSubstr("gives 3, expected an even number")));
  EXPECT_THAT(refusal(tinyLlama().u32("llama.attention.key_length", 3)),
              HasSubstr("key_length' is 3, expected an even"));
  EXPECT_THAT(refusal(tinyLlama().u32("llama.attention.key_length", 1026)), HasSubstr("key_length' is 1026, expected"));
  EXPECT_THAT(refusal(tinyLlama().texts("tokenizer.ggml.tokens", {})),
              HasSubstr("'llama.vocab_size' is missing, and the length of 'tokenizer.ggml.tokens' gives 0"));
  EXPECT_THAT(refusal(tinyLlama().erase("tokenizer.ggml.tokens").eraseTensor("token_embd.weight")),
              HasSubstr("'llama.vocab_size' is missing, and the rows of 'token_embd.weight' gives 0"));
  EXPECT_THAT(refusal(tinyLlama().u32("llama.vocab_size", 0)), HasSubstr("'llama.vocab_size' is 0, expected 1"));
  // The number as it is found, however large.
  EXPECT_THAT(refusal(tinyLlama().erase("tokenizer.ggml.tokens").tensor("token_embd.weight", {1, 20'000'000})),
              HasSubstr("the rows of 'token_embd.weight' gives 20000000, expected 1 to 16777216"));
}

}  // namespace
}  // namespace firn::import
