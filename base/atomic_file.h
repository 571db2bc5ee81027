// Writes a file so that readers see the old one or the whole new one, never a part.
// Not for appending to what exists.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "base/status.h"

namespace firn {

/// A new file under a temporary name of its own in the folder of `path`, or of what it leads to when it is a symbolic
/// link (which stays, and whose target need not exist); commit() makes it durable and gives it its name, replacing what
/// had it (several writers at once: the last commit wins). A file that is replaced hands on its
/// permissions, and its owner and group where the system lets it; a new one follows the umask. Until then only its
/// owner may open it. Destroyed uncommitted, it is removed. Movable; one thread.
class AtomicFile {
 public:
  /// invalid_argument when `path` is there and no regular file, not_found when the folder does not exist,
  /// io for links that lead to each other, resource_exhausted when the disk is full, io with the system's reason
  /// otherwise.
  static Result<AtomicFile> create(const std::string& path);

  AtomicFile() = default;
  ~AtomicFile();
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;

  /// Writes behind the last append. resource_exhausted when the disk is full.
  Status append(std::span<const std::byte> bytes);
  /// Overwrites [offset, offset + bytes.size()) without moving the end of append.
  Status writeAt(uint64_t offset, std::span<const std::byte> bytes);
  /// The file that commit() makes: the end of the links that `path` was.
  const std::string& path() const { return path_; }
  /// Bytes appended so far.
  uint64_t size() const { return size_; }
  /// Flushes to the disk and renames. After it the object is empty. Errors as above; internal for a second commit.
  Status commit();

 private:
  void discard();

  std::string path_;
  std::string temporaryPath_;
  uint64_t size_ = 0;
  int descriptor_ = -1;
};

/// True when the last part of `path` is a name that AtomicFile gives: .firn.PROCESS.NUMBER.tmp
bool isTemporaryName(std::string_view path);

/// Removes `path` if it is the temporary file of an AtomicFile whose process has ended, so that nobody will give it its
/// name; true when it did.
bool removeIfAbandoned(const std::string& path);

/// Removes the temporary files that AtomicFiles of this process have open, whose commits fail from then on: for a
/// process that ends without its destructors. May be called from a signal handler.
void removeOwnTemporaries();

/// create, append, commit in one call.
Status writeFileAtomically(const std::string& path, std::span<const std::byte> bytes);

}  // namespace firn
