#include "base/atomic_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstring>
#include <utility>

#include "base/concat.h"
#include "base/quote.h"
#include "base/system_error.h"

namespace firn {

namespace {

constexpr std::string_view kTemporaryPrefix = ".firn.";
constexpr std::string_view kTemporarySuffix = ".tmp";

std::string folderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

/// Where `path` leads: itself, or what the links say that begin with it, which need not be there.
Result<std::string> targetOf(const std::string& path) {
  constexpr int kMostLinks = 40;  // as Linux
  std::string at = path;
  for (int i = 0; i <= kMostLinks; ++i) {
    std::array<char, PATH_MAX> target{};
    const ssize_t length = readlink(at.c_str(), target.data(), target.size());
    if (length < 0) return at;  // no link, or nothing at all
    const std::string_view text(target.data(), static_cast<size_t>(length));
    at = text.starts_with('/') ? std::string(text) : concat(folderOf(at), "/", text);
  }
  return systemError("cannot write " + printablePath(path), ELOOP);
}

Status writeAll(int descriptor, uint64_t offset, std::span<const std::byte> bytes, const std::string& path) {
  while (!bytes.empty()) {
    const ssize_t count = pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return systemError("cannot write " + printablePath(path), errno);
    offset += static_cast<uint64_t>(count);
    bytes = bytes.subspan(static_cast<size_t>(count));
  }
  return Status::ok();
}

/// Makes the new name itself durable. Not every file system can; the data is safe already.
void syncFolder(const std::string& path) {
  const int folder = ::open(folderOf(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  fsync(folder);
  ::close(folder);
}

/// The lock says that somebody is writing, and ends with this process. Waits while removeIfAbandoned looks at the file;
/// on a file system without locks nobody can take the file away either.
void lockAsWriter(int descriptor) {
  while (flock(descriptor, LOCK_EX) != 0 && errno == EINTR) {
  }
}

/// Creates a file that did not exist beside `path`; its name is put into `name`. -1 with errno set on failure.
int createBeside(const std::string& path, mode_t mode, std::string& name) {
  static std::atomic<uint64_t> counter{0};
  constexpr int kTries = 100;
  for (int i = 0; i < kTries; ++i) {
    // Not made from the file's own name, which may be as long as names can be.
    name = concat(folderOf(path), "/", kTemporaryPrefix, getpid(), ".", counter.fetch_add(1), kTemporarySuffix);
    const int descriptor = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode);
    if (descriptor < 0 && errno == EEXIST) continue;
    if (descriptor < 0) return -1;
    lockAsWriter(descriptor);
    struct stat info{};
    if (fstat(descriptor, &info) == 0 && info.st_nlink != 0) return descriptor;
    ::close(descriptor);  // taken for abandoned before it was locked
  }
  errno = EEXIST;
  return -1;
}

/// Gives `descriptor` the mode of any new file beside `path`. Only a file tells it: reading the umask means changing it
/// for every thread, and a folder may have rules of its own.
Status takeModeOfNewFile(int descriptor, const std::string& path) {
  std::string name;
  const int sample = createBeside(path, 0666, name);
  if (sample < 0) return systemError("cannot create a file in " + printablePath(folderOf(path)), errno);
  struct stat info{};
  const bool isKnown = fstat(sample, &info) == 0;
  unlink(name.c_str());
  ::close(sample);
  if (isKnown && fchmod(descriptor, info.st_mode & 0777) == 0) return Status::ok();
  return systemError("cannot set the mode of " + printablePath(path), errno);
}

/// Gives `descriptor` the owner, group and permissions of the file at `path`: it is about to take its place. An owner
/// or group that this process may not give stays its own, and then nobody gains by it: the group gets what everybody
/// gets. Without a file it gets those of any new one.
Status takeMode(int descriptor, const std::string& path) {
  struct stat old{};
  struct stat fresh{};
  if (stat(path.c_str(), &old) != 0 || !S_ISREG(old.st_mode)) return takeModeOfNewFile(descriptor, path);
  if (fstat(descriptor, &fresh) != 0) return systemError("cannot stat the file for " + printablePath(path), errno);
  mode_t mode = old.st_mode & 0777;
  // The group alone is what a user may often give; the owner only root.
  if (fresh.st_gid != old.st_gid && fchown(descriptor, static_cast<uid_t>(-1), old.st_gid) != 0) {
    mode = (mode & ~mode_t{070}) | (mode & 07) << 3;
  }
  if (fresh.st_uid != old.st_uid && fchown(descriptor, old.st_uid, static_cast<gid_t>(-1)) != 0 && errno != EPERM) {
    return systemError("cannot keep the owner of " + printablePath(path), errno);
  }
  if (fchmod(descriptor, mode) != 0) return systemError("cannot keep the mode of " + printablePath(path), errno);
  return Status::ok();
}

/// True for one or more decimal digits.
bool isNumber(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

/// True when `path` still names the file that `descriptor` has open.
bool isNameOf(const std::string& path, int descriptor) {
  struct stat named{};
  struct stat opened{};
  return lstat(path.c_str(), &named) == 0 && fstat(descriptor, &opened) == 0 && named.st_dev == opened.st_dev &&
         named.st_ino == opened.st_ino;
}

/// The PROCESS of a temporary name; empty for any other. Nothing is allocated.
std::string_view writerOf(std::string_view path) {
  std::string_view name = path.substr(path.rfind('/') + 1);
  if (!name.starts_with(kTemporaryPrefix) || !name.ends_with(kTemporarySuffix)) return {};
  name.remove_prefix(kTemporaryPrefix.size());
  if (name.size() <= kTemporarySuffix.size()) return {};
  name.remove_suffix(kTemporarySuffix.size());
  const size_t dot = name.find('.');
  if (dot == std::string_view::npos || !isNumber(name.substr(0, dot)) || !isNumber(name.substr(dot + 1))) return {};
  return name.substr(0, dot);
}

}  // namespace

bool isTemporaryName(std::string_view path) { return !writerOf(path).empty(); }

bool removeIfAbandoned(const std::string& path) {
  if (!isTemporaryName(path)) return false;
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW);
  if (descriptor < 0) return false;
  // Removed under the lock, so that whoever just made the file sees it gone when it gets the lock. A writer may have
  // finished before, and another one begun a file of the same name.
  const bool isRemoved =
      flock(descriptor, LOCK_EX | LOCK_NB) == 0 && isNameOf(path, descriptor) && unlink(path.c_str()) == 0;
  ::close(descriptor);
  return isRemoved;
}

void removeOwnTemporaries() {
  // The lowest free one is given. A model of more shards than this holds one for each: then the file stays until the
  // next one is written there.
  constexpr int kMostDescriptors = 1024;
  std::array<char, 16> digits{};
  const std::string_view self(digits.data(), std::to_chars(digits.begin(), digits.end(), getpid()).ptr);
  for (int descriptor = 0; descriptor < kMostDescriptors; ++descriptor) {
    std::array<char, sizeof("/proc/self/fd/") + 10> link{"/proc/self/fd/"};
    char* const end =
        std::to_chars(link.data() + std::strlen(link.data()), link.data() + link.size() - 1, descriptor).ptr;
    *end = '\0';
    std::array<char, PATH_MAX> path{};
    const ssize_t length = readlink(link.data(), path.data(), path.size() - 1);
    if (length > 0 && writerOf({path.data(), static_cast<size_t>(length)}) == self) unlink(path.data());
  }
}

Result<AtomicFile> AtomicFile::create(const std::string& name) {
  FIRN_ASSIGN_OR_RETURN(const std::string path, targetOf(name));
  struct stat info{};
  const bool exists = stat(path.c_str(), &info) == 0;
  // A name that cannot be, as one of more than 255 bytes, would fail at the rename only, when all the work is done.
  if (!exists && errno != ENOENT) return systemError("cannot write " + printablePath(path), errno);
  // The rename at the end would replace a device or pipe by a file.
  if (exists && !S_ISREG(info.st_mode)) {
    return invalidArgument(printablePath(path) + " is " + (S_ISDIR(info.st_mode) ? "a folder" : "no regular file") +
                           ", expected the name of a file to write");
  }
  // The rename would not ask: it replaces what its owner has made read-only.
  if (exists && access(path.c_str(), W_OK) != 0) return systemError("cannot write " + printablePath(path), errno);
  std::string temporary;
  const int descriptor = createBeside(path, 0600, temporary);
  if (descriptor < 0) return systemError("cannot create a file in " + printablePath(folderOf(path)), errno);
  AtomicFile file;
  file.path_ = path;
  file.temporaryPath_ = temporary;
  file.descriptor_ = descriptor;
  return file;
}

AtomicFile::~AtomicFile() { discard(); }

AtomicFile::AtomicFile(AtomicFile&& other) noexcept { *this = std::move(other); }

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    temporaryPath_ = std::exchange(other.temporaryPath_, {});
    size_ = std::exchange(other.size_, 0);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

void AtomicFile::discard() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!temporaryPath_.empty()) unlink(temporaryPath_.c_str());
  descriptor_ = -1;
  temporaryPath_.clear();
  size_ = 0;
}

Status AtomicFile::append(std::span<const std::byte> bytes) {
  FIRN_RETURN_IF_ERROR(writeAll(descriptor_, size_, bytes, path_));
  size_ += bytes.size();
  return Status::ok();
}

Status AtomicFile::writeAt(uint64_t offset, std::span<const std::byte> bytes) {
  return writeAll(descriptor_, offset, bytes, path_);
}

Status AtomicFile::commit() {
  if (descriptor_ < 0) return internalError("commit of a file that is not open: " + printablePath(path_));
  FIRN_RETURN_IF_ERROR(takeMode(descriptor_, path_));
  if (fsync(descriptor_) != 0) return systemError("cannot flush " + printablePath(path_), errno);
  if (rename(temporaryPath_.c_str(), path_.c_str()) != 0)
    return systemError("cannot rename to " + printablePath(path_), errno);
  temporaryPath_.clear();
  syncFolder(path_);
  discard();
  return Status::ok();
}

Status writeFileAtomically(const std::string& path, std::span<const std::byte> bytes) {
  FIRN_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  FIRN_RETURN_IF_ERROR(file.append(bytes));
  return file.commit();
}

}  // namespace firn
