#include "tools/output_file.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/atomic_file.h"
#include "base/concat.h"
#include "compiler/import/gguf_reader.h"
#include "compiler/target/npu/machine_files.h"
#include "tools/file_kind.h"

namespace firn::tools {

namespace fs = std::filesystem;

namespace {

Result<std::vector<std::string>> pathsOf(const InputFiles& inputs) {
  std::vector<std::string> paths = inputs.others;
  const auto builtIn = npu::machineNames();
  if (!inputs.machine.empty() && std::ranges::find(builtIn, inputs.machine) == builtIn.end()) {
    paths.push_back(inputs.machine);
  }
  if (inputs.model.empty()) return paths;
  FIRN_ASSIGN_OR_RETURN(const bool isCompiled, isBlob(inputs.model));
  paths.push_back(inputs.model);
  if (isCompiled) return paths;
  FIRN_ASSIGN_OR_RETURN(const import::GgufFile file, import::GgufFile::open(inputs.model));
  for (const import::GgufFile::ShardView& shard : file.shards()) paths.push_back(shard.path);
  return paths;
}

}  // namespace

Status checkOutput(const std::string& path, const std::string& option, const InputFiles& inputs) {
  if (path == "-") {
    return invalidArgument(option + " -: found standard output, expected the name of a file; ./- is one of that name");
  }
  fs::path folder;
  if (const auto file = AtomicFile::create(path); file) {
    folder = fs::path(file->path()).parent_path();
  } else {
    return Status(file.status().code(), file.status().message() + ". Name a file that can be written")
        .withPlace(option);
  }
  removeAbandonedTemporaries(folder.empty() ? "." : folder.string());
  if (std::error_code ignored; !fs::exists(path, ignored)) return Status::ok();  // no input either
  FIRN_ASSIGN_OR_RETURN(const std::vector<std::string> read, pathsOf(inputs));
  for (const std::string& input : read) {
    std::error_code ignored;
    if (!fs::equivalent(input, path, ignored)) continue;
    return invalidArgument(
        concat(option, ": the output '", path, "' is the input '", input, "' itself; name another file"));
  }
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
