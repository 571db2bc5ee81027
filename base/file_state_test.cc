#include "base/file_state.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

namespace firn {
namespace {

namespace fs = std::filesystem;

TEST(FileStateTest, EveryWayToChangeAFileIsSeen) {
  const fs::path path = fs::temp_directory_path() / ("firn_state_" + std::to_string(getpid()));
  const fs::path other = path.string() + ".other";
  const auto keepTime = [&](const std::function<void()>& change) {
    const auto time = fs::last_write_time(path);
    change();
    fs::last_write_time(path, time);
  };
  const auto overwrite = [&] { std::fstream(path, std::ios::in | std::ios::out).write("X", 1); };
  const std::pair<const char*, std::function<void()>> changes[] = {
      {"overwritten", overwrite},
      {"overwritten, with the old time", [&] { keepTime(overwrite); }},
      {"longer", [&] { std::ofstream(path, std::ios::app) << "more"; }},
      {"shorter", [&] { fs::resize_file(path, 3); }},
      {"another file of the same size and time",
       [&] {
         std::ofstream(other) << "others";
         fs::last_write_time(other, fs::last_write_time(path));
         fs::rename(other, path);
       }},
      {"gone", [&] { fs::remove(path); }}};
  for (const auto& [what, change] : changes) {
    fs::remove(path);
    std::ofstream(path) << "mighty";
    const auto before = fileState(path.string());
    ASSERT_TRUE(before.isOk());
    EXPECT_EQ(before->bytes, 6U);
    EXPECT_TRUE(checkUnchanged(path.string(), *before).isOk());
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // the clock of a file system ticks every few of them
    change();
    const Status status = checkUnchanged(path.string(), *before);
    EXPECT_EQ(status.code(), Code::kIo) << what;
    EXPECT_NE(status.message().find("changed while it was read"), std::string::npos) << what;
  }
  EXPECT_EQ(fileState(path.string()).status().code(), Code::kNotFound);
  fs::remove(path);
}

TEST(FileStateTest, ReadingChangesNothing) {
  const fs::path path = fs::temp_directory_path() / ("firn_state_read_" + std::to_string(getpid()));
  std::ofstream(path) << "mighty";
  const auto before = fileState(path.string());
  std::string text;
  std::ifstream(path) >> text;
  EXPECT_TRUE(before.isOk() && checkUnchanged(path.string(), *before).isOk());
  fs::remove(path);
}

}  // namespace
}  // namespace firn
