#include "tools/prompt_cache.h"

#include "base/quote.h"
#include "blob/kv_part.h"
#include "compiler/import/gguf_reader.h"
#include "compiler/import/import.h"
#include "engine/snapshot.h"
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

namespace {

/// A file that holds something else is of no use to this model; one that the system does not let us read may well be.
Status withAdvice(const Status& failure) {
  const bool isFiles = failure.code() == Code::kCorrupt || failure.code() == Code::kVersionMismatch;
  if (!isFiles) return failure;
  return {failure.code(), failure.message() + ". Remove the file, or name another with --prompt-cache"};
}

}  // namespace

Status checkSavedSession(const std::string& path, const ModelChoice& model, const PlannedLimits& limits) {
  FIRN_ASSIGN_OR_RETURN(const import::GgufFile file, import::GgufFile::open(model.path));
  const auto addKnown = [&](engine::SnapshotIdentity& identity) {
    identity.modelHash = import::sourceHash(file);
    identity.kvRows = limits.kvRows;
    const auto kvType = blob::kvTypeFromName(model.compile.kvType);
    if (kvType) identity.kvType = static_cast<uint32_t>(*kvType);
  };
  const Status checked = engine::checkSnapshot(path, addKnown);
  return checked.code() == Code::kNotFound ? Status::ok() : withAdvice(checked);
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
  return withAdvice(loaded);
}

}  // namespace firn::tools
