#include "tools/prompt_cache.h"

#include "base/mapped_file.h"
#include "base/quote.h"
#include "engine/snapshot.h"
#include "tools/output_file.h"

namespace firn::tools {

Status checkPromptCache(const std::string& path) {
  FIRN_RETURN_IF_ERROR(checkOutput(path, "--prompt-cache"));
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file) return file.status().code() == Code::kNotFound ? Status::ok() : file.status();
  uint64_t magic = 0;
  if (file->size() >= sizeof(magic))
    FIRN_RETURN_IF_ERROR(file->readAt(0, std::as_writable_bytes(std::span(&magic, 1))));
  if (magic == engine::kSnapshotMagic) return Status::ok();
  // It may be anything, a model even: nobody is told to remove it.
  return corrupt("--prompt-cache: " + printablePath(path) +
                 " is no session that firn has saved (it does not begin with FIRNSNP). Name another file");
}

Status loadPromptCache(engine::Session& session, const std::string& path) {
  const Status loaded = session.load(path);
  if (loaded.isOk() || loaded.code() == Code::kNotFound) return Status::ok();
  return {loaded.code(), loaded.message() + ". Remove the file, or name another with --prompt-cache"};
}

}  // namespace firn::tools
