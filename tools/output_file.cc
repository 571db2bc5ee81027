#include "tools/output_file.h"

#include <filesystem>
#include <system_error>
#include <vector>

#include "base/atomic_file.h"

namespace firn::tools {

namespace fs = std::filesystem;

Status checkOutput(const std::string& path, const std::string& option) {
  if (path == "-") {
    return invalidArgument(option + " -: found standard output, expected the name of a file; ./- is one of that name");
  }
  const auto file = AtomicFile::create(path);
  if (!file) {
    return Status(file.status().code(), file.status().message() + ". Name a file that can be written")
        .withPlace(option);
  }
  const fs::path folder = fs::path(file->path()).parent_path();
  removeAbandonedTemporaries(folder.empty() ? "." : folder.string());
  return Status::ok();
}

void removeAbandonedTemporaries(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    if (isTemporaryName(at->path().string())) found.push_back(at->path().string());
  }
  for (const std::string& path : found) removeIfAbandoned(path);
}

}  // namespace firn::tools
