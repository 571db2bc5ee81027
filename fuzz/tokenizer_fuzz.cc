// Arbitrary bytes as a tokenizer image, as a vocabulary, and as text. Byte 0 chooses which.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "blob/tokenizer_image.h"
#include "fuzz/accepted.h"
#include "genai/tokenizer/compose.h"
#include "genai/tokenizer/stream_decoder.h"
#include "genai/tokenizer/tokenizer.h"

namespace firn {
namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

/// The 256 byte tokens in GPT-2's alphabet, some merges, two control tokens and a user-defined one.
struct Vocabulary {
  explicit Vocabulary(std::string pre) {
    unsigned next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      const unsigned c = printable ? byte : next++;
      texts.push_back(c < 0x80 ? std::string(1, static_cast<char>(c))
                               : std::string{static_cast<char>(0xC0 | c >> 6), static_cast<char>(0x80 | (c & 0x3F))});
    }
    for (const char* text : {"aa", "aaaa", "th", "the", "Ġthe", "ĠĠ", "ĊĊ", "æĹ", "æĹ¥"}) texts.emplace_back(text);
    data.types.assign(texts.size(), 1);
    for (const char* text : {"<|im_start|>", "<|im_end|>"}) texts.emplace_back(text);
    data.types.insert(data.types.end(), 2, 3);
    texts.emplace_back("<u>");
    data.types.push_back(4);
    data.tokens.assign(texts.begin(), texts.end());
    data.merges = {"a a", "aa aa", "t h", "th e", "Ġ the", "Ġ Ġ", "Ċ Ċ", "æ Ĺ", "æĹ ¥"};
    data.pre = std::move(pre);
    data.bosId = static_cast<uint32_t>(texts.size() - 3);
    data.eosId = static_cast<uint32_t>(texts.size() - 2);
  }
  std::vector<std::string> texts;
  blob::TokenizerData data;
};

/// A tokenizer over a good image that lives as long as the program.
const genai::Tokenizer& goodTokenizer(const char* pre) {
  static std::vector<std::vector<std::byte>> images;
  auto image = blob::buildTokenizerImage(Vocabulary(pre).data);
  check(image.isOk());
  images.push_back(*std::move(image));
  auto opened = genai::Tokenizer::open(images.back());
  check(opened.isOk());
  return *new genai::Tokenizer(*std::move(opened));
}

/// Encoding, decoding and streaming of `text` agree; with `complete`, every byte has a token and comes back.
void useTokenizer(const genai::Tokenizer& tokenizer, std::string_view text, bool complete) {
  ++fuzz::acceptedInputs;
  for (const bool parseSpecial : {false, true}) {
    const auto ids = tokenizer.encode(text, {.parseSpecial = parseSpecial, .addBosEos = !complete});
    check(ids.isOk());
    const auto decoded = tokenizer.decode(*ids, false);
    check(decoded.isOk());
    if (complete) check(*decoded == text);
    genai::StreamDecoder stream(tokenizer);
    std::string joined;
    for (const int32_t id : *ids) {
      const auto piece = stream.push(id);
      check(piece.isOk());
      joined += *piece;
      if (!parseSpecial && complete)
        check(tokenizer.image().tokenType(static_cast<uint32_t>(id)) != blob::TokenType::kControl);
    }
    genai::Utf8Stream whole;
    check(joined == whole.push(*tokenizer.decode(*ids, true)));
  }
}

/// A rule that composes characters: what comes back is the composed text, of each part between user-defined tokens.
void useComposing(const genai::Tokenizer& tokenizer, std::string_view text) {
  useTokenizer(tokenizer, text, false);
  if (!isUtf8(text) || text.find("<u>") != std::string_view::npos) return;
  const auto expected = genai::composed(text);
  const auto ids = tokenizer.encode(text, {.parseSpecial = false, .addBosEos = false});
  check(expected.isOk() && ids.isOk());
  const auto decoded = tokenizer.decode(*ids, false);
  check(decoded.isOk() && *decoded == *expected);
}

/// Two bytes: the length of a text, which follows; the rest is an image.
void fuzzImage(std::span<const uint8_t> input) {
  if (input.size() < 2) return;
  const size_t textBytes = std::min<size_t>(input[0] | input[1] << 8, input.size() - 2);
  const std::string_view text(reinterpret_cast<const char*>(input.data()) + 2, textBytes);
  const auto image = input.subspan(2 + textBytes);
  std::vector<uint64_t> words((image.size() + 7) / 8);
  if (!image.empty()) std::memcpy(words.data(), image.data(), image.size());
  const auto opened = genai::Tokenizer::open(std::as_bytes(std::span(words)).first(image.size()));
  if (opened) useTokenizer(*opened, text, false);
}

/// Lines: "Ttoken" with T a digit for the type, or "left right" for a merge.
void fuzzVocabulary(std::string_view input) {
  blob::TokenizerData data;
  while (!input.empty()) {
    const std::string_view line = input.substr(0, input.find('\n'));
    input.remove_prefix(std::min(input.size(), line.size() + 1));
    if (!line.empty() && line[0] >= '0' && line[0] <= '9') {
      data.types.push_back(line[0] - '0');
      data.tokens.push_back(line.substr(1));
    } else {
      data.merges.push_back(line);
    }
  }
  const auto image = blob::buildTokenizerImage(data);
  if (!image) return;
  // What the builder makes, the verifier takes.
  const auto opened = genai::Tokenizer::open(*image);
  check(opened.isOk());
  useTokenizer(*opened, "ab<|x|> c\xFF", false);
}

}  // namespace
}  // namespace firn

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  using firn::goodTokenizer;
  static const firn::genai::Tokenizer* const tokenizers[] = {&goodTokenizer("gpt-2"), &goodTokenizer("smollm"),
                                                             &goodTokenizer("llama-bpe")};
  static const firn::genai::Tokenizer& composing = goodTokenizer("qwen2");
  if (size == 0) return 0;
  const std::span<const uint8_t> rest(bytes + 1, size - 1);
  const std::string_view text(reinterpret_cast<const char*>(rest.data()), rest.size());
  switch (const int kind = bytes[0] % 6) {
    case 0: firn::fuzzImage(rest); break;
    case 1: firn::fuzzVocabulary(text); break;
    case 5: firn::useComposing(composing, text); break;
    default: firn::useTokenizer(*tokenizers[kind - 2], text, true);
  }
  return 0;
}
