// Split files: `<p>-00001-of-0000N.gguf`, split.no counts from 0, split.tensors.count is the total.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "compiler/import/gguf_reader.h"
#include "compiler/import/gguf_writer_for_test.h"
#include "compiler/import/import.h"

namespace firn::import {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class GgufSplitTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder =
        std::filesystem::path(::testing::TempDir()) / ("firn_split_" + std::to_string(getpid()) + "_" +
                                                       ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::remove_all(folder);
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string& name, const GgufWriter& file) {
    const ByteVector bytes = file.bytes();
    const std::string path = (folder / name).string();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    return path;
  }

  /// The tiny llama as three shards: keys in the first, its tensors dealt out in turn.
  std::vector<GgufWriter> shards() {
    GgufWriter whole = tinyLlama();
    std::vector<GgufWriter> out(3);
    out[0] = whole;
    out[0].eraseTensors();
    size_t next = 0;
    for (const auto& tensor : whole.tensors()) out[next++ % 3].add(tensor);
    for (uint16_t i = 0; i < 3; ++i) {
      out[i].u16("split.no", i).u16("split.count", 3).i32("split.tensors.count", 11);
    }
    return out;
  }

  std::string name(int shard) { return "m-0000" + std::to_string(shard) + "-of-00003.gguf"; }

  /// Writes all shards and opens the first; the message, or "accepted".
  std::string openFirst(const std::vector<GgufWriter>& shards) {
    for (size_t i = 0; i < shards.size(); ++i) write(name(static_cast<int>(i) + 1), shards[i]);
    const Result<GgufFile> file = GgufFile::open((folder / name(1)).string());
    return file.isOk() ? "accepted" : file.status().toString();
  }

  std::filesystem::path folder;
};

TEST_F(GgufSplitTest, TheFirstShardLoadsAll) {
  ASSERT_EQ(openFirst(shards()), "accepted");
  const Result<ModelSpec> split = importModel((folder / name(1)).string());
  ASSERT_TRUE(split.isOk()) << split.status().toString();
  const Result<ModelSpec> whole = importModel(write("whole.gguf", tinyLlama()));
  ASSERT_TRUE(whole.isOk()) << whole.status().toString();
  EXPECT_TRUE(std::ranges::equal(split->layers[0].down.weight.bytes, whole->layers[0].down.weight.bytes));
  EXPECT_TRUE(std::ranges::equal(split->embedding.bytes, whole->embedding.bytes));
  EXPECT_EQ(split->tokenizerImage, whole->tokenizerImage);
}

TEST_F(GgufSplitTest, AnotherShardNamesTheFirst) {
  openFirst(shards());
  const Result<GgufFile> second = GgufFile::open((folder / name(2)).string());
  ASSERT_FALSE(second.isOk());
  EXPECT_THAT(second.status().message(),
              AllOf(HasSubstr("shard 2 of 3"), HasSubstr("open the first shard"), HasSubstr("m-00001-of-00003.gguf")));
}

TEST_F(GgufSplitTest, AMissingShardIsNamed) {
  std::vector<GgufWriter> two = shards();
  two.pop_back();
  EXPECT_THAT(openFirst(two), AllOf(HasSubstr("not_found"), HasSubstr("m-00003-of-00003.gguf")));
}

TEST_F(GgufSplitTest, ShardsThatDisagreeAreRefused) {
  std::vector<GgufWriter> files = shards();
  files[1].u16("split.count", 4);
  EXPECT_THAT(openFirst(files), AllOf(HasSubstr("m-00002-of-00003.gguf"), HasSubstr("2 of 4"), HasSubstr("2 of 3")));
  files = shards();
  files[2].u16("split.no", 1);
  EXPECT_THAT(openFirst(files), AllOf(HasSubstr("m-00003-of-00003.gguf"), HasSubstr("2 of 3")));
}

TEST_F(GgufSplitTest, ATotalThatDisagreesIsRefused) {
  std::vector<GgufWriter> files = shards();
  files[0].i32("split.tensors.count", 12);
  EXPECT_THAT(openFirst(files), AllOf(HasSubstr("m-00001-of-00003.gguf"), HasSubstr("12"), HasSubstr("11 tensors")));
}

TEST_F(GgufSplitTest, ATensorInTwoShardsIsRefused) {
  std::vector<GgufWriter> files = shards();
  files[2].add(files[0].tensors()[0]);
  EXPECT_THAT(openFirst(files),
              AllOf(HasSubstr("m-00003-of-00003.gguf"), HasSubstr("'token_embd.weight'"), HasSubstr("two shards")));
}

TEST_F(GgufSplitTest, AHostileShardIsNamed) {
  openFirst(shards());
  std::filesystem::resize_file(folder / name(2), 100);
  const Result<GgufFile> file = GgufFile::open((folder / name(1)).string());
  EXPECT_THAT(file.status().message(), AllOf(HasSubstr("m-00002-of-00003.gguf"), HasSubstr("truncated")));
}

TEST_F(GgufSplitTest, ARenamedFirstShardSaysWhyTheOthersAreNotFound) {
  const Result<GgufFile> file = GgufFile::open(write("renamed.gguf", shards()[0]));
  ASSERT_FALSE(file.isOk());
  EXPECT_THAT(file.status().message(), HasSubstr("-00001-of-00003.gguf"));
}

TEST_F(GgufSplitTest, AbsurdPlacesAreRefused) {
  std::vector<GgufWriter> files = shards();
  files[0].u64("split.count", 1ULL << 60);
  EXPECT_THAT(openFirst(files), HasSubstr("'split.count'"));
  files = shards();
  files[0].text("split.count", "three");
  EXPECT_THAT(openFirst(files), AllOf(HasSubstr("'split.count'"), HasSubstr("integer")));
  files = shards();
  files[0].u16("split.no", 3);
  EXPECT_THAT(openFirst(files), HasSubstr("'split.no' is 3"));
  files = shards();
  files[0].erase("split.no");
  EXPECT_THAT(openFirst(files), HasSubstr("'split.no' is missing"));
}

TEST_F(GgufSplitTest, SingleFilesLoadWhateverTheirName) {
  GgufWriter one = tinyLlama();
  EXPECT_TRUE(GgufFile::open(write("best-of-breed.gguf", one)).isOk());
  EXPECT_TRUE(GgufFile::open(write("x-00001-of-00001.gguf", one)).isOk());
  one.u16("split.no", 0).u16("split.count", 1).i32("split.tensors.count", 11);
  EXPECT_TRUE(GgufFile::open(write("x-00001-of-00001.gguf", one)).isOk());
}

TEST_F(GgufSplitTest, WhatIsNoRegularFileIsRefused) {
  EXPECT_EQ(GgufFile::open((folder / "absent.gguf").string()).status().code(), Code::kNotFound);
  EXPECT_FALSE(GgufFile::open(folder.string()).isOk());
}

}  // namespace
}  // namespace firn::import
