#include "tools/model_source.h"

#include <chrono>
#include <filesystem>
#include <iostream>

#include "base/align.h"
#include "base/concat.h"
#include "base/cpus.h"
#include "blob/kv_part.h"
#include "blob/layout.h"
#include "blob/names.h"
#include "compiler/driver.h"
#include "compiler/import/import.h"
#include "compiler/ladders.h"
#include "runtime/buffers.h"
#include "tools/counted.h"
#include "tools/file_kind.h"
#include "tools/name_options.h"
#include "tools/npu_options.h"
#include "tools/number_option.h"

namespace firn::tools {
namespace {

using Clock = std::chrono::steady_clock;

/// On its devices. `start`: when its file was about to be opened.
Result<OpenModel> openOnDevices(blob::Blob blob, const engine::ModelOptions& options, Clock::time_point start) {
  OpenModel open;
  FIRN_ASSIGN_OR_RETURN(open.model, engine::Model::create(std::move(blob), options));
  open.loadMs = std::chrono::duration<double, std::milli>(Clock::now() - start).count();
  return open;
}

Result<OpenModel> openBlob(const std::string& path, const engine::ModelOptions& options) {
  const Clock::time_point start = Clock::now();
  FIRN_ASSIGN_OR_RETURN(blob::Blob blob, blob::Blob::open(path));
  const std::string targets = blob::targetNames(blob.targets());
  if (!options.device.empty() && options.device != targets) {
    return invalidArgument(path + ": the blob was compiled for device " + targets + ", --device is " + options.device +
                           "; leave --device out, or compile the model again with --device " + options.device);
  }
  return openOnDevices(std::move(blob), options, start);
}

/// A file of the cache that is no good blob any more is no fault of the user's.
bool isDamage(const Status& status) {
  return status.code() == Code::kCorrupt || status.code() == Code::kVersionMismatch || status.code() == Code::kNotFound;
}

/// More threads than CPUs are allowed, since the bits are those of the program; who asks for them should know the
/// price.
void noteThreads(uint32_t threads) {
  const size_t cpus = allowedCpus().size();
  if (threads <= cpus) return;
  std::cerr << "firn: note: --threads " << threads << " is more than the " << counted(cpus, "CPU")
            << " of this process: they take turns, which is slower than --threads " << cpus << "\n";
}

PlannedLimits plannedLimits(const CompileChoice& choice) {
  const compiler::CompileOptions defaults;
  const uint32_t prompt = choice.maxPromptLen != 0 ? choice.maxPromptLen : defaults.maxPromptTokens;
  const uint32_t response = choice.minResponseLen != 0 ? choice.minResponseLen : defaults.minResponseTokens;
  PlannedLimits limits{.maxPromptTokens = roundUp(prompt, compiler::kSizeUnit), .kvRows = 0};
  limits.kvRows = limits.maxPromptTokens + roundUp(response, compiler::kSizeUnit);
  return limits;
}

/// Whether this machine has memory for the cache of a session, which a compile is not needed to know. The type of the
/// cache is that which is named, or f16: a device whose own is larger is refused behind the compile only.
Status checkCacheFits(const std::string& kvType, const import::ModelSpec& model, const PlannedLimits& limits) {
  const DType type = blob::kvTypeFromName(kvType).value_or(DType::kF16);
  const auto part = blob::KvPart::of(type, model.kvHeads, limits.kvRows, model.headDim);
  const Status fits = runtime::checkDeviceMemory(part ? part->bytes() * 2 * model.layers.size() : UINT64_MAX);
  return fits.isOk() ? fits
                     : fits.withPlace(concat("the KV cache of ", limits.kvRows, " rows of ", dtypeInfo(type)->name,
                                             " (--max-prompt-len, --min-response-len, --kv-type)"));
}

}  // namespace

void ModelChoice::addTo(CLI::App& command) {
  command.add_option("model", path, "A GGUF model, or a blob made by firn compile")->required();
  command.add_option("--device", compile.device, blob::targetNames() + " (default: a blob's own, or cpu)")
      ->check(deviceCheck());
  command.add_option("--prefill-device", compile.prefillDevice, "Device that runs the prompt (for a GGUF)")
      ->check(deviceCheck());
  command.add_option("--decode-device", compile.decodeDevice, "Device that runs everything else (for a GGUF)")
      ->check(deviceCheck());
  command.add_option("--place", compile.place, std::string(kPlaceHelp) + " (for a GGUF)");
  command.add_option("--machine", compile.machine, machineHelp() + " (for a GGUF)");
  const NumberRange rows = {1, compiler::kMaxTokens};  // as firn-compile
  addNumber(command, "--threads", compile.threads, "Threads (default: the CPUs of this process)", {1, blob::kMaxLanes});
  addNumberList(command, "--prefill-chunks", compile.prefillChunks,
                "Chunk sizes of the prompt: among those of a blob; of a GGUF as firn compile takes them (default: all)",
                rows);
  addNumberList(command, "--contexts", compile.contexts, "Context sizes: the same", rows);
  addNumber(command, "--max-prompt-len", compile.maxPromptLen, "Longest prompt in tokens (for a GGUF)", rows);
  addNumber(command, "--min-response-len", compile.minResponseLen, "Room for the answer in tokens (for a GGUF)", rows);
  command
      .add_option("--kv-type", compile.kvType,
                  "Element type of the KV cache: " + blob::kvTypeNames() + " (default: a blob's own, f16 on cpu)")
      ->check(kvTypeCheck());
}

Result<OpenModel> openModel(const ModelChoice& choice, const PlanCheck& check) {
  engine::ModelOptions options{.device = choice.compile.device, .threads = choice.compile.threads, .ladders = {}};
  FIRN_ASSIGN_OR_RETURN(const bool blob, isBlob(choice.path));
  if (blob) {
    if (choice.compile.maxPromptLen != 0 || choice.compile.minResponseLen != 0) {
      return invalidArgument("--max-prompt-len and --min-response-len are fixed in a blob; give them to firn compile");
    }
    for (const auto& [option, value] :
         {std::pair("--prefill-device", &choice.compile.prefillDevice),
          std::pair("--decode-device", &choice.compile.decodeDevice), std::pair("--place", &choice.compile.place),
          std::pair("--machine", &choice.compile.machine)}) {
      if (!value->empty()) {
        return invalidArgument(std::string(option) + " is fixed in a blob; give it to firn compile");
      }
    }
    options.ladders = {choice.compile.prefillChunks, choice.compile.contexts};
    FIRN_ASSIGN_OR_RETURN(OpenModel open, openBlob(choice.path, options));
    const std::string kvType(dtypeInfo(open.model->blob().header().kvType)->name);
    if (!choice.compile.kvType.empty() && choice.compile.kvType != kvType) {
      return invalidArgument(choice.path + ": the blob's KV type is " + kvType + ", --kv-type is " +
                             choice.compile.kvType + "; leave it out, or compile the model again with it");
    }
    noteThreads(choice.compile.threads);  // behind all refusals
    return open;
  }
  const CompileChoice& compile = choice.compile;
  FIRN_RETURN_IF_ERROR(checkNpuOptions({.device = compile.device,
                                        .prefillDevice = compile.prefillDevice,
                                        .decodeDevice = compile.decodeDevice,
                                        .place = compile.place},
                                       {.machine = compile.machine, .kvType = compile.kvType}));
  noteThreads(compile.threads);
  const auto beforeCompile = [&]() -> Status {
    FIRN_ASSIGN_OR_RETURN(const import::ModelSpec model, import::importModel(choice.path));
    PlannedLimits limits = plannedLimits(choice.compile);
    limits.vocab = model.vocab;
    if (check) FIRN_RETURN_IF_ERROR(check(limits));
    return checkCacheFits(choice.compile.kvType, model, limits);
  };
  options.device.clear();  // the blob was made for what was named
  OpenModel open;
  const auto openIt = [&](const CachedBlob& cached) -> Status {
    const Clock::time_point start = Clock::now();
    FIRN_ASSIGN_OR_RETURN(blob::Blob compiled, openCached(cached));
    FIRN_ASSIGN_OR_RETURN(open, openOnDevices(std::move(compiled), options, start));
    return Status::ok();
  };
  FIRN_ASSIGN_OR_RETURN(open.compiled, openCompiled(choice.path, choice.compile, openIt, beforeCompile));
  return open;
}

Result<bool> openCompiled(const std::string& path, const CompileChoice& choice,
                          const std::function<Status(const CachedBlob& cached)>& open,
                          const std::function<Status()>& check) {
  noteIgnoredCacheHome();
  FIRN_ASSIGN_OR_RETURN(CachedBlob cached, cachedBlob(path, choice, check));
  Status opened = open(cached);
  if (!cached.compiled && isDamage(opened)) {
    std::error_code ignored;  // the compile replaces it in any case
    std::filesystem::remove(cached.path, ignored);
    FIRN_ASSIGN_OR_RETURN(cached, cachedBlob(path, choice));
    opened = open(cached);
  }
  if (!opened.isOk()) return opened;
  return cached.compiled;
}

Result<std::vector<std::byte>> tokenizerImage(const std::string& path) {
  FIRN_ASSIGN_OR_RETURN(const bool blob, isBlob(path));
  if (!blob) return import::importTokenizer(path);
  FIRN_ASSIGN_OR_RETURN(const blob::Blob file, blob::Blob::open(path));
  const auto image = file.tokenizer();
  if (image.empty()) return unsupported(path + ": the blob has no tokenizer; its model had none that firn reads");
  return std::vector<std::byte>(image.begin(), image.end());
}

}  // namespace firn::tools
