#include "base/atomic_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

namespace firn {
namespace {

std::span<const std::byte> bytesOf(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

std::string contentOf(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("firn_atomic_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  size_t fileCount() const {
    return static_cast<size_t>(std::distance(std::filesystem::directory_iterator(folder), {}));
  }

  std::filesystem::path folder;
};

TEST_F(AtomicFileTest, AppearsOnlyOnCommit) {
  const auto path = folder / "out";
  std::ofstream(path) << "old";
  auto file = AtomicFile::create(path.string());
  ASSERT_TRUE(file.isOk());
  ASSERT_TRUE(file->append(bytesOf("__ world")).isOk());
  ASSERT_TRUE(file->writeAt(0, bytesOf("hi")).isOk());
  EXPECT_EQ(file->size(), 8U);
  EXPECT_EQ(contentOf(path), "old");
  ASSERT_TRUE(file->commit().isOk());
  EXPECT_EQ(contentOf(path), "hi world");
  EXPECT_EQ(fileCount(), 1U);
  EXPECT_EQ(file->commit().code(), Code::kInternal);
}

TEST_F(AtomicFileTest, ANameThatCannotBeIsRefusedAtTheStart) {
  std::ofstream(folder / "file") << "x";
  std::filesystem::create_symlink("circle", folder / "circle");
  for (const auto& path : {folder / std::string(256, 'n'), folder / "file" / "out", folder / "circle"}) {
    EXPECT_FALSE(AtomicFile::create(path.string()).isOk()) << path;
  }
  EXPECT_TRUE(AtomicFile::create((folder / std::string(255, 'n')).string()).isOk());
  EXPECT_EQ(AtomicFile::create((folder / "none" / "out").string()).status().code(), Code::kNotFound);
  EXPECT_EQ(fileCount(), 2U);
}

TEST_F(AtomicFileTest, ATemporaryIsAbandonedWhenItsProcessHasEnded) {
  const auto onlyFile = [&] { return std::filesystem::directory_iterator(folder)->path().string(); };
  {
    auto file = AtomicFile::create((folder / "out").string());
    ASSERT_TRUE(file.isOk());
    EXPECT_FALSE(removeIfAbandoned(onlyFile()));
    EXPECT_EQ(fileCount(), 1U);
  }
  const pid_t child = fork();
  if (child == 0) {
    auto file = AtomicFile::create((folder / "out").string());
    _exit(file.isOk() ? 0 : 1);  // as if killed: nothing is removed
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_EQ(status, 0);
  ASSERT_EQ(fileCount(), 1U);
  EXPECT_TRUE(removeIfAbandoned(onlyFile()));
  EXPECT_EQ(fileCount(), 0U);
  EXPECT_FALSE(removeIfAbandoned((folder / ".firn.1.2.tmp").string())) << "not there";
}

TEST_F(AtomicFileTest, OnlyTheNamesItGivesAreTakenForTemporaries) {
  for (const char* name : {"other", "notes.tmp", ".firn.tmp", ".firn.12.tmp", ".firn.12.3.4.tmp", ".firn.12.x.tmp",
                           ".firn..3.tmp", ".firn.12..tmp", ".firn.-1.3.tmp", ".firn.12.3", "a.firn.12.3.tmp"}) {
    EXPECT_FALSE(isTemporaryName(name)) << name;
    std::ofstream(folder / name) << "mine";
    EXPECT_FALSE(removeIfAbandoned((folder / name).string())) << name;
    EXPECT_TRUE(std::filesystem::exists(folder / name)) << name;
  }
  EXPECT_TRUE(isTemporaryName(".firn.12.3.tmp"));
  EXPECT_TRUE(isTemporaryName("some/folder/.firn.12.3.tmp"));
  std::filesystem::create_symlink(folder / "other", folder / ".firn.1.2.tmp");
  EXPECT_FALSE(removeIfAbandoned((folder / ".firn.1.2.tmp").string())) << "a link is nobody's temporary";
}

TEST_F(AtomicFileTest, ManyWritersAndCleanersLoseNothing) {
  std::atomic<bool> isOver{false};
  const auto clean = [&] {
    while (!isOver) {
      std::error_code ignored;
      for (std::filesystem::directory_iterator at(folder, ignored), end; !ignored && at != end; at.increment(ignored)) {
        removeIfAbandoned(at->path().string());
      }
    }
  };
  std::thread cleaner(clean);
  for (int i = 0; i < 150; ++i) {
    const std::string path = (folder / ("out" + std::to_string(i % 3))).string();
    ASSERT_TRUE(writeFileAtomically(path, bytesOf("whole")).isOk()) << i;
    ASSERT_EQ(contentOf(path), "whole") << i;
  }
  isOver = true;
  cleaner.join();
  EXPECT_EQ(fileCount(), 3U);
}

TEST_F(AtomicFileTest, LeavesNothingBehindWhenDropped) {
  {
    auto file = AtomicFile::create((folder / "out").string());
    ASSERT_TRUE(file.isOk());
    ASSERT_TRUE(file->append(bytesOf("half")).isOk());
    AtomicFile moved = *std::move(file);
    EXPECT_EQ(fileCount(), 1U);
  }
  EXPECT_EQ(fileCount(), 0U);
}

TEST_F(AtomicFileTest, AProcessThatMustEndRemovesItsOwnTemporaries) {
  std::filesystem::create_directories(folder / "deep");
  auto one = AtomicFile::create((folder / "one").string());
  auto two = AtomicFile::create((folder / "deep" / "two").string());
  auto done = AtomicFile::create((folder / "done").string());
  ASSERT_TRUE(one.isOk() && two.isOk() && done.isOk());
  ASSERT_TRUE(done->commit().isOk());
  const auto others = folder / (".firn." + std::to_string(getpid() + 1) + ".0.tmp");
  std::ofstream open(others);
  removeOwnTemporaries();
  EXPECT_EQ(fileCount(), 3U) << "deep, done, and what another process writes";
  EXPECT_TRUE(std::filesystem::is_empty(folder / "deep"));
  EXPECT_TRUE(std::filesystem::exists(others));
  EXPECT_FALSE(one->commit().isOk());
}

TEST_F(AtomicFileTest, TwoWritersDoNotDisturbEachOther) {
  const std::string path = (folder / "out").string();
  auto first = AtomicFile::create(path);
  auto second = AtomicFile::create(path);
  ASSERT_TRUE(first.isOk() && second.isOk());
  ASSERT_TRUE(first->append(bytesOf("first")).isOk());
  ASSERT_TRUE(second->append(bytesOf("second")).isOk());
  ASSERT_TRUE(second->commit().isOk());
  ASSERT_TRUE(first->commit().isOk());
  EXPECT_EQ(contentOf(path), "first");
  EXPECT_EQ(fileCount(), 1U);
}

mode_t modeOf(const std::filesystem::path& path) {
  struct stat info{};
  EXPECT_EQ(stat(path.c_str(), &info), 0);
  return info.st_mode & 07777;
}

TEST_F(AtomicFileTest, KeepsTheModeOfWhatItReplacesAndFollowsTheUmaskOtherwise) {
  const std::string path = (folder / "out").string();
  const mode_t before = umask(027);
  ASSERT_TRUE(writeFileAtomically(path, bytesOf("new")).isOk());
  EXPECT_EQ(modeOf(path), mode_t{0640});
  umask(022);
  for (const mode_t mode : {0600, 0640, 0644, 0664, 0666, 0755}) {
    ASSERT_EQ(chmod(path.c_str(), mode), 0);
    ASSERT_TRUE(writeFileAtomically(path, bytesOf("newer")).isOk());
    EXPECT_EQ(modeOf(path), mode);
  }
  umask(before);
}

TEST_F(AtomicFileTest, AReadOnlyFileIsNotReplaced) {
  const std::string path = (folder / "out").string();
  std::ofstream(path) << "keep";
  ASSERT_EQ(chmod(path.c_str(), 0444), 0);
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(2);  // root writes to any file
    const auto file = AtomicFile::create(path);
    const bool isNamed = !file && file.status().message().find(path) != std::string::npos;
    _exit(isNamed && file.status().code() == Code::kIo ? 0 : 1);
  }
  int state = 0;
  ASSERT_EQ(waitpid(child, &state, 0), child);
  EXPECT_TRUE(WIFEXITED(state) && WEXITSTATUS(state) == 0) << state;
  EXPECT_EQ(contentOf(path), "keep");
}

TEST_F(AtomicFileTest, NobodyElseReadsWhatIsNotCommitted) {
  const mode_t before = umask(0);
  const auto path = folder / "out";
  for (const bool isThere : {false, true}) {
    auto file = AtomicFile::create(path.string());
    ASSERT_TRUE(file.isOk() && file->append(bytesOf("private")).isOk());
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (isTemporaryName(entry.path().string())) EXPECT_EQ(modeOf(entry.path()), mode_t{0600});
    }
    ASSERT_TRUE(file->commit().isOk());
    EXPECT_EQ(modeOf(path), isThere ? mode_t{0600} : mode_t{0666});
    ASSERT_EQ(chmod(path.c_str(), 0600), 0);
  }
  umask(before);
}

TEST_F(AtomicFileTest, ALinkStaysAndItsTargetIsWritten) {
  std::filesystem::create_directories(folder / "a" / "b");
  std::filesystem::create_directory_symlink("a/b", folder / "folder");
  const auto link = [&](const std::filesystem::path& target, const std::string& name) {
    std::filesystem::create_symlink(target, folder / name);
    return folder / name;
  };
  // Relative and absolute, over several links, into another folder, up from a folder that is a link; a target that is
  // there and one that is not.
  for (const bool isThere : {true, false}) {
    const std::string end = isThere ? "old" : "new";
    const auto target = folder / "a" / end;
    const std::filesystem::path links[] = {link("a/" + end, "relative." + end), link(target, "absolute." + end),
                                           link("relative." + end, "second." + end),
                                           link("folder/../" + end, "up." + end)};
    for (const auto& path : links) {
      std::filesystem::remove(target);
      if (isThere) {
        std::ofstream(target) << "before";
        ASSERT_EQ(chmod(target.c_str(), 0640), 0);
      }
      const auto file = AtomicFile::create(path.string());
      ASSERT_TRUE(file.isOk()) << path;
      EXPECT_TRUE(std::filesystem::equivalent(std::filesystem::path(file->path()).parent_path(), folder / "a"));
      ASSERT_TRUE(writeFileAtomically(path.string(), bytesOf("after")).isOk()) << path;
      EXPECT_TRUE(std::filesystem::is_symlink(path)) << path;
      EXPECT_EQ(contentOf(target), "after") << path;
      if (isThere) EXPECT_EQ(modeOf(target), mode_t{0640});
    }
  }
}

TEST_F(AtomicFileTest, LinksThatLeadNowhereAreRefused) {
  std::filesystem::create_symlink("right", folder / "left");
  std::filesystem::create_symlink("left", folder / "right");
  std::filesystem::create_symlink("none/out", folder / "lost");
  std::filesystem::create_symlink("/dev/null", folder / "device");
  std::filesystem::create_directory_symlink(".", folder / "folder");
  EXPECT_EQ(AtomicFile::create((folder / "left").string()).status().code(), Code::kIo);
  EXPECT_EQ(AtomicFile::create((folder / "lost").string()).status().code(), Code::kNotFound);
  for (const char* name : {"device", "folder"}) {
    EXPECT_EQ(AtomicFile::create((folder / name).string()).status().code(), Code::kInvalidArgument) << name;
  }
  EXPECT_EQ(fileCount(), 5U);
}

TEST_F(AtomicFileTest, KeepsOwnerAndGroupWhereTheSystemLetsIt) {
  if (geteuid() != 0) GTEST_SKIP() << "only root gives files away";
  const std::string path = (folder / "out").string();
  ASSERT_TRUE(writeFileAtomically(path, bytesOf("new")).isOk());
  ASSERT_EQ(chown(path.c_str(), 1234, 5678), 0);
  ASSERT_EQ(chmod(path.c_str(), 0640), 0);
  ASSERT_TRUE(writeFileAtomically(path, bytesOf("newer")).isOk());
  struct stat info{};
  ASSERT_EQ(stat(path.c_str(), &info), 0);
  EXPECT_EQ(info.st_uid, uid_t{1234});
  EXPECT_EQ(info.st_gid, gid_t{5678});
  EXPECT_EQ(modeOf(path), mode_t{0640});
}

TEST_F(AtomicFileTest, NamesWhatIsWrong) {
  EXPECT_EQ(AtomicFile::create((folder / "no" / "out").string()).status().code(), Code::kNotFound);
  EXPECT_EQ(AtomicFile::create(folder.string()).status().code(), Code::kInvalidArgument);
  const std::string pipe = (folder / "pipe").string();
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(AtomicFile::create(pipe).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace firn
