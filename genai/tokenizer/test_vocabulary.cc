#include "genai/tokenizer/test_vocabulary.h"

#include <cstdlib>
#include <fstream>
#include <iostream>
#include <utility>

namespace firn::genai {

TestVocabulary::TestVocabulary() {
  std::ifstream file("tests/data/tokenizer/tiny.json");
  json_ = nlohmann::json::parse(file);
  tokens_ = json_["tokens"].get<std::vector<std::string>>();
  merges_ = json_["merges"].get<std::vector<std::string>>();
  texts_ = json_["texts"].get<std::vector<std::string>>();
}

blob::TokenizerData TestVocabulary::data(const std::string& pre) const {
  blob::TokenizerData data;
  data.pre = pre;
  data.tokens.assign(tokens_.begin(), tokens_.end());
  data.types = json_["types"].get<std::vector<int32_t>>();
  data.merges.assign(merges_.begin(), merges_.end());
  data.addBos = blob::Choice::kNo;
  data.bosId = json_["bos"].get<uint32_t>();
  data.eosId = json_["eos"].get<uint32_t>();
  return data;
}

Tokenizer TestVocabulary::tokenizer(const blob::TokenizerData& data) {
  auto image = blob::buildTokenizerImage(data);
  if (image) {
    images_.push_back(*std::move(image));
    auto tokenizer = Tokenizer::open(images_.back());
    if (tokenizer) return *std::move(tokenizer);
    std::cerr << tokenizer.status().toString() << '\n';
  } else {
    std::cerr << image.status().toString() << '\n';
  }
  std::abort();
}

std::vector<int32_t> TestVocabulary::ids(const std::string& pre, size_t i) const {
  return json_["ids"][pre][i].get<std::vector<int32_t>>();
}

}  // namespace firn::genai
