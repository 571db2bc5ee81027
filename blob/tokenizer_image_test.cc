#include "blob/tokenizer_image.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <utility>

namespace firn::blob {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Bytes at an 8-byte aligned address, as the format asks.
class AlignedImage {
 public:
  explicit AlignedImage(std::span<const std::byte> bytes) : words_((bytes.size() + 7) / 8), size_(bytes.size()) {
    std::memcpy(words_.data(), bytes.data(), bytes.size());
  }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(words_)).first(size_); }
  TokenizerHeader& header() { return *reinterpret_cast<TokenizerHeader*>(words_.data()); }

 private:
  std::vector<uint64_t> words_;
  size_t size_;
};

/// a b c Ġ ab abc é-as-two-bytes <|im_end|> <|x|> [user]
TokenizerData smallData() {
  TokenizerData data;
  data.pre = "gpt-2";
  data.tokens = {"a", "b", "c", "Ġ", "ab", "abc", "Ã©", "<|im_end|>", "<|x|>", "[user]", "Ġa"};
  data.types = {1, 1, 1, 1, 1, 1, 1, 3, 3, 4, 1};
  data.merges = {"a b", "ab c", "Ġ a"};
  data.bosId = 8;
  data.eosId = 8;
  return data;
}

std::vector<std::byte> build(const TokenizerData& data) {
  auto image = buildTokenizerImage(data);
  EXPECT_TRUE(image.isOk()) << image.status().toString();
  return image ? *std::move(image) : std::vector<std::byte>();
}

TEST(TokenizerImageTest, holdsWhatItWasBuiltFrom) {
  const std::vector<std::byte> bytes = build(smallData());
  auto opened = TokenizerImage::open(bytes);
  ASSERT_TRUE(opened.isOk()) << opened.status().toString();
  const TokenizerImage& image = *opened;
  EXPECT_EQ(image.tokenCount(), 11U);
  EXPECT_EQ(image.preName(), "gpt-2");
  EXPECT_EQ(image.tokenBytes(3), " ");
  EXPECT_EQ(image.tokenBytes(6), "\xC3\xA9");
  EXPECT_EQ(image.tokenBytes(7), "<|im_end|>");
  EXPECT_EQ(image.tokenType(9), TokenType::kUserDefined);
  for (uint32_t id = 0; id < image.tokenCount(); ++id) EXPECT_EQ(image.findToken(image.tokenBytes(id)), id);
  EXPECT_EQ(image.findToken("abcd"), kNoToken);
  EXPECT_EQ(image.findToken(""), kNoToken);
  EXPECT_EQ(image.byteToken('b'), 1U);
  EXPECT_EQ(image.byteToken(' '), 3U);
  EXPECT_EQ(image.byteToken(0xC3), kNoToken);
  const MergeSlot* merge = image.findMerge(4, 2);
  ASSERT_NE(merge, nullptr);
  EXPECT_EQ(merge->merged, 5U);
  EXPECT_EQ(merge->rank, 1U);
  EXPECT_EQ(image.findMerge(2, 4), nullptr);
  EXPECT_THAT(image.specials(), ElementsAre(7, 8, 9));
  EXPECT_THAT(image.controlIds(), ElementsAre(7, 8));
  // The eos key and the known end of turn.
  EXPECT_THAT(image.endIds(), ElementsAre(7, 8));
  EXPECT_TRUE(image.isEndId(7));
  EXPECT_FALSE(image.isEndId(0));
}

TEST(TokenizerImageTest, sameDataSameBytes) { EXPECT_EQ(build(smallData()), build(smallData())); }

TEST(TokenizerImageTest, repeatedMergesCostNothing) {
  TokenizerData data = smallData();
  const std::vector<std::byte> expected = build(data);
  data.merges.insert(data.merges.end(), 10000, "ab c");
  EXPECT_EQ(build(data), expected);
  data.merges.insert(data.merges.begin(), 10000, "a b");
  EXPECT_EQ(build(data).size(), expected.size());
}

TEST(TokenizerImageTest, firstOfEqualTokensIsFoundAndBothDecode) {
  TokenizerData data = smallData();
  data.tokens.push_back("ab");
  data.types.push_back(1);
  data.tokens.push_back("<|x|>");
  data.types.push_back(3);
  const auto bytes = build(data);
  auto image = TokenizerImage::open(bytes);
  ASSERT_TRUE(image.isOk()) << image.status().toString();
  EXPECT_EQ(image->findToken("ab"), 4U);
  EXPECT_EQ(image->tokenBytes(11), "ab");
  EXPECT_THAT(image->specials(), ElementsAre(7, 8, 9));
  EXPECT_THAT(image->controlIds(), ElementsAre(7, 8, 12));
}

TEST(TokenizerImageTest, noMergeMakesAControlToken) {
  TokenizerData data = smallData();
  data.tokens = {"<", ">", "<>"};
  data.types = {1, 1, 3};
  data.merges = {"< >"};
  data.bosId.reset();
  data.eosId.reset();
  const auto bytes = build(data);
  auto image = TokenizerImage::open(bytes);
  ASSERT_TRUE(image.isOk()) << image.status().toString();
  EXPECT_EQ(image->findMerge(0, 1), nullptr);
}

struct BadData {
  const char* message;
  void (*change)(TokenizerData&);
};

TEST(TokenizerImageTest, refusesBadDataByName) {
  const BadData cases[] = {
      {"unsupported tokenizer 'llama'", [](TokenizerData& d) { d.model = "llama"; }},
      {"merge 3 'a z' needs 'z', which is no token", [](TokenizerData& d) { d.merges.push_back("a z"); }},
      {"merge 3 'b c' needs 'bc'", [](TokenizerData& d) { d.merges.push_back("b c"); }},
      {"is not two tokens", [](TokenizerData& d) { d.merges.push_back("ab"); }},
      {"is not two tokens", [](TokenizerData& d) { d.merges.push_back("a b c"); }},
      {"needs ''", [](TokenizerData& d) { d.merges.push_back(" a"); }},
      {"10 types of 11 tokens", [](TokenizerData& d) { d.types.pop_back(); }},
      {"token 0 has type 9", [](TokenizerData& d) { d.types[0] = 9; }},
      {"token 0 has type -1", [](TokenizerData& d) { d.types[0] = -1; }},
      {"bos_token_id: id 11 of 11", [](TokenizerData& d) { d.bosId = 11; }},
      {"end id 4294967295 of 11", [](TokenizerData& d) { d.endIds = {kNoToken}; }},
      {"0 tokens", [](TokenizerData& d) { d.tokens.clear(); }},
      {"tokenizer.ggml.pre", [](TokenizerData& d) { d.pre = std::string(32, 'x'); }},
      {"tokenizer.ggml.pre", [](TokenizerData& d) { d.pre = std::string("a\0b", 3); }},
  };
  for (const BadData& bad : cases) {
    TokenizerData data = smallData();
    bad.change(data);
    const auto image = buildTokenizerImage(data);
    ASSERT_FALSE(image.isOk()) << bad.message;
    EXPECT_THAT(image.status().message(), HasSubstr(bad.message));
  }
}

TEST(TokenizerImageTest, refusesALongSpecial) {
  TokenizerData data = smallData();
  const std::string atLimit(kMaxSpecialBytes, 's');
  const std::string overLimit(kMaxSpecialBytes + 1, 's');
  data.tokens.push_back(atLimit);
  data.types.push_back(4);
  EXPECT_TRUE(buildTokenizerImage(data).isOk());
  data.tokens.back() = overLimit;
  EXPECT_EQ(buildTokenizerImage(data).status().code(), Code::kResourceExhausted);
}

TEST(TokenizerImageTest, refusesALongMergedToken) {
  // The verifier compares the text of every merge: short texts keep that in proportion to the image.
  TokenizerData data = smallData();
  const std::string half(kMaxMergedBytes / 2, 'x');
  const std::string halfAndOne = half + "y", whole = half + half, wholeAndOne = whole + "y";
  const std::string good = half + " " + half, bad = half + " " + halfAndOne;
  data.tokens = {half, halfAndOne, whole, wholeAndOne};
  data.types = {1, 1, 1, 1};
  data.merges = {good};
  data.bosId = data.eosId = 0;
  const std::vector<std::byte> atLimit = build(data);
  data.merges.push_back(bad);
  EXPECT_EQ(buildTokenizerImage(data).status().code(), Code::kResourceExhausted);

  AlignedImage image(atLimit);
  ASSERT_TRUE(TokenizerImage::open(image.bytes()).isOk());
  auto* slots = reinterpret_cast<MergeSlot*>(image.bytes().data() + image.header().mergeSlots.offset);
  for (uint32_t i = 0; i < image.header().mergeSlots.count; ++i) {
    if (slots[i].left != kNoToken) slots[i] = {0, 1, 0, 3};
  }
  EXPECT_THAT(TokenizerImage::open(image.bytes()).status().message(), HasSubstr("expected at most 1024"));
}

TEST(TokenizerImageTest, refusesOtherVersions) {
  AlignedImage image(build(smallData()));
  image.header().version = 2;
  EXPECT_EQ(TokenizerImage::open(image.bytes()).status().code(), Code::kVersionMismatch);
}

TEST(TokenizerImageTest, refusesEveryTruncation) {
  const auto bytes = build(smallData());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(TokenizerImage::open(std::span(bytes).first(size)).isOk()) << size;
  }
}

struct BadField {
  const char* name;
  void (*change)(TokenizerHeader&, std::byte* image);
};

TEST(TokenizerImageTest, refusesBadFields) {
  const BadField cases[] = {
      {"magic", [](TokenizerHeader& h, std::byte*) { h.magic ^= 1; }},
      {"size", [](TokenizerHeader& h, std::byte*) { h.imageBytes -= 8; }},
      {"no tokens", [](TokenizerHeader& h, std::byte*) { h.tokenCount = 0; }},
      {"one token more", [](TokenizerHeader& h, std::byte*) { ++h.tokenCount; }},
      {"name without end", [](TokenizerHeader& h, std::byte*) { h.preName.fill('x'); }},
      {"name with junk after its end", [](TokenizerHeader& h, std::byte*) { h.modelName.back() = 'x'; }},
      {"bos", [](TokenizerHeader& h, std::byte*) { h.bosId = h.tokenCount; }},
      {"choice", [](TokenizerHeader& h, std::byte*) { h.addBos = static_cast<Choice>(3); }},
      {"probe", [](TokenizerHeader& h, std::byte*) { h.maxProbe = kMaxProbe + 1; }},
      {"offset beyond", [](TokenizerHeader& h, std::byte*) { h.specials.offset = 0xFFFFFFF8; }},
      {"offset in header", [](TokenizerHeader& h, std::byte*) { h.endIds.offset = 8; }},
      {"odd offset", [](TokenizerHeader& h, std::byte*) { h.endIds.offset += 1; }},
      {"count", [](TokenizerHeader& h, std::byte*) { h.mergeSlots.count = 0x40000000; }},
      {"no hash table", [](TokenizerHeader& h, std::byte*) { h.mergeSlots.count = 0; }},
      {"hash size", [](TokenizerHeader& h, std::byte*) { h.tokenSlots.count -= 1; }},
      {"byte tokens", [](TokenizerHeader& h, std::byte*) { h.byteTokens.count = 255; }},
      {"token offset", [](TokenizerHeader& h, std::byte* i) { i[h.tokenOffsets.offset + 7] = std::byte{0x80}; }},
      {"first offset", [](TokenizerHeader& h, std::byte* i) { i[h.tokenOffsets.offset] = std::byte{1}; }},
      {"token type", [](TokenizerHeader& h, std::byte* i) { i[h.tokenTypes.offset] = std::byte{0}; }},
      {"byte token", [](TokenizerHeader& h, std::byte* i) { i[h.byteTokens.offset] = std::byte{0}; }},
      {"special id", [](TokenizerHeader& h, std::byte* i) { i[h.specials.offset + 3] = std::byte{1}; }},
      {"ordinary special", [](TokenizerHeader& h, std::byte* i) { i[h.specials.offset] = std::byte{0}; }},
      {"special order", [](TokenizerHeader& h, std::byte* i) { i[h.specials.offset] = std::byte{8}; }},
      {"end id", [](TokenizerHeader& h, std::byte* i) { i[h.endIds.offset + 4] = std::byte{200}; }},
      {"end order", [](TokenizerHeader& h, std::byte* i) { i[h.endIds.offset + 4] = std::byte{7}; }},
      {"control id", [](TokenizerHeader& h, std::byte* i) { i[h.controlIds.offset + 3] = std::byte{1}; }},
      {"ordinary control id", [](TokenizerHeader& h, std::byte* i) { i[h.controlIds.offset] = std::byte{0}; }},
      {"control id left out", [](TokenizerHeader& h, std::byte* i) { i[h.controlIds.offset + 4] = std::byte{9}; }},
      {"control type", [](TokenizerHeader& h, std::byte* i) { i[h.tokenTypes.offset + 9] = std::byte{3}; }},
      {"tables that overlap", [](TokenizerHeader& h, std::byte*) { h.endIds.offset = h.controlIds.offset; }},
      {"tables in another order", [](TokenizerHeader& h, std::byte*) { std::swap(h.endIds, h.controlIds); }},
      {"a gap", [](TokenizerHeader& h, std::byte*) { h.controlIds = {h.controlIds.offset + 8, 0}; }},
      {"bytes behind the tables", [](TokenizerHeader& h, std::byte*) { h.controlIds.count = 0; }},
      {"padding", [](TokenizerHeader& h, std::byte* i) { i[h.tokenTypes.offset + h.tokenCount] = std::byte{1}; }},
      {"reserved", [](TokenizerHeader& h, std::byte*) { h.reserved0 = 1; }},
  };
  const auto bytes = build(smallData());
  for (const BadField& bad : cases) {
    AlignedImage image(bytes);
    ASSERT_TRUE(TokenizerImage::open(image.bytes()).isOk());
    bad.change(image.header(), image.bytes().data());
    EXPECT_FALSE(TokenizerImage::open(image.bytes()).isOk()) << bad.name;
  }
}

TEST(TokenizerImageTest, refusesMergesThatDoNotAddUp) {
  AlignedImage image(build(smallData()));
  const TokenizerHeader& header = image.header();
  auto* slots = reinterpret_cast<MergeSlot*>(image.bytes().data() + header.mergeSlots.offset);
  for (uint32_t i = 0; i < header.mergeSlots.count; ++i) {
    if (slots[i].left == kNoToken) continue;
    const MergeSlot good = slots[i];
    slots[i].merged = 7;
    EXPECT_FALSE(TokenizerImage::open(image.bytes()).isOk());
    slots[i].merged = header.tokenCount;
    EXPECT_FALSE(TokenizerImage::open(image.bytes()).isOk());
    slots[i] = good;
    slots[i].right = kNoToken;
    EXPECT_FALSE(TokenizerImage::open(image.bytes()).isOk());
    slots[i] = good;
  }
  EXPECT_TRUE(TokenizerImage::open(image.bytes()).isOk());
}

TEST(TokenizerImageTest, refusesEmptySlotsThatHoldAnything) {
  AlignedImage image(build(smallData()));
  const TokenizerHeader& header = image.header();
  auto* slots = reinterpret_cast<MergeSlot*>(image.bytes().data() + header.mergeSlots.offset);
  MergeSlot* empty =
      std::find_if(slots, slots + header.mergeSlots.count, [](const MergeSlot& slot) { return slot.left == kNoToken; });
  ASSERT_NE(empty, slots + header.mergeSlots.count);
  for (uint32_t MergeSlot::* field : {&MergeSlot::right, &MergeSlot::rank, &MergeSlot::merged}) {
    empty->*field = 0;
    EXPECT_THAT(TokenizerImage::open(image.bytes()).status().message(), HasSubstr("empty merge slot"));
    empty->*field = kNoToken;
  }
  EXPECT_TRUE(TokenizerImage::open(image.bytes()).isOk());
}

TEST(TokenizerImageTest, flippedBytesAreRefusedOrHarmless) {
  const auto bytes = build(smallData());
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (const unsigned bit : {0U, 3U, 7U}) {
      AlignedImage image(bytes);
      image.bytes()[at] ^= static_cast<std::byte>(1U << bit);
      const auto opened = TokenizerImage::open(image.bytes());
      if (!opened) continue;
      // Under a sanitizer these would tell of a read outside the image.
      for (const char* text : {"a", "abc", "<|x|>", "none"}) {
        const uint32_t id = opened->findToken(text);
        if (id != kNoToken) EXPECT_LT(id, opened->tokenCount());
      }
      for (uint32_t id = 0; id < opened->tokenCount(); ++id) {
        const MergeSlot* merge = opened->findMerge(id, 1);
        if (merge != nullptr) EXPECT_LT(merge->merged, opened->tokenCount());
      }
    }
  }
}

TEST(TokenizerImageTest, fullHashTablesDoNotLoop) {
  AlignedImage image(build(smallData()));
  const TokenizerHeader& header = image.header();
  std::memset(image.bytes().data() + header.tokenSlots.offset, 0, size_t{4} * header.tokenSlots.count);
  auto opened = TokenizerImage::open(image.bytes());
  ASSERT_TRUE(opened.isOk());
  EXPECT_EQ(opened->findToken("not there"), kNoToken);
}

TEST(TokenizerImageTest, manyTokensAreAllFound) {
  std::vector<std::string> texts;
  std::mt19937 random(1);
  for (int i = 0; i < 20000; ++i) texts.push_back("t" + std::to_string(i) + std::string(random() % 9, 'x'));
  TokenizerData data;
  data.tokens.assign(texts.begin(), texts.end());
  const auto bytes = build(data);
  auto image = TokenizerImage::open(bytes);
  ASSERT_TRUE(image.isOk()) << image.status().toString();
  for (uint32_t id = 0; id < texts.size(); ++id) EXPECT_EQ(image->findToken(texts[id]), id);
  EXPECT_LE(image->header().maxProbe, 64U);
}

}  // namespace
}  // namespace firn::blob
