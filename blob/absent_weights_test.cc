// Blobs whose weights were left out: what is read of them, and lies about what is there.
#include <elf.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <filesystem>
#include <functional>

#include "base/atomic_file.h"
#include "blob/dump.h"
#include "blob/reader.h"
#include "blob/sample_file.h"
#include "blob/sample_program.h"

namespace firn::blob {
namespace {

std::vector<std::byte> withoutWeights(Target target = Target::kNpu) {
  Contents contents = sampleContents(target);
  contents.hasWeights = false;
  const auto file = blobFile(contents, {});
  EXPECT_TRUE(file.isOk()) << file.status().toString();
  return file ? *file : std::vector<std::byte>{};
}

Elf64_Shdr& weightsHeader(std::vector<std::byte>& file) {
  const auto count = reinterpret_cast<const Elf64_Ehdr*>(file.data())->e_shnum;
  return reinterpret_cast<Elf64_Shdr*>(file.data() + kElfHeaderBytes)[count - 1];
}

void editIdent(std::vector<std::byte>& file, const std::function<void(Ident&)>& edit) {
  const auto blob = Blob::fromMemory(file);
  ASSERT_TRUE(blob.isOk());
  std::byte* at = file.data() + blob->frame().place(SectionId::kNote).offset + kNoteDescriptorOffset;
  Ident ident;
  std::memcpy(&ident, at, sizeof(ident));
  edit(ident);
  std::memcpy(at, &ident, sizeof(ident));
}

TEST(AbsentWeightsTest, EverythingElseIsThere) {
  for (const Target target : {Target::kReference, Target::kCpu, Target::kNpu}) {
    const auto whole = Blob::fromMemory(*sampleBlob(target));
    const std::vector<std::byte> file = withoutWeights(target);
    const auto blob = Blob::fromMemory(file);
    ASSERT_TRUE(blob.isOk()) << blob.status().toString();
    EXPECT_TRUE(whole->hasWeights());
    EXPECT_FALSE(blob->hasWeights());
    EXPECT_TRUE(blob->weights().empty());
    EXPECT_GT(blob->header().weightsBytes, 0U);
    EXPECT_EQ(blob->header().weightsBytes, whole->header().weightsBytes);
    EXPECT_EQ(blob->ident().weightsHash, Hash128{});
    EXPECT_EQ(blob->fileBytes(), file.size());
    EXPECT_EQ(whole->fileBytes(), file.size() + whole->header().weightsBytes);
    EXPECT_EQ(blob->tasks().size(), whole->tasks().size());
    const Status verified = blob->verifyWeights();
    EXPECT_EQ(verified.code(), Code::kUnsupported);
    EXPECT_NE(verified.message().find("--weights none"), std::string::npos);
    std::string text;
    dumpText(*blob, {.tasks = true}, [&](std::string_view piece) { text += piece; });
    EXPECT_NE(text.find("weights none"), std::string::npos);
  }
}

TEST(AbsentWeightsTest, ReadelfReadsItWithoutAWarning) {
  if (std::system("readelf --version > /dev/null 2>&1") != 0) GTEST_SKIP() << "no readelf";
  const std::string path = std::filesystem::temp_directory_path() / ("firn_absent_" + std::to_string(getpid()));
  ASSERT_TRUE(writeFileAtomically(path, withoutWeights()).isOk());
  FILE* pipe = popen(("LC_ALL=C readelf -hSsn " + path + " 2>&1").c_str(), "r");
  ASSERT_NE(pipe, nullptr);
  std::string text;
  char buffer[4096];
  for (size_t n = 0; (n = fread(buffer, 1, sizeof(buffer), pipe)) > 0;) text.append(buffer, n);
  EXPECT_EQ(pclose(pipe), 0);
  std::filesystem::remove(path);
  EXPECT_EQ(text.find("arning"), std::string::npos) << text;
  EXPECT_EQ(text.find("rror"), std::string::npos) << text;
  EXPECT_NE(text.find("NOBITS"), std::string::npos) << text;
}

TEST(AbsentWeightsTest, LiesAreRefused) {
  struct Lie {
    std::string_view expected;
    std::function<void(std::vector<std::byte>&)> tell;
  };
  const Lie lies[] = {
      {"the weights are left out", [](auto& file) { file.resize(file.size() + 1); }},
      {"the weights are left out", [](auto& file) { file.resize(file.size() + weightsHeader(file).sh_size); }},
      {"the weights are left out", [](auto& file) { ++weightsHeader(file).sh_offset; }},
      {"the file is truncated or longer", [](auto& file) { weightsHeader(file).sh_type = SHT_PROGBITS; }},
      {"sh_type is 9", [](auto& file) { weightsHeader(file).sh_type = SHT_REL, weightsHeader(file).sh_size = 0; }},
      {"weightsHash is", [](auto& file) { editIdent(file, [](Ident& i) { i.weightsHash = {1, 0}; }); }},
      {"weightsBytes is", [](auto& file) { weightsHeader(file).sh_size -= 64; }},
      {"there are only", [](auto& file) { weightsHeader(file).sh_size = (1ULL << 48) + 64; }},
      {"there are only", [](auto& file) { weightsHeader(file).sh_size = ~0ULL; }},
  };
  for (const Lie& lie : lies) {
    std::vector<std::byte> file = withoutWeights();
    lie.tell(file);
    static_cast<void>(sealContent(file).isOk());  // what the frame itself refuses is not sealed
    const Status status = Blob::fromMemory(file).status();
    ASSERT_FALSE(status.isOk()) << lie.expected;
    EXPECT_EQ(status.code(), Code::kCorrupt) << status.toString();
    EXPECT_NE(status.message().find(lie.expected), std::string::npos) << lie.expected << ": " << status.toString();
  }
  std::vector<std::byte> whole = *sampleBlob(Target::kNpu);
  weightsHeader(whole).sh_type = SHT_NOBITS;
  const Status status = Blob::fromMemory(whole).status();
  EXPECT_NE(status.message().find("the weights are left out"), std::string::npos) << status.toString();
}

}  // namespace
}  // namespace firn::blob
