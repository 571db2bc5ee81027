#include "base/mapped_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <vector>

#include "base/atomic_file.h"

namespace firn {
namespace {

class MappedFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("firn_mapped_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string path(const std::string& name) const { return (folder / name).string(); }

  std::filesystem::path folder;
};

TEST_F(MappedFileTest, GivesTheBytesAndSurvivesMoveAndRemoval) {
  for (uint64_t size : {1ULL, 4096ULL, 4097ULL, (2ULL << 20) - 1, 2ULL << 20, (2ULL << 20) + 5000}) {
    std::vector<std::byte> data(size);
    for (size_t i = 0; i < size; ++i) data[i] = static_cast<std::byte>(i * 7 >> 2);
    ASSERT_TRUE(writeFileAtomically(path("data"), data).isOk());
    auto opened = MappedFile::open(path("data"));
    ASSERT_TRUE(opened.isOk()) << opened.status().toString();
    MappedFile file = *std::move(opened);
    std::filesystem::remove(path("data"));
    ASSERT_EQ(file.size(), size);
    EXPECT_TRUE(std::equal(data.begin(), data.end(), file.bytes().begin()));
    if (size >= (2ULL << 20)) EXPECT_EQ(reinterpret_cast<uintptr_t>(file.bytes().data()) % (2ULL << 20), 0U);
    std::byte last{};
    ASSERT_TRUE(file.readAt(size - 1, {&last, 1}).isOk());
    EXPECT_EQ(last, data.back());
    EXPECT_EQ(file.readAt(size, {&last, 1}).code(), Code::kOutOfRange);
    EXPECT_EQ(file.readAt(~0ULL, {&last, 1}).code(), Code::kOutOfRange);
  }
}

TEST_F(MappedFileTest, MessagesHoldNoControlCharacters) {
  const std::string name = path("\x1B[2Jx\n");
  EXPECT_NE(MappedFile::open(name).status().message().find("\\x1b[2Jx\\x0a'"), std::string::npos);
  std::filesystem::create_directory(name);
  EXPECT_EQ(MappedFile::open(name).status().message().find('\x1B'), std::string::npos);
  EXPECT_EQ(AtomicFile::create(name).status().message().find('\x1B'), std::string::npos);
  EXPECT_EQ(AtomicFile::create(name + "/none/file").status().message().find('\x1B'), std::string::npos);
}

TEST_F(MappedFileTest, EmptyFileIsAnEmptySpan) {
  ASSERT_TRUE(writeFileAtomically(path("empty"), {}).isOk());
  auto file = MappedFile::open(path("empty"));
  ASSERT_TRUE(file.isOk());
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(MappedFileTest, RefusesWhatIsNoRegularFileByName) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  for (const auto& [name, code] : {std::pair{path("missing"), Code::kNotFound},
                                   {folder.string(), Code::kInvalidArgument},
                                   {path("pipe"), Code::kInvalidArgument},
                                   {std::string("/dev/null"), Code::kInvalidArgument}}) {
    auto file = MappedFile::open(name);
    ASSERT_FALSE(file.isOk()) << name;
    EXPECT_EQ(file.status().code(), code) << file.status().toString();
    EXPECT_NE(file.status().message().find(name), std::string::npos) << file.status().message();
  }
}

TEST_F(MappedFileTest, ReadOfAFileThatShrankIsAnErrorNotAFault) {
  ASSERT_TRUE(writeFileAtomically(path("data"), std::vector<std::byte>(10000)).isOk());
  auto file = MappedFile::open(path("data"));
  ASSERT_TRUE(file.isOk());
  std::filesystem::resize_file(path("data"), 100);
  std::vector<std::byte> out(10000);
  EXPECT_EQ(file->readAt(0, out).code(), Code::kIo);
}

}  // namespace
}  // namespace firn
