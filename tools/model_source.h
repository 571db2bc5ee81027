// What a user may name as a model: a blob, or a GGUF that is compiled once. And the options for it that commands share.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/status.h"
#include "engine/model.h"
#include "tools/model_cache.h"
#include "tools/output_file.h"

namespace firn::tools {

/// A model that is ready to run.
struct OpenModel {
  std::shared_ptr<engine::Model> model;
  bool compiled = false;  ///< this call compiled it
  double loadMs = 0;      ///< time to map and check the blob and to load it on the device
};

/// The options `--device --threads --prefill-chunks --contexts --max-prompt-len --min-response-len
/// --kv-type` of a command.
struct ModelChoice {
  std::string path;
  CompileChoice compile;

  /// Adds MODEL and the options to `command`. The object must outlive the parse.
  void addTo(CLI::App& command);
  /// What is read of it, and `others`.
  InputFiles inputs(std::vector<std::string> others = {}) const { return {path, compile.machine, std::move(others)}; }
};

/// What a GGUF's program will have room for, by the options of its compile.
struct PlannedLimits {
  uint32_t maxPromptTokens = 0;
  uint32_t kvRows = 0;
  uint32_t vocab = 0;  ///< ids that the model knows
};

/// What a command can refuse without the compiled model: a compile may take a minute.
using PlanCheck = std::function<Status(const PlannedLimits&)>;

/// Opens `choice`: a blob as it is, on the device it was made for unless another is named, with the ladders as a choice
/// among its entries; a GGUF through the cache, with the ladders as compile options. A damaged file in the cache is
/// compiled again. `check` is called before a compile, which does not begin when it fails; who opens a blob finds the
/// same by its limits.
Result<OpenModel> openModel(const ModelChoice& choice, const PlanCheck& check = {});

/// Calls `open` with the compiled form of `choice`, a GGUF, which is found in the cache or compiled into
/// it; a file of the cache that `open` finds damaged is compiled again. `check` is called before a compile, which does
/// not begin when it fails. Gives whether this call compiled.
Result<bool> openCompiled(const std::string& path, const CompileChoice& choice,
                          const std::function<Status(const CachedBlob& cached)>& open,
                          const std::function<Status()>& check = {});

/// The tokenizer image of a blob or GGUF. The bytes live as long as the result.
Result<std::vector<std::byte>> tokenizerImage(const std::string& path);

}  // namespace firn::tools
