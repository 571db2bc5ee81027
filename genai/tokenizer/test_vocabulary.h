// The recorded vocabulary of tests/data/tokenizer/tiny.json as a tokenizer, for tests.
#pragma once

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "blob/tokenizer_image.h"
#include "genai/tokenizer/tokenizer.h"

namespace firn::genai {

/// A byte-level BPE vocabulary of 512 tokens: 256 bytes, 253 merges, `<|endoftext|>` 509, `<|im_start|>` 510,
/// `<|im_end|>` 511; with ids recorded by Hugging Face tokenizers.
class TestVocabulary {
 public:
  TestVocabulary();

  /// Plain data for the image; views into this object.
  blob::TokenizerData data(const std::string& pre) const;
  /// The image of `data`, kept here, and a tokenizer over it. Aborts the test program if that fails.
  Tokenizer tokenizer(const blob::TokenizerData& data);
  Tokenizer tokenizer(const std::string& pre) { return tokenizer(data(pre)); }

  const std::vector<std::string>& texts() const { return texts_; }
  /// The recorded ids of texts()[i].
  std::vector<int32_t> ids(const std::string& pre, size_t i) const;

 private:
  nlohmann::json json_;
  std::vector<std::string> tokens_;
  std::vector<std::string> merges_;
  std::vector<std::string> texts_;
  std::vector<std::vector<std::byte>> images_;
};

}  // namespace firn::genai
