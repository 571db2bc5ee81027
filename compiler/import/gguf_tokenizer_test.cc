#include "compiler/import/gguf_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blob/tokenizer_image.h"
#include "compiler/import/gguf_writer_for_test.h"
#include "compiler/import/import.h"

namespace firn::import {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Built {
  ByteVector bytes;
  Result<ByteVector> image = internalError("not built");

  explicit Built(const GgufWriter& writer) : bytes(writer.bytes()) {
    const Result<GgufFile> file = GgufFile::fromMemory(bytes, "tiny.gguf");
    if (file.isOk()) {
      image = importGgufTokenizer(*file);
    } else {
      image = file.status();
    }
  }
};

std::string refusal(const GgufWriter& writer) {
  const Built built(writer);
  return built.image.isOk() ? "accepted" : built.image.status().toString();
}

GgufWriter vocabularyOnly() { return tinyLlama().eraseTensors(); }

TEST(GgufTokenizerTest, AFileWithoutTensorsWillDo) {
  const Built built(vocabularyOnly());
  ASSERT_TRUE(built.image.isOk()) << built.image.status().toString();
  const Result<blob::TokenizerImage> image = blob::TokenizerImage::open(*built.image);
  ASSERT_TRUE(image.isOk()) << image.status().toString();
  EXPECT_EQ(image->tokenCount(), 6U);
  EXPECT_EQ(image->modelName(), "gpt2");
  EXPECT_EQ(image->preName(), "gpt-2");
  EXPECT_EQ(image->findToken("abc"), 4U);
  const blob::MergeSlot* merge = image->findMerge(3, 2);
  ASSERT_NE(merge, nullptr);
  EXPECT_EQ(merge->merged, 4U);
  EXPECT_EQ(image->header().eosId, 5U);
  EXPECT_EQ(image->header().bosId, blob::kNoToken);
  EXPECT_EQ(image->header().addBos, blob::Choice::kUnsaid);
}

TEST(GgufTokenizerTest, EndsAreTheUnionOfKeysAndKnownTexts) {
  GgufWriter file = vocabularyOnly();
  file.texts("tokenizer.ggml.tokens", {"a", "b", "c", "<|eot_id|>", "<|im_end|>", "<end_of_turn>"});
  file.i32s("tokenizer.ggml.token_type", {1, 1, 1, 3, 3, 3}).texts("tokenizer.ggml.merges", {});
  file.u32("tokenizer.ggml.eos_token_id", 0);
  const auto ends = [](const GgufWriter& writer) {
    const Built built(writer);
    EXPECT_TRUE(built.image.isOk()) << built.image.status().toString();
    const auto ids = blob::TokenizerImage::open(*built.image)->endIds();
    return std::vector<uint32_t>(ids.begin(), ids.end());
  };
  EXPECT_THAT(ends(file), ElementsAre(0, 3, 4, 5));
  file.u32("tokenizer.ggml.eot_token_id", 2).u32("tokenizer.ggml.eom_token_id", 1);
  EXPECT_THAT(ends(file), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(GgufTokenizerTest, FlagsAndIdsAreRead) {
  GgufWriter file = vocabularyOnly();
  file.boolean("tokenizer.ggml.add_bos_token", true).boolean("tokenizer.ggml.add_eos_token", false);
  file.u32("tokenizer.ggml.bos_token_id", 1).i32("tokenizer.ggml.padding_token_id", -1);
  const Built built(file);
  ASSERT_TRUE(built.image.isOk()) << built.image.status().toString();
  const blob::TokenizerHeader header = blob::TokenizerImage::open(*built.image)->header();
  EXPECT_EQ(header.addBos, blob::Choice::kYes);
  EXPECT_EQ(header.addEos, blob::Choice::kNo);
  EXPECT_EQ(header.bosId, 1U);
  EXPECT_EQ(header.padId, blob::kNoToken);
}

TEST(GgufTokenizerTest, PartsThatContradictAreRefused) {
  EXPECT_THAT(refusal(vocabularyOnly().u32("tokenizer.ggml.eos_token_id", 6)),
              AllOf(HasSubstr("corrupt"), HasSubstr("'tokenizer.ggml.eos_token_id' is 6")));
  EXPECT_THAT(refusal(vocabularyOnly().i32s("tokenizer.ggml.token_type", {1})), HasSubstr("token_type"));
  EXPECT_THAT(refusal(vocabularyOnly().texts("tokenizer.ggml.token_type", {"a", "b", "c", "d", "e", "f"})),
              HasSubstr("token_type"));
  EXPECT_THAT(refusal(vocabularyOnly().erase("tokenizer.ggml.tokens")), HasSubstr("'tokenizer.ggml.tokens'"));
  EXPECT_THAT(refusal(vocabularyOnly().erase("tokenizer.ggml.merges")), HasSubstr("'tokenizer.ggml.merges'"));
  EXPECT_THAT(refusal(vocabularyOnly().texts("tokenizer.ggml.merges", {"a z"})), HasSubstr("corrupt"));
  EXPECT_THAT(refusal(vocabularyOnly().u32("tokenizer.ggml.add_bos_token", 1)), HasSubstr("expected bool"));
}

TEST(GgufTokenizerTest, AModelWithoutOneSaysWhy) {
  for (const char* kind : {"no_vocab", "llama"}) {
    GgufWriter file = tinyLlama();
    file.text("tokenizer.ggml.model", kind);
    const ByteVector bytes = file.bytes();
    const Result<ModelSpec> spec = importModel(*GgufFile::fromMemory(bytes, "tiny.gguf"));
    ASSERT_TRUE(spec.isOk()) << spec.status().toString();
    EXPECT_TRUE(spec->tokenizerImage.empty());
    EXPECT_THAT(spec->tokenizerAbsence, HasSubstr("tokenizer"));
  }
  GgufWriter absent = tinyLlama();
  for (const char* key : {"model", "pre", "tokens", "token_type", "merges", "eos_token_id"}) {
    absent.erase(std::string("tokenizer.ggml.") + key);
  }
  const ByteVector bytes = absent.bytes();
  const Result<ModelSpec> spec = importModel(*GgufFile::fromMemory(bytes, "tiny.gguf"));
  ASSERT_TRUE(spec.isOk()) << spec.status().toString();
  EXPECT_EQ(spec->vocab, 6U) << "the rows of the embedding";
}

TEST(GgufTokenizerTest, SplitsThatFirnDoesNotKnowAreNamed) {
  for (const char* pre : {"deepseek-v3", "QWEN2", "gpt-2 gpt2", "\x1b[31m"}) {
    GgufWriter file = tinyLlama();
    file.text("tokenizer.ggml.pre", pre);
    EXPECT_THAT(refusal(file), AllOf(HasSubstr("unsupported"), HasSubstr("'tokenizer.ggml.pre'"),
                                     HasSubstr("supported: gpt-2"), HasSubstr("qwen2")));
    // The model runs on token ids.
    const ByteVector bytes = file.bytes();
    const Result<ModelSpec> spec = importModel(*GgufFile::fromMemory(bytes, "tiny.gguf"));
    ASSERT_TRUE(spec.isOk()) << spec.status().toString();
    EXPECT_TRUE(spec->tokenizerImage.empty());
    EXPECT_THAT(spec->tokenizerAbsence, HasSubstr("'tokenizer.ggml.pre'"));
    EXPECT_THAT(spec->endIds, ElementsAre(5));
  }
  EXPECT_EQ(refusal(tinyLlama().text("tokenizer.ggml.pre", "qwen2")), "accepted");
  EXPECT_EQ(refusal(tinyLlama().text("tokenizer.ggml.pre", "")), "accepted");
}

}  // namespace
}  // namespace firn::import
