// A file mapped for reading: models and blobs are used in place, never copied.
// Not for writing (atomic_file.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/status.h"

namespace firn {

/// A regular file mapped read-only and private, without populating: opening costs the same for any size, pages are read
/// when touched. Movable; spans stay valid when it moves and end with it. Reads from any thread.
/// A file that is truncated while mapped faults when its lost pages are touched (SIGBUS; the programs name the file and
/// end, tools/mapping_fault.h): what must not fault is read with readAt instead.
class MappedFile {
 public:
  /// not_found, io (with the system's reason), or invalid_argument for a directory, pipe, socket or device. An empty
  /// file gives an empty span. Files of 2 MiB and more start at a 2 MiB boundary, so that 2 MiB aligned parts can use
  /// huge pages.
  static Result<MappedFile> open(const std::string& path);

  MappedFile() = default;
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  uint64_t size() const { return size_; }
  const std::string& path() const { return path_; }

  /// Copies [offset, offset + out.size()) of the file; io when the file has shrunk meanwhile, out_of_range when the
  /// range never was inside it.
  Status readAt(uint64_t offset, std::span<std::byte> out) const;

 private:
  void release();

  std::string path_;
  const std::byte* data_ = nullptr;
  uint64_t size_ = 0;
  int descriptor_ = -1;
};

}  // namespace firn
