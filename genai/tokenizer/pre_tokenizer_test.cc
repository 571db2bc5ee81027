#include "genai/tokenizer/pre_tokenizer.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace firn::genai {
namespace {

/// A text and its pieces by pre-tokenizer, recorded from Hugging Face tokenizers 0.23.
struct Pieces {
  std::string_view text;
  std::vector<std::string> gpt2;
  std::vector<std::string> smollm;
  std::vector<std::string> llama3;
  std::vector<std::string> qwen2 = llama3;
};

std::vector<Pieces> recordedPieces() {
  return {
      {
          "!\302\205!?\302\205 ",
          {"!", "\302\205", "!?", "\302\205 "},
          {"!", "\302\205", "!?", "\302\205 "},
          {"!", "\302\205", "!?", "\302\205 "},
      },
      {
          "a\302\205b \302\205 !",
          {"a", "\302\205", "b", " \302\205", " !"},
          {"a", "\302\205", "b", " \302\205", " !"},
          {"a", "\302\205b", " \302\205", " !"},
      },
      {
          "a \u180E\u180E!",
          {"a", " \u180E\u180E!"},
          {"a", " \u180E\u180E!"},
          {"a", " \u180E\u180E!"},
      },
      {
          "  \u00A0x\u3000\u3000 y",
          {"  ", "\u00A0", "x", "\u3000\u3000", " y"},
          {"  ", "\u00A0", "x", "\u3000\u3000", " y"},
          {"  ", "\u00A0x", "\u3000\u3000", " y"},
      },
      {
          "I'm IT'S '\u017F",
          {"I", "'m", " IT", "'", "S", " '", "\u017F"},
          {"I", "'m", " IT", "'", "S", " '", "\u017F"},
          {"I", "'m", " IT", "'S", " '", "\u017F"},
      },
      {
          "  12 x\u00B2 \u2167\u0663",
          {" ", " 12", " x", "\u00B2", " \u2167\u0663"},
          {"  ", "1", "2", " x", "\u00B2", " ", "\u2167", "\u0663"},
          {" ", " ", "12", " x", "\u00B2", " ", "\u2167\u0663"},
          {" ", " ", "1", "2", " x", "\u00B2", " ", "\u2167", "\u0663"},
      },
      {
          "x  \n\n  y!\r\n\r\nz  ",
          {"x", "  \n\n ", " y", "!", "\r\n\r", "\n", "z", "  "},
          {"x", "  \n\n ", " y", "!", "\r\n\r", "\n", "z", "  "},
          {"x", "  \n\n", " ", " y", "!\r\n\r\n", "z", "  "},
      },
      {
          "e\u0301 \u0928\u092E\u0938\u094D\u0924\u0947",
          {"e", "\u0301", " \u0928\u092E\u0938", "\u094D", "\u0924", "\u0947"},
          {"e", "\u0301", " \u0928\u092E\u0938", "\u094D", "\u0924", "\u0947"},
          {"e", "\u0301", " \u0928\u092E\u0938", "\u094D\u0924", "\u0947"},
      },
      {
          "(foo) [bar]",
          {"(", "foo", ")", " [", "bar", "]"},
          {"(", "foo", ")", " [", "bar", "]"},
          {"(foo", ")", " [", "bar", "]"},
      },
      {
          "\u2028\u2029x\u200Bx",
          {"\u2028", "\u2029", "x", "\u200B", "x"},
          {"\u2028", "\u2029", "x", "\u200B", "x"},
          {"\u2028", "\u2029x", "\u200Bx"},
      },
      {
          "\t\tif x:\n\t\t\treturn",
          {"\t", "\t", "if", " x", ":", "\n\t\t", "\t", "return"},
          {"\t", "\t", "if", " x", ":", "\n\t\t", "\t", "return"},
          {"\t", "\tif", " x", ":\n", "\t\t", "\treturn"},
      },
  };
}

std::vector<std::string> split(std::string_view name, std::string_view text) {
  auto row = findPreTokenizer(name);
  EXPECT_TRUE(row.isOk());
  auto preTokenizer = PreTokenizer::make(**row);
  EXPECT_TRUE(preTokenizer.isOk());
  std::vector<std::string> pieces;
  const Status status = preTokenizer->split(text, [&](std::string_view piece) { pieces.emplace_back(piece); });
  EXPECT_TRUE(status.isOk()) << status.toString();
  return pieces;
}

TEST(PreTokenizerTest, splitsAsHuggingFace) {
  for (const Pieces& pieces : recordedPieces()) {
    EXPECT_EQ(split("gpt-2", pieces.text), pieces.gpt2);
    EXPECT_EQ(split("smollm", pieces.text), pieces.smollm);
    EXPECT_EQ(split("llama-bpe", pieces.text), pieces.llama3);
    EXPECT_EQ(split("qwen2", pieces.text), pieces.qwen2);
  }
}

TEST(PreTokenizerTest, aRunOfSpacesIsSplitWhateverItsLength) {
  // Over PCRE2's default limit of 10 million steps a match.
  const std::string spaces(12U << 20, ' ');
  EXPECT_EQ(split("llama-bpe", spaces + "x").size(), 2U);
}

TEST(PreTokenizerTest, knowsNamesExactly) {
  EXPECT_TRUE(findPreTokenizer("").isOk());
  std::istringstream known(blob::splitRuleNames());
  for (std::string name; std::getline(known >> std::ws, name, ',');) {
    const auto row = findPreTokenizer(name);
    ASSERT_TRUE(row.isOk()) << name;
    EXPECT_EQ((*row)->rule, blob::splitRuleFromName(name)) << name;
    EXPECT_TRUE(PreTokenizer::make(**row).isOk()) << name;
  }
  for (const char* name : {"gpt", "llama", " ", "gpt-2 gpt2", "gpt-2,", "qwen", "QWEN2", "mpt"}) {
    const Status refused = findPreTokenizer(name).status();
    EXPECT_EQ(refused.code(), Code::kUnsupported) << name;
    EXPECT_NE(refused.message().find("llama-bpe"), std::string::npos) << "says which it knows";
  }
}

}  // namespace
}  // namespace firn::genai
