#include "tools/mapping_fault.h"

#include <barrier>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "base/mapped_file.h"

namespace firn::tools {
namespace {

class MappingFaultTest : public testing::Test {
 protected:
  void SetUp() override {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    std::filesystem::create_directories(folder);
    std::ofstream(path) << std::string(100'000, 'x');
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  /// Touches the last byte of the file after it has been cut to one page.
  void touchLostByte() const {
    reportMappingFaults("firn");
    const auto file = MappedFile::open(path);
    if (!file.isOk()) return;
    std::filesystem::resize_file(path, 4096);
    const volatile std::byte* last = file->bytes().data() + file->size() - 1;
    static_cast<void>(*last);
  }

  // The child of a death test runs SetUp too: the name must not depend on the process.
  const std::filesystem::path folder = std::filesystem::temp_directory_path() / "firn_mapping_fault_test";
  const std::string path = folder / "cut model\x1b[1m.gguf";
};

TEST_F(MappingFaultTest, NamesTheFileThatWasCutShort) {
  EXPECT_EXIT(touchLostByte(), testing::ExitedWithCode(1),
              testing::AllOf(testing::StartsWith("firn: io: /"), testing::HasSubstr("cut model?[1m.gguf lost bytes")));
}

TEST_F(MappingFaultTest, OnAnyThread) {
  EXPECT_EXIT(std::thread([&] { touchLostByte(); }).join(), testing::ExitedWithCode(1),
              testing::HasSubstr("lost bytes while it was in use"));
}

TEST_F(MappingFaultTest, ThreadsThatFaultTogetherSayItOnce) {
  // All lanes of a device lose their weights at once.
  const auto faultTogether = [&] {
    reportMappingFaults("firn");
    const auto file = MappedFile::open(path);
    if (!file.isOk()) return;
    std::filesystem::resize_file(path, 4096);
    const volatile std::byte* last = file->bytes().data() + file->size() - 1;
    std::barrier<> start(8);
    std::vector<std::jthread> threads;
    for (int i = 0; i < 8; ++i) {
      threads.emplace_back([&] {
        start.arrive_and_wait();
        static_cast<void>(*last);
      });
    }
  };
  for (int round = 0; round < 20; ++round) {
    std::ofstream(path) << std::string(100'000, 'x');
    EXPECT_EXIT(faultTogether(), testing::ExitedWithCode(1), testing::MatchesRegex("firn: io: [^\n]*run again\n"));
  }
}

TEST_F(MappingFaultTest, WhatIsBeingWrittenIsRemoved) {
  const std::string output = folder / "output";
  const auto writeAndFault = [&] {
    const auto file = AtomicFile::create(output);
    if (file.isOk()) touchLostByte();
  };
  EXPECT_EXIT(writeAndFault(), testing::ExitedWithCode(1), testing::HasSubstr("lost bytes"));
  for (const auto& entry : std::filesystem::directory_iterator(folder)) EXPECT_EQ(entry.path(), path);
}

TEST_F(MappingFaultTest, AnyOtherBusErrorIsWhatItWas) {
  const auto sent = [] {
    reportMappingFaults("firn");
    std::raise(SIGBUS);
  };
  EXPECT_EXIT(sent(), testing::KilledBySignal(SIGBUS), testing::Not(testing::HasSubstr("lost bytes")));
}

}  // namespace
}  // namespace firn::tools
