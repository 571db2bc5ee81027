// The file of firn run --prompt-cache: a session that one run saves and the next begins with.
#pragma once

#include <string>

#include "base/status.h"
#include "engine/session.h"
#include "tools/model_source.h"
#include "tools/output_file.h"

namespace firn::tools {

/// Whether `path` can be such a file: it can be written, is none of `inputs`, and what is there already was saved by a
/// session. Reads its first bytes alone.
Status checkPromptCache(const std::string& path, const InputFiles& inputs);

/// Whether what is there, if anything, can have been saved by `model`, a GGUF that is not compiled yet: by its header
/// alone, as far as that is known before a compile. A file that loadPromptCache would load passes.
Status checkSavedSession(const std::string& path, const ModelChoice& model, const PlannedLimits& limits);

/// Loads what an earlier run has saved; a file that does not exist yet is no failure.
Status loadPromptCache(engine::Session& session, const std::string& path);

/// `failure` of an answer to a prompt that begins with rows that were loaded: logits that are no numbers may come from
/// there.
Status notTheWeightsAlone(const Status& failure, const std::string& path);

}  // namespace firn::tools
