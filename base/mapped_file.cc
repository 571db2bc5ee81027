#include "base/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/align.h"
#include "base/quote.h"
#include "base/system_error.h"

namespace firn {

namespace {

constexpr uint64_t kHugePage = 2ULL << 20;

std::string_view kindOf(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

/// Maps `size` > 0 bytes of `descriptor`; large files start at a 2 MiB boundary. MAP_FAILED with errno set on failure.
void* mapAligned(int descriptor, uint64_t size) {
  if (size < kHugePage) return mmap(nullptr, size, PROT_READ, MAP_PRIVATE, descriptor, 0);
  const uint64_t reserved = size + kHugePage;
  void* base = mmap(nullptr, reserved, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return MAP_FAILED;
  const auto address = reinterpret_cast<uintptr_t>(base);
  const uintptr_t start = roundUp(address, kHugePage);
  void* data = mmap(reinterpret_cast<void*>(start), size, PROT_READ, MAP_PRIVATE | MAP_FIXED, descriptor, 0);
  if (data == MAP_FAILED) {
    const int error = errno;
    munmap(base, reserved);
    errno = error;
    return MAP_FAILED;
  }
  if (start > address) munmap(base, start - address);
  const uint64_t page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  const uintptr_t end = roundUp(start + size, page);
  if (end < address + reserved) munmap(reinterpret_cast<void*>(end), address + reserved - end);
  return data;
}

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  // O_NONBLOCK: opening a pipe must not wait for its other end.
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return systemError("cannot open " + printablePath(path), errno);
  MappedFile file;
  file.path_ = path;
  file.descriptor_ = descriptor;
  struct stat info{};
  if (fstat(descriptor, &info) != 0) return systemError("cannot stat " + printablePath(path), errno);
  if (!S_ISREG(info.st_mode)) {
    return invalidArgument(printablePath(path) + " is " + std::string(kindOf(info.st_mode)) +
                           ", expected a regular file");
  }
  if (info.st_size > 0) {
    const auto size = static_cast<uint64_t>(info.st_size);
    void* data = mapAligned(descriptor, size);
    if (data == MAP_FAILED) return systemError("cannot map " + printablePath(path), errno);
    file.data_ = static_cast<const std::byte*>(data);
    file.size_ = size;
  }
  return file;
}

MappedFile::~MappedFile() { release(); }

MappedFile::MappedFile(MappedFile&& other) noexcept { *this = std::move(other); }

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    release();
    path_ = std::move(other.path_);
    data_ = std::exchange(other.data_, nullptr);
    size_ = std::exchange(other.size_, 0);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

void MappedFile::release() {
  if (data_ != nullptr) munmap(const_cast<std::byte*>(data_), size_);
  if (descriptor_ >= 0) ::close(descriptor_);
  data_ = nullptr;
  size_ = 0;
  descriptor_ = -1;
}

Status MappedFile::readAt(uint64_t offset, std::span<std::byte> out) const {
  if (offset > size_ || out.size() > size_ - offset) {
    return outOfRange(printablePath(path_) + ": " + std::to_string(out.size()) + " bytes at " + std::to_string(offset) +
                      " are asked for, the file has " + std::to_string(size_));
  }
  size_t done = 0;
  while (done < out.size()) {
    const ssize_t count = pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return systemError("cannot read " + printablePath(path_), errno);
    if (count == 0) return ioError(printablePath(path_) + " was truncated while it was read");
    done += static_cast<size_t>(count);
  }
  return Status::ok();
}

}  // namespace firn
