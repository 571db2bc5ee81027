#include "tools/prompt_cache.h"

#include "base/quote.h"
#include "tools/file_kind.h"

namespace firn::tools {

Status checkPromptCache(const std::string& path, const InputFiles& inputs) {
  FIRN_RETURN_IF_ERROR(checkOutput(path, "--prompt-cache", inputs));
  const Result<FileKind> kind = fileKind(path);
  if (!kind) return kind.status().code() == Code::kNotFound ? Status::ok() : kind.status();
  if (*kind == FileKind::kSession) return Status::ok();
  if (*kind == FileKind::kEmpty) {
    return corrupt("--prompt-cache: " + printablePath(path) +
                   " is empty, expected a session that firn has saved. Remove it, or name another file");
  }
  // It may be anything, a model even: nobody is told to remove it.
  return corrupt("--prompt-cache: " + printablePath(path) +
                 " is no session that firn has saved (it does not begin with FIRNSNP). Name another file");
}

Status notTheWeightsAlone(const Status& failure, const std::string& path) {
  if (failure.code() != Code::kCorrupt) return failure;
  return {failure.code(), failure.message() + ". Or the rows that " + printablePath(path) +
                              " has of the prompt's beginning are no numbers: remove it, or name another file with "
                              "--prompt-cache"};
}

Status loadPromptCache(engine::Session& session, const std::string& path) {
  const Status loaded = session.load(path);
  if (loaded.isOk() || loaded.code() == Code::kNotFound) return Status::ok();
  return {loaded.code(), loaded.message() + ". Remove the file, or name another with --prompt-cache"};
}

}  // namespace firn::tools
