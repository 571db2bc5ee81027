// A saved session comes back with the same bits or not at all.
#include "engine/snapshot.h"

#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>

#include "base/align.h"
#include "base/quote.h"
#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

using Ids = std::vector<int32_t>;
using Bytes = std::vector<char>;

class SnapshotTest : public SessionTest {
 protected:
  SnapshotTest() {
    path_ =
        (std::filesystem::temp_directory_path() / ("firn_snapshot_" + std::to_string(getpid()) + "_" + GetParam().name))
            .string();
  }
  ~SnapshotTest() override { std::filesystem::remove(path_); }

  Bytes content() const {
    std::ifstream in(path_, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void replace(const Bytes& bytes) const {
    std::ofstream(path_, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  /// The file with a changed header and the hash that fits.
  void edit(const Bytes& bytes, const std::function<void(SnapshotHeader&)>& change) const {
    Bytes edited = bytes;
    SnapshotHeader header;
    std::memcpy(&header, edited.data(), sizeof(header));
    change(header);
    std::memcpy(edited.data(), &header, sizeof(header));
    sealSnapshot(std::as_writable_bytes(std::span(edited)));
    replace(edited);
  }

  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

TEST_P(SnapshotTest, ComesBackWithTheSameBits) {
  Ids ids = cts::someIds(37);
  {
    const auto session = open();
    ASSERT_TRUE(session->prompt(ids).isOk());
    ASSERT_TRUE(session->save(path()).isOk());
  }
  const auto session = open();  // another model object: nothing is shared but the file
  ASSERT_TRUE(session->prompt(cts::someIds(60, 11)).isOk());
  const Status loaded = session->load(path());
  ASSERT_TRUE(loaded.isOk()) << loaded.toString();
  EXPECT_EQ(session->position(), 37U);
  EXPECT_EQ(session->exactTokens(), 37U);
  ids.push_back(5);
  const auto result = session->prompt(ids);
  ASSERT_TRUE(result.isOk());
  EXPECT_EQ(result->cachedTokens, 37U);
  EXPECT_EQ(cts::bitsOf(result->logits), fresh(ids));
}

TEST_P(SnapshotTest, HoldsTheValidRowsAlone) {
  const auto session = open();
  for (const uint32_t tokens : {0U, 1U, 33U}) {
    ASSERT_TRUE(session->rewind(0).isOk());
    if (tokens > 0) ASSERT_TRUE(session->prefill(cts::someIds(tokens)).isOk());
    ASSERT_TRUE(session->save(path()).isOk());
    const DType type = GetParam().blob.cacheType();
    const uint64_t rowBytes = cts::kHeadDim * dtypeInfo(type)->blockBytes + (type == DType::kI8 ? sizeof(float) : 0);
    const uint64_t idBytes = roundUp(tokens * sizeof(int32_t), 64);
    EXPECT_EQ(std::filesystem::file_size(path()),
              sizeof(SnapshotHeader) + idBytes + uint64_t{cts::kLayers} * 2 * cts::kKvHeads * tokens * rowBytes);
    EXPECT_TRUE(session->load(path()).isOk());
    EXPECT_EQ(session->position(), tokens);
  }
}

TEST_P(SnapshotTest, EveryFlippedByteAndEveryCutIsRefused) {
  const auto session = open();
  ASSERT_TRUE(session->prompt(cts::someIds(3)).isOk());
  ASSERT_TRUE(session->save(path()).isOk());
  const Bytes good = content();
  const Ids kept = cts::someIds(9, 2);
  ASSERT_TRUE(session->prompt(kept).isOk());
  const Bytes cacheBefore(reinterpret_cast<const char*>(session->cache().data()),
                          reinterpret_cast<const char*>(session->cache().data()) + session->cache().size());
  const auto expectRefused = [&](const Bytes& bytes, size_t where) {
    replace(bytes);
    const Status status = session->load(path());
    ASSERT_TRUE(status.code() == Code::kCorrupt || status.code() == Code::kVersionMismatch) << where;
    ASSERT_EQ(status.message().find(path()), 0U) << status.message();
  };
  const SnapshotIdentity identity = SnapshotIdentity::of(session->model().blob());
  const KvLayout layout = KvLayout::of(session->model().blob().header());
  std::vector<uint64_t> aligned(good.size() / 8 + 1);
  const auto inMemory = std::as_writable_bytes(std::span(aligned)).first(good.size());
  std::memcpy(inMemory.data(), good.data(), good.size());
  ASSERT_TRUE(parseSnapshot(inMemory, identity, layout).isOk());
  for (size_t i = 0; i < good.size(); ++i) {
    const auto bit = static_cast<std::byte>(1U << i % 8);
    inMemory[i] ^= bit;
    ASSERT_FALSE(parseSnapshot(inMemory, identity, layout).isOk()) << i;
    inMemory[i] ^= bit;
  }
  // The way through a file, for a part of them.
  for (size_t i = 0; i < good.size(); i += 1 + good.size() / 40) {
    Bytes bytes = good;
    bytes[i] = static_cast<char>(bytes[i] ^ 1);
    expectRefused(bytes, i);
  }
  for (size_t size = 0; size < good.size(); size += 1 + size / 8) {
    expectRefused(Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)), size);
  }
  Bytes longer = good;
  longer.push_back(0);
  expectRefused(longer, longer.size());
  // None of it has touched the session.
  EXPECT_EQ(std::memcmp(cacheBefore.data(), session->cache().data(), cacheBefore.size()), 0);
  const auto result = session->prompt(kept);
  ASSERT_TRUE(result.isOk());
  EXPECT_EQ(result->cachedTokens, 8U);
}

TEST_P(SnapshotTest, NamesTheFieldThatDiffers) {
  const auto session = open();
  ASSERT_TRUE(session->prompt(cts::someIds(20)).isOk());
  ASSERT_TRUE(session->save(path()).isOk());
  const Bytes good = content();
  struct Case {
    const char* says;
    Code code;
    std::function<void(SnapshotHeader&)> change;
  };
  const Case cases[] = {
      {"no snapshot", Code::kCorrupt, [](auto& h) { h.magic += 1; }},
      {"format 0.3, this program reads 0.2", Code::kVersionMismatch, [](auto& h) { h.formatMinor += 1; }},
      {"model hash", Code::kVersionMismatch, [](auto& h) { h.identity.modelHash.high ^= 1; }},
      {"weights hash", Code::kVersionMismatch, [](auto& h) { h.identity.weightsHash.low ^= 1; }},
      {"program hash", Code::kVersionMismatch, [](auto& h) { h.identity.programHash.low ^= 1; }},
      {"device is none, the loaded", Code::kVersionMismatch, [](auto& h) { h.identity.targets = 0; }},
      {" and number 31, the loaded", Code::kVersionMismatch, [](auto& h) { h.identity.targets |= 1U << 31; }},
      {"arithmetic id", Code::kVersionMismatch, [](auto& h) { h.identity.arithmeticId += 1; }},
      {"number of lanes", Code::kVersionMismatch, [](auto& h) { h.identity.lanes += 1; }},
      {"number of layers is 3, the loaded model's is 2", Code::kVersionMismatch,
       [](auto& h) { h.identity.layers += 1; }},
      {"KV heads", Code::kVersionMismatch, [](auto& h) { h.identity.kvHeads += 1; }},
      {"head dimension", Code::kVersionMismatch, [](auto& h) { h.identity.headDim += 1; }},
      {"cache rows (T)", Code::kVersionMismatch, [](auto& h) { h.identity.kvRows *= 2; }},
      {"KV type", Code::kVersionMismatch, [](auto& h) { h.identity.kvType += 1; }},
      {"vocabulary", Code::kVersionMismatch, [](auto& h) { h.identity.vocab += 1; }},
      {"reserved", Code::kCorrupt, [](auto& h) { h.reserved0[47] = 1; }},
      {"19 rows", Code::kCorrupt, [](auto& h) { h.tokens -= 1, h.exactTokens -= 1; }},
      {"129 tokens", Code::kCorrupt, [](auto& h) { h.tokens = 129; }},
      {"21 of them exact", Code::kCorrupt, [](auto& h) { h.exactTokens = 21; }},
      {"its header says", Code::kCorrupt, [](auto& h) { h.fileBytes += 64; }},
      {"rows of", Code::kCorrupt, [](auto& h) { h.rowBytes += 2; }},
  };
  for (const Case& testCase : cases) {
    edit(good, testCase.change);
    const Status status = session->load(path());
    EXPECT_EQ(status.code(), testCase.code) << testCase.says << ": " << status.toString();
    EXPECT_NE(status.message().find(testCase.says), std::string::npos) << testCase.says << ": " << status.toString();
  }
  Bytes badId = good;
  badId[sizeof(SnapshotHeader)] = 80;  // the vocabulary is 0 to 79
  sealSnapshot(std::as_writable_bytes(std::span(badId)));
  replace(badId);
  EXPECT_NE(session->load(path()).message().find("in the snapshot, token 0 has id 80"), std::string::npos);
  EXPECT_EQ(session->load(path() + ".none").code(), Code::kNotFound);
  replace(good);
  EXPECT_TRUE(session->load(path()).isOk());
}

/// The name as messages say it: in quotes, its control characters as \\xNN.
TEST_P(SnapshotTest, EveryRefusalNamesTheFileOnceAndEscapedOnce) {
  const std::string odd = path() + " \n\x1b[31m";
  const std::string shown = printablePath(odd);
  ASSERT_NE(shown, odd);
  const auto session = open();
  ASSERT_TRUE(session->prompt(cts::someIds(20)).isOk());
  ASSERT_TRUE(session->save(path()).isOk());
  const Bytes good = content();
  const auto expectNamedOnce = [&](Code code, const char* what) {
    const Status status = session->load(odd);
    EXPECT_EQ(status.code(), code) << what << ": " << status.toString();
    const std::string& said = status.message();
    const size_t first = said.find(shown);
    ASSERT_NE(first, std::string::npos) << what << ": " << said;
    EXPECT_EQ(said.find(shown, first + 1), std::string::npos) << what << ": " << said;
    EXPECT_EQ(said.find_first_of("\n\x1b"), std::string::npos) << what;
  };
  const auto expectRefused = [&](const Bytes& bytes, Code code, const char* what) {
    replace(bytes);
    std::filesystem::rename(path(), odd);
    expectNamedOnce(code, what);
    std::filesystem::remove(odd);
  };
  const auto otherModel = [](SnapshotHeader& header) { header.identity.layers += 1; };
  expectNamedOnce(Code::kNotFound, "missing");
  std::filesystem::create_directory(odd);
  expectNamedOnce(Code::kInvalidArgument, "a folder");
  std::filesystem::remove(odd);
  expectRefused({}, Code::kCorrupt, "empty");
  expectRefused(Bytes(good.size(), 'x'), Code::kCorrupt, "no snapshot");
  edit(good, otherModel);
  expectRefused(content(), Code::kVersionMismatch, "another model");
  Bytes large = good;
  large.resize(snapshotBytes(KvLayout::of(session->model().blob().header()), cts::kKvRows) + 1);
  expectRefused(large, Code::kCorrupt, "too large");
  edit(large, otherModel);
  expectRefused(content(), Code::kVersionMismatch, "of a larger model");
}

/// A file without its blocks is as large as it says, and larger than any memory.
TEST_P(SnapshotTest, ARefusalOfMemoryNamesTheFile) {
  constexpr uint64_t kBytes = 1ULL << 42;
  if (PageBuffer::allocate(kBytes).isOk()) GTEST_SKIP() << "the system promises memory that it does not have";
  replace({'x'});
  std::error_code error;
  std::filesystem::resize_file(path(), kBytes, error);
  if (error) GTEST_SKIP() << "the file system has no files of that size: " << error.message();
  const auto session = open();
  const blob::Blob& blob = session->model().blob();
  KvLayout layout = KvLayout::of(blob.header()).withRows(UINT32_MAX);
  layout.rowBytes = kBytes / UINT32_MAX;
  const auto read = readSnapshot(path(), SnapshotIdentity::of(blob), layout);
  EXPECT_EQ(read.status().code(), Code::kResourceExhausted);
  EXPECT_EQ(read.status().message().find(printablePath(path())), 0U) << read.status().toString();
}

TEST_P(SnapshotTest, OtherDevicesAndWeightsAreRefused) {
  const auto session = open();
  ASSERT_TRUE(session->prompt(cts::someIds(20)).isOk());
  ASSERT_TRUE(session->save(path()).isOk());
  for (const SessionCase& other : kSessionCases) {
    const auto loaded = sessionOf(openTiny(other))->load(path());
    const bool isSame = std::string_view(other.name) == GetParam().name;
    EXPECT_EQ(loaded.code(), isSame ? Code::kOk : Code::kVersionMismatch) << other.name << ": " << loaded.toString();
  }
  // Other ladders of the same program compute the same rows.
  EXPECT_TRUE(open({.prefillChunks = {16}, .contexts = {}})->load(path()).isOk());
}

INSTANTIATE_TEST_SUITE_P(Devices, SnapshotTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
