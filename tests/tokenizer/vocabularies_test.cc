// Vocabularies of other models, as the folder that FIRN_VOCABULARIES names holds them: ggml-vocab-NAME.gguf with texts
// (.inp) and llama.cpp's ids (.out). No script sets it, nor FIRN_QWEN2: tests/data/README.md says where the files are
// from and how to run this. Skipped where the folder or a vocabulary is missing.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sstream>

#include "compiler/import/import.h"
#include "genai/tokenizer/tokenizer.h"

namespace firn {
namespace {

using namespace std::string_view_literals;

/// A text with its right ids.
struct Case {
  std::string_view text;
  std::vector<int32_t> ids;
};

std::string readFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class VocabularyTest : public ::testing::TestWithParam<const char*> {
 protected:
  void open(const std::string& name) {
    const char* folder = std::getenv("FIRN_VOCABULARIES");
    path = (folder == nullptr ? "" : std::string(folder)) + "/ggml-vocab-" + name + ".gguf";
    if (folder == nullptr || !std::filesystem::exists(path)) GTEST_SKIP() << "FIRN_VOCABULARIES has no " << name;
    auto built = import::importTokenizer(path);
    ASSERT_TRUE(built.isOk()) << built.status().toString();
    image = *std::move(built);
    auto opened = genai::Tokenizer::open(image);
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    tokenizer.emplace(*std::move(opened));
  }

  void expectIds(std::string_view text, const std::vector<int32_t>& ids, const genai::EncodeOptions& options) {
    const auto encoded = tokenizer->encode(text, options);
    ASSERT_TRUE(encoded.isOk()) << encoded.status().toString();
    EXPECT_EQ(*encoded, ids) << ::testing::PrintToString(std::string(text));
    EXPECT_EQ(*tokenizer->decode(ids, false), text);
  }

  void expectAll(const std::vector<Case>& cases) {
    for (const Case& item : cases) expectIds(item.text, item.ids, {.addBosEos = false});
  }

  std::string path;
  std::vector<std::byte> image;
  std::optional<genai::Tokenizer> tokenizer;
};

TEST_P(VocabularyTest, recordedTexts) {
  open(GetParam());
  if (!tokenizer) return;
  std::string texts = readFile(path + ".inp");
  std::istringstream lines(readFile(path + ".out"));
  const std::string_view separator = "\n__ggml_vocab_test__\n";
  size_t count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    std::istringstream words(line);
    const std::vector<int32_t> ids{std::istream_iterator<int32_t>(words), {}};
    const std::string text = texts.substr(0, texts.find(separator));
    texts.erase(0, text.size() + separator.size());
    expectIds(text, ids, {.parseSpecial = false, .addBosEos = false});
  }
  EXPECT_GT(count, 40U);
}
INSTANTIATE_TEST_SUITE_P(, VocabularyTest, ::testing::Values("gpt-2", "llama-bpe", "qwen2", "starcoder", "refact"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::erase(name, '-');
                           return name;
                         });

class Gpt2Test : public VocabularyTest {};
class Llama3Test : public VocabularyTest {};

TEST_F(Gpt2Test, trickyTexts) {
  open("gpt-2");
  if (!tokenizer) return;
  expectAll({{" Hello", {18435}},
             {"Hello ", {15496, 220}},
             {"\u00A0Hello", {1849, 15496}},
             {"1234567890", {10163, 2231, 30924, 3829}},
             {"a  b and    c", {64, 220, 275, 290, 220, 220, 220, 269}},
             {" Việt", {16049, 157, 119, 229, 83}}});
}

TEST_F(Llama3Test, trickyTexts) {
  open("llama-bpe");
  if (!tokenizer) return;
  expectAll({{" Hello", {22691}},
             {"Hello ", {9906, 220}},
             {"\u00A0Hello", {4194, 9906}},
             {"1234567890", {4513, 10961, 16474, 15}},
             {"１２３", {20713, 25963, 34617}},
             {"x² ½ Ⅷ", {87, 30556, 220, 27154, 220, 71567, 100}},
             {"こんにちは、世界！", {90115, 5486, 102616, 6447}},
             {"한국어", {112699, 32179}},
             {"٣٤٥٦", {117413, 124079, 124043, 149, 99}},
             {"नमस्ते", {61196, 88344, 79468, 100365, 35470}},
             {"cafe\u0301", {936, 1897, 54939}},
             {"caf\u00E9", {936, 59958}},
             {"a\0b"sv, {64, 188, 65}},
             {"a\r\nb\r\n\r\nc", {64, 319, 65, 881, 66}},
             {"a\rb", {64, 201, 65}},
             {"\uFEFFHello", {3305, 9906}},
             {"a\u200Bb", {64, 16067, 65}},
             {"\t\tif x:\n\t\t\treturn", {197, 748, 865, 512, 298, 862}},
             {"Hello \n\n ", {9906, 4815, 220}},
             {"a  b and    c", {64, 220, 293, 323, 262, 272}},
             {" Việt", {101798}},
             {"hello !", {15339, 758}},
             {"😸", {76460, 116}}});
}

TEST_F(Llama3Test, oneBeginToken) {
  open("llama-bpe");
  if (!tokenizer) return;
  const std::vector<int32_t> expected{128000, 13347};
  EXPECT_EQ(*tokenizer->encode("Hi"), expected);
  EXPECT_EQ(*tokenizer->encode("<|begin_of_text|>Hi"), expected);
  EXPECT_EQ(*tokenizer->encode(""), std::vector<int32_t>{128000});
  EXPECT_TRUE(tokenizer->isEndId(128001));
  EXPECT_TRUE(tokenizer->isEndId(128009));
}

/// Of the real model, which FIRN_QWEN2 names: any GGUF of Qwen2.5.
TEST(Qwen2Test, recordedTexts) {
  const char* path = std::getenv("FIRN_QWEN2");
  if (path == nullptr) GTEST_SKIP() << "FIRN_QWEN2 does not name a GGUF of Qwen2.5";
  const auto image = import::importTokenizer(path);
  ASSERT_TRUE(image.isOk()) << image.status().toString();
  const auto tokenizer = genai::Tokenizer::open(*image);
  ASSERT_TRUE(tokenizer.isOk()) << tokenizer.status().toString();
  std::ifstream file("tests/data/tokenizer/qwen2.json");
  const auto recorded = nlohmann::json::parse(file);
  const auto texts = recorded["texts"].get<std::vector<std::string>>();
  for (size_t i = 0; i < texts.size(); ++i) {
    const auto ids = tokenizer->encode(texts[i]);
    ASSERT_TRUE(ids.isOk()) << ids.status().toString();
    EXPECT_EQ(*ids, recorded["qwen2.5"][i].get<std::vector<int32_t>>()) << ::testing::PrintToString(texts[i]);
  }
}

}  // namespace
}  // namespace firn
