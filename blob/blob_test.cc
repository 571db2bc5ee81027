// Round trip, determinism, and what a reader sees of a file that is not what it was.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <tuple>

#include "base/page_buffer.h"
#include "blob/kv_part.h"
#include "blob/names.h"
#include "blob/npu_task_rules.h"
#include "blob/reader.h"
#include "blob/sample_program.h"
#include "blob/task_op_rules.h"
#include "blob/verifier.h"
#include "blob/writer.h"

namespace firn::blob {
namespace {

struct SampleCase {
  Target target;
  DType kvType;
};

class BlobTest : public testing::TestWithParam<SampleCase> {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("firn_blob_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string& name, const Contents& contents) const {
    const std::string path = (folder / name).string();
    auto writer = Writer::create(path, contents);
    EXPECT_TRUE(writer.isOk()) << writer.status().toString();
    if (!writer.isOk()) return path;
    EXPECT_TRUE(writer->appendWeights(sampleWeights(contents)).isOk());
    const Status status = writer->finish();
    EXPECT_TRUE(status.isOk()) << status.toString();
    return path;
  }

  static Contents sample() { return sampleContents(GetParam().target, SampleSize::kFull, GetParam().kvType); }

  std::filesystem::path folder;
};

std::string contentOf(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

INSTANTIATE_TEST_SUITE_P(Targets, BlobTest,
                         testing::Values(SampleCase{Target::kReference, DType::kF32},
                                         SampleCase{Target::kReference, DType::kF16},
                                         SampleCase{Target::kReference, DType::kI8},
                                         SampleCase{Target::kCpu, DType::kF32}, SampleCase{Target::kCpu, DType::kF16},
                                         SampleCase{Target::kCpu, DType::kI8}, SampleCase{Target::kNpu, DType::kF16}),
                         [](const auto& info) {
                           return std::string(targetName(info.param.target)) + "_" +
                                  std::string(dtypeInfo(info.param.kvType)->name);
                         });

TEST_P(BlobTest, RoundTrip) {
  Contents contents = sample();
  const std::vector<std::byte> tokenizer(333, std::byte{7});
  contents.tokenizer = tokenizer;
  auto opened = Blob::open(write("a.firn", contents));
  ASSERT_TRUE(opened.isOk()) << opened.status().toString();
  const Blob blob = *std::move(opened);
  EXPECT_EQ(blob.ident().target, GetParam().target);
  EXPECT_EQ(blob.ident().modelHash, contents.ident.modelHash);
  EXPECT_EQ(blob.ident().weightsHash, hash128(sampleWeights(contents)));
  EXPECT_EQ(blob.header().kvRows, 128U);
  EXPECT_EQ(blob.header().kvType, GetParam().kvType);
  // A row of i8 is 8 codes and a scale.
  const std::map<DType, uint64_t> rowBytes = {{DType::kF32, 8 * 4}, {DType::kF16, 8 * 2}, {DType::kI8, 8 + 4}};
  EXPECT_EQ(blob.header().kvBytes, 2ULL * 2 * 4 * 128 * rowBytes.at(GetParam().kvType));
  EXPECT_EQ(blob.card(), contents.card);
  EXPECT_EQ(blob.chatTemplate(), contents.chatTemplate);
  EXPECT_EQ(blob.machine(), contents.machine);
  EXPECT_EQ(blob.ident().machineHash,
            contents.machine.empty() ? Hash128{} : hash128(std::as_bytes(std::span(contents.machine))));
  EXPECT_TRUE(std::ranges::equal(blob.tokenizer(), tokenizer));
  EXPECT_TRUE(std::ranges::equal(blob.weights(), sampleWeights(contents)));
  EXPECT_EQ(reinterpret_cast<uintptr_t>(blob.weights().data()) % 64, 0U);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(blob.tokenizer().data()) % 64, 0U);

  const Program& program = contents.program;
  ASSERT_EQ(blob.operands().size(), program.operands.size());
  EXPECT_EQ(std::memcmp(blob.operands().data(), program.operands.data(), blob.operands().size_bytes()), 0);
  ASSERT_EQ(blob.tasks().size(), program.tasks.size());
  EXPECT_EQ(std::memcmp(blob.tasks().data(), program.tasks.data(), blob.tasks().size_bytes()), 0);
  EXPECT_TRUE(std::ranges::equal(blob.callArgs(), program.callArgs));
  EXPECT_TRUE(std::ranges::equal(blob.attrs(), program.attrs));

  for (const char* name : {"prefill.16.64", "prefill.16.128", "generate.128", "head.2"}) {
    const auto index = blob.findEntry(name);
    ASSERT_TRUE(index.has_value()) << name;
    EXPECT_EQ(blob.string(blob.entries()[*index].name), name);
  }
  EXPECT_FALSE(blob.findEntry("generate.64").has_value());
  const EntryRecord& entry = blob.entries()[*blob.findEntry("prefill.16.64")];
  EXPECT_EQ(blob.findSymbol(entry, SymbolKind::kMask)->bytes, 64U);
  EXPECT_EQ(blob.findSymbol(entry, SymbolKind::kLogits), nullptr);
  const BodyRecord& body = blob.bodies()[blob.callsOf(entry)[1].body];
  EXPECT_EQ(blob.string(body.name), "block.16");
  EXPECT_EQ(blob.argsOf(blob.callsOf(entry)[1]).size(), blob.paramsOf(body).size());
  for (const SegmentRecord& segment : blob.segmentsOf(body))
    EXPECT_EQ(blob.lanesOf(segment).size(), blob.ident().lanes);
}

TEST_P(BlobTest, SameContentsSameBytes) {
  EXPECT_EQ(contentOf(write("a.firn", sample())), contentOf(write("b.firn", sample())));
}

TEST_P(BlobTest, ReadelfReadsItWithoutAWarning) {
  if (std::system("readelf --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no readelf";
  const std::string path = write("a.firn", sample());
  FILE* pipe = popen(("LC_ALL=C readelf -hSsn " + path + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) text.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0);
  EXPECT_EQ(text.find("arning"), std::string::npos) << text;
  EXPECT_EQ(text.find("rror"), std::string::npos) << text;
  for (const char* expected :
       {".firn.program", ".firn.weights", "prefill.16.64", "prefill.16.64/mask", "scratch", "firn"}) {
    EXPECT_NE(text.find(expected), std::string::npos) << expected << "\n" << text;
  }
}

TEST_P(BlobTest, TruncatedAtAnyLengthIsRefused) {
  const auto bytes = sampleBlob(GetParam().target, SampleSize::kFull, GetParam().kvType);
  ASSERT_TRUE(bytes.isOk()) << bytes.status().toString();
  ASSERT_TRUE(Blob::fromMemory(*bytes).isOk());
  for (size_t size = 0; size < bytes->size(); ++size) {
    const auto blob = Blob::fromMemory(std::span(*bytes).first(size));
    ASSERT_FALSE(blob.isOk()) << size;
    ASSERT_EQ(blob.status().code(), Code::kCorrupt) << size << blob.status().toString();
  }
  std::vector<std::byte> longer = *bytes;
  longer.push_back(std::byte{0});
  EXPECT_EQ(Blob::fromMemory(longer).status().code(), Code::kCorrupt);
}

TEST_P(BlobTest, AnyFlippedByteOutsideTheWeightsIsRefused) {
  const auto bytes = sampleBlob(GetParam().target, SampleSize::kFull, GetParam().kvType);
  ASSERT_TRUE(bytes.isOk());
  const auto blob = Blob::fromMemory(*bytes);
  ASSERT_TRUE(blob.isOk()) << blob.status().toString();
  const uint64_t outsideBytes = blob->frame().outsideBytes();
  ASSERT_LT(outsideBytes, bytes->size());
  // In place, so that each of some ten thousand tries costs one hash and no memory of its own.
  auto copy = PageBuffer::allocate(outsideBytes);
  ASSERT_TRUE(copy.isOk());
  const auto outside = copy->bytes();
  std::copy_n(bytes->begin(), outsideBytes, outside.begin());
  ASSERT_TRUE(verifyOutside(outside, bytes->size()).isOk());
  for (size_t at = 0; at < outsideBytes; ++at) {
    const std::byte flip = at % 2 == 0 ? std::byte{0x01} : std::byte{0x80};
    outside[at] ^= flip;
    ASSERT_FALSE(verifyOutside(outside, bytes->size()).isOk()) << "byte " << at;
    outside[at] ^= flip;
  }
  // The headers also steer what is copied before it is verified.
  std::vector<std::byte> bad = *bytes;
  for (size_t at = 0; at < kFrameProbeBytes; ++at) {
    bad[at] ^= std::byte{0x10};
    ASSERT_FALSE(Blob::fromMemory(bad).isOk()) << "byte " << at;
    bad[at] ^= std::byte{0x10};
  }
}

TEST_P(BlobTest, OpenNamesTheFile) {
  const std::string path = (folder / "x.firn").string();
  EXPECT_EQ(Blob::open(path).status().code(), Code::kNotFound);
  std::ofstream(path) << "";
  const auto empty = Blob::open(path);
  EXPECT_EQ(empty.status().code(), Code::kCorrupt);
  EXPECT_NE(empty.status().message().find(path), std::string::npos) << empty.status().toString();
  std::ofstream(path) << std::string(5000, 'x');
  EXPECT_NE(Blob::open(path).status().message().find("ELF"), std::string::npos);
  EXPECT_EQ(Blob::open(folder.string()).status().code(), Code::kInvalidArgument);
}

TEST(WriterTest, RefusesWrongWeightsAndABadProgram) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("firn_writer_" + std::to_string(getpid()))).string();
  Contents contents = sampleContents(Target::kCpu);
  {
    auto writer = Writer::create(path, contents);
    ASSERT_TRUE(writer.isOk());
    EXPECT_EQ(writer->finish().code(), Code::kInternal);
    EXPECT_TRUE(writer->padWeightsTo(100).isOk());
    EXPECT_EQ(writer->weightsOffset(), 100U);
    EXPECT_EQ(writer->padWeightsTo(64).code(), Code::kInternal);
    EXPECT_EQ(writer->appendWeights(sampleWeights(contents)).code(), Code::kInternal);
  }
  EXPECT_FALSE(std::filesystem::exists(path));
  contents.program.operands[0].dims[0] += 1;
  const auto bad = Writer::create(path, contents);
  EXPECT_EQ(bad.status().code(), Code::kInternal);
  EXPECT_NE(bad.status().message().find("token_embd"), std::string::npos) << bad.status().toString();
}

TEST(WriterTest, RefusesWhatNoReaderOpens) {
  auto tokenizer = PageBuffer::allocate(kMaxOutsideBytes);  // its pages are never touched
  ASSERT_TRUE(tokenizer.isOk());
  Contents contents = sampleContents(Target::kCpu, SampleSize::kHeadOnly);
  contents.tokenizer = tokenizer->bytes();
  const std::string path =
      (std::filesystem::temp_directory_path() / ("firn_large_" + std::to_string(getpid()))).string();
  const auto writer = Writer::create(path, contents);
  EXPECT_EQ(writer.status().code(), Code::kResourceExhausted);
  EXPECT_NE(writer.status().message().find("536870912"), std::string::npos) << writer.status().toString();
}

TEST(WriterTest, RefusesACardThatIsNoShallowObject) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("firn_card_" + std::to_string(getpid()))).string();
  const auto nested = [](size_t depth) {
    return R"({"[[":")" + std::string(100, '[') + R"(\"[[","a":)" + std::string(depth, '[') + std::string(depth, ']') +
           "}";
  };
  for (const auto& [card, isFine] : {std::pair{nested(31), true},
                                     {nested(32), false},
                                     {nested(100000), false},
                                     {std::string("[]"), false},
                                     {std::string(), false}}) {
    Contents contents = sampleContents(Target::kCpu, SampleSize::kHeadOnly);
    contents.card = card;
    auto writer = Writer::create(path, contents);
    ASSERT_TRUE(writer.isOk()) << writer.status().toString();
    ASSERT_TRUE(writer->appendWeights(sampleWeights(contents)).isOk());
    EXPECT_EQ(writer->finish().isOk(), isFine) << card.substr(0, 200);
  }
  std::filesystem::remove(path);
}

TEST(KvPartTest, RowsThenScalesAndNoOtherType) {
  for (const auto& [type, rows, scales] :
       {std::tuple{DType::kF32, 4U, 0U}, {DType::kF16, 2U, 0U}, {DType::kI8, 1U, 4U}}) {
    const auto part = KvPart::of(type, 3, 128, 20);
    ASSERT_TRUE(part.has_value());
    EXPECT_EQ(part->rowsBytes, uint64_t{3} * 128 * 20 * rows);
    EXPECT_EQ(part->scalesBytes, uint64_t{3} * 128 * scales);
  }
  EXPECT_FALSE(KvPart::of(DType::kBf16, 3, 128, 20).has_value());
  EXPECT_FALSE(KvPart::of(static_cast<DType>(200), 3, 128, 20).has_value());
  EXPECT_FALSE(KvPart::of(DType::kI8, 1ULL << 40, 1ULL << 20, 15).has_value()) << "rows fit in 64 bits, scales do not";
}

/// What no sample has, no lie and no fuzz seed reaches.
TEST(TaskOpTest, EachStandsInASample) {
  std::set<uint16_t> used;
  for (const Target target : {Target::kReference, Target::kCpu, Target::kNpu}) {
    for (const TaskRecord& task : sampleContents(target).program.tasks) used.insert(task.op);
  }
  for (uint16_t number = 0; number < 1000; ++number) {
    const std::string_view name = taskOpName(static_cast<TaskOp>(number));
    EXPECT_EQ(used.contains(number), !name.empty()) << number << " " << name;
  }
}

TEST(StridedOperandTest, WhatDoesNotFitHasNoBytes) {
  const auto bytesOf = [](std::vector<uint32_t> dims) {
    return stridedOperand(Space::kScratch, DType::kF32, dims, 0).bytes;
  };
  EXPECT_EQ(bytesOf({2, 3}), 24U);
  EXPECT_EQ(bytesOf({2, 1U << 31}), 4ULL << 32);
  EXPECT_EQ(bytesOf({2, ~0U}), 8 * uint64_t{~0U});
  EXPECT_EQ(bytesOf({2, 1U << 16, 1U << 16}), 0U) << "a stride of 2^32";
  EXPECT_EQ(bytesOf({2, ~0U, ~0U, ~0U}), 0U) << "a stride beyond 64 bits";
  EXPECT_EQ(bytesOf({1, 1, 1, 1, 1}), 0U) << "five dims";
}

TEST(TaskOpTest, EveryOpHasANameAndARule) {
  uint32_t count = 0;
  for (uint32_t op = 0; op < 0x10000; ++op) {
    const bool hasName = !taskOpName(static_cast<TaskOp>(op)).empty();
    const bool isOfLanes = taskOpRule(static_cast<TaskOp>(op)) != nullptr;
    const bool isOfNpu = npuTaskRule(static_cast<TaskOp>(op)) != nullptr;
    EXPECT_EQ(hasName, isOfLanes != isOfNpu) << op;
    count += hasName ? 1 : 0;
  }
  EXPECT_EQ(count, 58U);
}

/// The lines `offset  hex groups` of the worked example in docs/blob_format.md.
std::vector<std::pair<uint64_t, std::vector<std::byte>>> documentedBytes() {
  std::vector<std::pair<uint64_t, std::vector<std::byte>>> lines;
  std::ifstream in("docs/blob_format.md");
  const std::regex pattern("    ([0-9]+) +((?:[0-9a-f]{4} )+).*");
  std::smatch match;
  for (std::string text; std::getline(in, text);) {
    text += ' ';
    if (!std::regex_match(text, match, pattern)) continue;
    std::vector<std::byte> bytes;
    const std::string hex = match[2];
    for (size_t i = 0; i + 4 < hex.size(); i += 5) {
      for (size_t half : {size_t{0}, size_t{2}}) {
        bytes.push_back(static_cast<std::byte>(std::stoul(hex.substr(i + half, 2), nullptr, 16)));
      }
    }
    lines.emplace_back(std::stoull(match[1]), std::move(bytes));
  }
  return lines;
}

TEST(VerifyWeightsTest, FindsAnyFlippedByte) {
  const auto bytes = sampleBlob(Target::kCpu);
  ASSERT_TRUE(bytes.isOk());
  const auto good = Blob::fromMemory(*bytes);
  ASSERT_TRUE(good.isOk());
  EXPECT_TRUE(good->verifyWeights().isOk());
  const uint64_t first = good->frame().outsideBytes();
  for (uint64_t at : {first, first + 1000, bytes->size() - 1}) {
    std::vector<std::byte> bad = *bytes;
    bad[at] ^= std::byte{1};
    const auto blob = Blob::fromMemory(bad);
    ASSERT_TRUE(blob.isOk()) << "weights are not looked at when loading";
    EXPECT_EQ(blob->verifyWeights().code(), Code::kCorrupt) << at;
  }
}

TEST(BlobFormatPageTest, TheWorkedExampleIsTrue) {
  const auto file = sampleBlob(Target::kReference, SampleSize::kHeadOnly);
  ASSERT_TRUE(file.isOk()) << file.status().toString();
  const auto blob = Blob::fromMemory(*file);
  ASSERT_TRUE(blob.isOk());
  const SectionPlace& place = blob->frame().place(SectionId::kProgram);
  const auto program = std::span(*file).subspan(place.offset, place.bytes);
  const auto lines = documentedBytes();
  ASSERT_GE(lines.size(), 20U);
  for (const auto& [offset, bytes] : lines) {
    if (bytes.size() < 4) continue;
    ASSERT_LE(offset + bytes.size(), program.size());
    EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), program.begin() + static_cast<ptrdiff_t>(offset))) << offset;
  }
}

}  // namespace
}  // namespace firn::blob
