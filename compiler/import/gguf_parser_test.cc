// Hostile and odd files as bytes, each with its right answer; facts from ggml's docs/gguf.md and tests/test-gguf.cpp
// and from bug reports about other readers.
#include "compiler/import/gguf_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <charconv>
#include <sstream>

#include "base/allocation_counter_for_test.h"
#include "compiler/import/gguf_writer_for_test.h"

namespace firn::import {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// "47475546 03 00*19": hex digits, with `XX*N` for N times the byte XX.
ByteVector hex(const std::string& text) {
  ByteVector out;
  std::istringstream words(text);
  for (std::string word; words >> word;) {
    size_t times = 1;
    if (const size_t star = word.find('*'); star != std::string::npos) {
      times = std::stoul(word.substr(star + 1));
      word.resize(star);
    }
    ByteVector bytes;
    for (size_t i = 0; i < word.size(); i += 2) {
      bytes.push_back(std::byte(std::stoul(word.substr(i, 2), nullptr, 16)));
    }
    for (size_t i = 0; i < times; ++i) out.insert(out.end(), bytes.begin(), bytes.end());
  }
  return out;
}

std::string hexOf(std::string_view text) {
  std::string out;
  for (const char character : text) {
    char digits[3];
    std::snprintf(digits, sizeof digits, "%02x", static_cast<unsigned char>(character));
    out += digits;
  }
  return out;
}

/// The refusal of `file`, within 64 MiB; "accepted" if there is none. The time limit of the tests holds it to an end.
std::string refusal(const ByteVector& file) {
  const uint64_t before = allocatedBytes();
  const Result<GgufFile> result = GgufFile::fromMemory(file, "case.gguf");
  EXPECT_LT(allocatedBytes() - before, 64ULL << 20);
  if (result.isOk()) return "accepted";
  EXPECT_THAT(result.status().message(), HasSubstr("case.gguf: "));
  return result.status().toString();
}

std::string refusal(const std::string& text) { return refusal(hex(text)); }

TEST(GgufHeaderTest, EmptyModelsOfBothVersionsAreRead) {
  const Result<GgufFile> three = GgufFile::fromMemory(hex("4747554603 00*19"), "case.gguf");
  ASSERT_TRUE(three.isOk());
  EXPECT_EQ(three->version(), 3U);
  EXPECT_TRUE(three->tensors().empty());
  const Result<GgufFile> two = GgufFile::fromMemory(hex("4747554602 00*19"), "case.gguf");
  ASSERT_TRUE(two.isOk());
  EXPECT_EQ(two->version(), 2U);
}

TEST(GgufHeaderTest, OtherMagicIsRefused) {
  EXPECT_THAT(refusal("4655474703 00*19"), AllOf(HasSubstr("corrupt"), HasSubstr("'FUGG'"), HasSubstr("'GGUF'")));
}

TEST(GgufHeaderTest, OtherVersionsAreRefusedByNumber) {
  EXPECT_THAT(refusal("47475546 00*20"), AllOf(HasSubstr("version 0"), HasSubstr("2 or 3")));
  EXPECT_THAT(refusal("4747554601 00*19"), HasSubstr("version 1"));
  EXPECT_THAT(refusal("4747554604 00*19"), HasSubstr("version 4"));
}

TEST(GgufHeaderTest, BigEndianIsRefusedAsTheOtherByteOrder) {
  EXPECT_THAT(refusal("4747554600000003 00*16"), AllOf(HasSubstr("byte order"), HasSubstr("big-endian")));
}

TEST(GgufHeaderTest, EveryPrefixIsTruncated) {
  ByteVector header = hex("4747554603 00*19");
  while (!header.empty()) {
    header.pop_back();
    EXPECT_THAT(refusal(header), HasSubstr("truncated")) << header.size();
  }
}

TEST(GgufCountsTest, AbsurdClaimsAreRefusedBeforeAnythingIsAllocated) {
  const uint64_t before = allocatedBytes();
  EXPECT_THAT(refusal("4747554603000000 ff*8 00*8"), HasSubstr("tensors"));
  EXPECT_THAT(refusal("4747554603 00*10 10 00*8"), HasSubstr("tensors"));
  EXPECT_THAT(refusal("4747554603 00*18 10"), HasSubstr("keys"));
  EXPECT_THAT(refusal("474755460300000001 00*15"), HasSubstr("truncated"));
  EXPECT_THAT(refusal("4747554603 00*11 01 00*7 ff*8 616263"), HasSubstr("truncated"));
  EXPECT_THAT(refusal("4747554603 00*11 01 00*7 f8 ff*7 616263"), HasSubstr("truncated"));
  EXPECT_LT(allocatedBytes() - before, 1ULL << 20);
}

TEST(GgufCountsTest, LengthsThatWrapAreRefused) {
  // One key of 14 bytes or more, so that the count itself is possible.
  EXPECT_THAT(refusal("4747554603 00*11 01 00*7 f8 ff*7 61*20"), AllOf(HasSubstr("key 0"), HasSubstr("truncated")));
  EXPECT_THAT(refusal("4747554603 00*11 01 00*7 01 00*7 6108 00*10 80 78"),
              AllOf(HasSubstr("key 'a'"), HasSubstr("truncated")));
}

TEST(GgufCountsTest, ArraysLongerThanTheFileAreRefused) {
  for (const uint32_t element : {0U, 4U, 8U, 12U}) {
    ByteVector payload;
    append<uint32_t>(&payload, element);
    append<uint64_t>(&payload, 1ULL << 61);
    EXPECT_THAT(refusal(GgufWriter().set("big", GgufType::kArray, payload).bytes()),
                AllOf(HasSubstr("key 'big'"), HasSubstr("truncated")));
  }
}

TEST(GgufKeysTest, DuplicatesAndEmptyNamesAreRefused) {
  EXPECT_THAT(refusal("4747554603 00*11 02 00*7 01 00*7 61 0400000001000000 01 00*7 61 0400000002000000"),
              AllOf(HasSubstr("key 'a'"), HasSubstr("twice")));
  EXPECT_THAT(refusal("4747554603 00*11 01 00*15 0400000001000000"), HasSubstr("empty name"));
}

TEST(GgufKeysTest, UnknownValueTypesAreRefused) {
  EXPECT_THAT(refusal("4747554603 00*11 01 00*7 01 00*7 61 0d000000 00*8"), HasSubstr("value type 13"));
  EXPECT_THAT(refusal("4747554603 00*11 01 00*7 01 00*7 61 ffffffff 00*8"), HasSubstr("value type 4294967295"));
  EXPECT_THAT(refusal("4747554603 00*11 01 00*7 01 00*7 61 09000000 0d000000 00*8"), HasSubstr("element type 13"));
  EXPECT_THAT(refusal("4747554603 00*11 01 00*7 01 00*7 61 09000000 09000000 00*8"), HasSubstr("array of arrays"));
}

TEST(GgufKeysTest, BoolsOtherThanZeroAndOneAreRefused) {
  EXPECT_THAT(refusal("4747554603 00*11 01 00*7 01 00*7 61 07000000 02"), AllOf(HasSubstr("'a'"), HasSubstr("bool")));
  EXPECT_EQ(refusal("4747554603 00*11 01 00*7 01 00*7 61 07000000 01"), "accepted");
  EXPECT_THAT(refusal("4747554603 00*11 01 00*7 01 00*7 61 09000000 07000000 02 00*7 0103"), HasSubstr("bool"));
}

TEST(GgufKeysTest, NamesAreMadeSafeForMessages) {
  EXPECT_THAT(refusal("4747554603 00*11 01 00*7 02 00*7 1b5b 0d000000 00*8"), HasSubstr("'\\x1b['"));
}

std::string alignmentKey(const std::string& typeAndValue) {
  return "4747554603 00*11 01 00*7 11 00*7 " + hexOf("general.alignment") + " " + typeAndValue;
}

TEST(GgufAlignmentTest, OnlyPowersOfTwoFromEightAreTaken) {
  EXPECT_THAT(refusal(alignmentKey("04 00*7")), AllOf(HasSubstr("'general.alignment' is 0"), HasSubstr("power")));
  EXPECT_THAT(refusal(alignmentKey("04000000 0c000000")), HasSubstr("is 12"));
  EXPECT_THAT(refusal(alignmentKey("04000000 01000000")), HasSubstr("is 1,"));
  EXPECT_THAT(refusal(alignmentKey("04000000 00000080")), HasSubstr("is 2147483648"));
  EXPECT_EQ(refusal(alignmentKey("04000000 08000000")), "accepted");
}

TEST(GgufAlignmentTest, AnyIntegerTypeButNoOther) {
  EXPECT_EQ(refusal(alignmentKey("0a000000 20 00*7")), "accepted");
  EXPECT_THAT(refusal(alignmentKey("08000000 02 00*7 3332")), AllOf(HasSubstr("string"), HasSubstr("integer")));
  EXPECT_THAT(refusal(alignmentKey("09000000 04000000 01 00*7 20000000")), HasSubstr("array"));
}

TEST(GgufAlignmentTest, SixtyFourMovesTheData) {
  const ByteVector file = hex("474755460300000001 00*7 01 00*7 11 00*7 " + hexOf("general.alignment") +
                              " 0400000040000000 01 00*7 740100000010 00*121");
  const Result<GgufFile> read = GgufFile::fromMemory(file, "case.gguf");
  ASSERT_TRUE(read.isOk()) << read.status().toString();
  ASSERT_EQ(read->tensors().size(), 1U);
  EXPECT_EQ(read->tensors()[0].bytes.data() - file.data(), 128);
  EXPECT_EQ(read->tensors()[0].bytes.size(), 64U);
}

std::string oneTensor(const std::string& typeHex, uint64_t rowLength) {
  ByteVector dim;
  append(&dim, rowLength);
  std::string digits;
  for (const std::byte byte : dim) digits += hexOf({reinterpret_cast<const char*>(&byte), 1});
  return "474755460300000001 00*15 01 00*7 74 01000000 " + digits + " " + typeHex + " 00*8 00*300";
}

TEST(GgufTensorsTest, TypesOutsideTheFormatAreRefusedByNumber) {
  EXPECT_THAT(refusal(oneTensor("ffffffff", 32)), AllOf(HasSubstr("'t'"), HasSubstr("4294967295")));
  EXPECT_THAT(refusal(oneTensor("ffffff7f", 32)), AllOf(HasSubstr("'t'"), HasSubstr("2147483647")));
  EXPECT_THAT(refusal(oneTensor("04000000", 32)), AllOf(HasSubstr("'t'"), HasSubstr("number 4"), HasSubstr("q4_0")));
  EXPECT_EQ(refusal(oneTensor("02000000", 32)), "accepted");
}

TEST(GgufTensorsTest, RowsOfAPartOfABlockAreRefused) {
  EXPECT_THAT(refusal("474755460300000001 00*15 01 00*7 74010000001f 00*7 02 00*82"),
              AllOf(HasSubstr("'t'"), HasSubstr("31"), HasSubstr("q4_0"), HasSubstr("32")));
}

TEST(GgufTensorsTest, RanksAndDimensionsAreChecked) {
  GgufWriter file;
  EXPECT_THAT(refusal(GgufWriter(file).add({"t", {}, 0, ByteVector(64), {}}).bytes()), HasSubstr("0 dimensions"));
  EXPECT_THAT(refusal(GgufWriter(file).add({"t", {1, 1, 1, 1, 1}, 0, ByteVector(64), {}}).bytes()),
              HasSubstr("5 dimensions"));
  EXPECT_THAT(refusal(GgufWriter(file).add({"t", {4, 0}, 0, ByteVector(64), {}}).bytes()), HasSubstr("dimension 1"));
  EXPECT_THAT(refusal(GgufWriter(file).add({"t", {1ULL << 62, 8}, 0, ByteVector(64), {}}).bytes()),
              HasSubstr("more weights"));
  // The product of these wraps to 4.
  EXPECT_THAT(refusal(GgufWriter(file).add({"t", {4, 1ULL << 32, (1ULL << 32) + 1}, 0, ByteVector(64), {}}).bytes()),
              HasSubstr("more weights"));
}

TEST(GgufTensorsTest, OffsetsMustBeAlignedInsideAndDisjoint) {
  GgufWriter file;
  file.tensor("a", {16}).tensor("b", {16});
  EXPECT_EQ(refusal(file.bytes()), "accepted");
  GgufWriter odd = file;
  odd.find("b")->offset = 65;
  EXPECT_THAT(refusal(odd.bytes()), AllOf(HasSubstr("'b'"), HasSubstr("65"), HasSubstr("alignment 32")));
  GgufWriter beyond = file;
  beyond.find("b")->offset = 96;
  EXPECT_THAT(refusal(beyond.bytes()), AllOf(HasSubstr("'b'"), HasSubstr("truncated")));
  GgufWriter far = file;
  far.find("b")->offset = ~uint64_t{31};
  EXPECT_THAT(refusal(far.bytes()), AllOf(HasSubstr("'b'"), HasSubstr("truncated")));
  GgufWriter overlapping = file;
  overlapping.find("b")->offset = 32;
  EXPECT_THAT(refusal(overlapping.bytes()), AllOf(HasSubstr("'a'"), HasSubstr("'b'"), HasSubstr("overlap")));
}

TEST(GgufTensorsTest, NamesOfSixtyFourBytesAreTheLongest) {
  const auto named = [](const std::string& name) { return GgufWriter().tensor(name, {4}).bytes(); };
  EXPECT_EQ(refusal(named(std::string(63, 'n'))), "accepted");
  EXPECT_EQ(refusal(named(std::string(64, 'n'))), "accepted");
  EXPECT_THAT(refusal(named(std::string(65, 'n'))), HasSubstr("65 bytes"));
  EXPECT_THAT(refusal(named("")), HasSubstr("empty name"));
}

TEST(GgufTensorsTest, DuplicateNamesAreRefused) {
  GgufWriter file;
  file.add({"same", {4}, 0, ByteVector(16), {}}).add({"same", {4}, 0, ByteVector(16), {}});
  EXPECT_THAT(refusal(file.bytes()), AllOf(HasSubstr("'same'"), HasSubstr("twice")));
}

TEST(GgufTensorsTest, ANulInANameIsPartOfIt) {
  const std::string name("a\0b", 3);
  const ByteVector bytes = GgufWriter().tensor(name, {4}).tensor("a", {4}).bytes();
  const Result<GgufFile> file = GgufFile::fromMemory(bytes, "case.gguf");
  ASSERT_TRUE(file.isOk()) << file.status().toString();
  ASSERT_NE(file->findTensor(name), nullptr);
  EXPECT_EQ(file->findTensor(name)->name.size(), 3U);
  EXPECT_NE(file->findTensor(name), file->findTensor("a"));
}

TEST(GgufValuesTest, IntegersOfAnyWidthAreOne) {
  GgufWriter writer;
  writer.u32("u32", 7).u64("u64", 7).u16("u16", 7).i32("i32", 7).i32("negative", -7).f32("f32", 7.5F);
  writer.u64("huge", ~0ULL).text("text", "seven").boolean("yes", true).texts("texts", {"x", "", "yz"});
  const ByteVector bytes = writer.bytes();
  const Result<GgufFile> file = GgufFile::fromMemory(bytes, "case.gguf");
  ASSERT_TRUE(file.isOk()) << file.status().toString();
  for (const char* key : {"u32", "u64", "u16", "i32"}) EXPECT_EQ(**file->getU64(key), 7U) << key;
  EXPECT_EQ(**file->getU64("huge"), ~0ULL);
  EXPECT_EQ(*file->getU64("absent"), std::nullopt);
  EXPECT_THAT(file->getU64("negative").status().message(), AllOf(HasSubstr("'negative'"), HasSubstr("-7")));
  EXPECT_THAT(file->getU64("text").status().message(), AllOf(HasSubstr("string"), HasSubstr("integer")));
  EXPECT_EQ(**file->getFloat("f32"), 7.5);
  EXPECT_FALSE(file->getFloat("u32").isOk());
  EXPECT_EQ(**file->getString("text"), "seven");
  EXPECT_EQ(**file->getBool("yes"), true);
  const GgufStrings texts = **file->getStrings("texts");
  EXPECT_THAT(std::vector<std::string_view>(texts.begin(), texts.end()), ::testing::ElementsAre("x", "", "yz"));
}

TEST(GgufRobustnessTest, EveryTruncationIsRefusedAndEveryFlippedByteIsSurvived) {
  const ByteVector whole = tinyLlama().bytes();
  ASSERT_EQ(refusal(whole), "accepted");
  ByteVector cut = whole;
  while (!cut.empty()) {
    cut.pop_back();
    EXPECT_NE(GgufFile::fromMemory(cut, "case.gguf").isOk(), true) << cut.size();
  }
  for (size_t i = 0; i < whole.size(); ++i) {
    for (const unsigned flip : {0x01U, 0x80U, 0xFFU}) {
      ByteVector flipped = whole;
      flipped[i] ^= std::byte(flip);
      const Result<GgufFile> file = GgufFile::fromMemory(flipped, "case.gguf");
      if (file.isOk()) {
        for (const GgufTensor& tensor : file->tensors()) ASSERT_LE(tensor.bytes.size(), whole.size());
      }
    }
  }
}

}  // namespace
}  // namespace firn::import
