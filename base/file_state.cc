#include "base/file_state.h"

#include <sys/stat.h>

#include <cerrno>

#include "base/quote.h"
#include "base/system_error.h"

namespace firn {
namespace {

int64_t nanoseconds(const timespec& time) { return time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec; }

}  // namespace

Result<FileState> fileState(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return systemError("cannot examine " + printablePath(path), errno);
  return FileState{.device = info.st_dev,
                   .inode = info.st_ino,
                   .bytes = static_cast<uint64_t>(info.st_size),
                   .modifiedNs = nanoseconds(info.st_mtim),
                   .changedNs = nanoseconds(info.st_ctim)};
}

Status checkUnchanged(const std::string& path, const FileState& before) {
  const Result<FileState> now = fileState(path);
  if (now.isOk() && *now == before) return Status::ok();
  return ioError(printablePath(path) +
                 ": the file changed while it was read, so what was read may be of two states. Wait until nobody "
                 "writes it, then try again");
}

}  // namespace firn
