#include "compiler/driver.h"

#include <algorithm>
#include <filesystem>
#include <unordered_map>

#include "base/concat.h"
#include "base/joined.h"
#include "blob/kv_part.h"
#include "blob/machine/machine.h"
#include "blob/machine_memory.h"
#include "blob/names.h"
#include "blob/writer.h"
#include "compiler/blob_emit/emit.h"
#include "compiler/compiler_id.h"
#include "compiler/import/import.h"
#include "compiler/ir/graph.h"
#include "compiler/ladders.h"
#include "compiler/model_card.h"
#include "compiler/passes/import_model.h"
#include "compiler/passes/npu/passes.h"
#include "compiler/passes/passes.h"
#include "compiler/passes/task_passes.h"
#include "compiler/placement.h"
#include "compiler/target/npu/machine_files.h"
#include "compiler/target/targets.h"
#include "kernels/cpu/arithmetic.h"
#include "llvm/Support/raw_os_ostream.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Pass/PassManager.h"

namespace firn::compiler {
namespace {

/// Rows of the head entries: the last token, a small chunk, and many for evaluation.
constexpr int64_t kHeadRows[] = {1, 16, 64};
/// Of the lists of the best logits (docs/decisions/0020-top-k-in-the-head.md).
constexpr uint32_t kTopTokens = 64;

Status checkOptions(const CompileOptions& options) {
  for (const auto& [option, name] : {std::pair<std::string_view, const std::string&>{"--device", options.target},
                                     {"--prefill-device", options.prefillTarget},
                                     {"--decode-device", options.decodeTarget}}) {
    if ((name.empty() && &name != &options.target) || blob::targetFromName(name)) continue;
    return invalidArgument(concat(option, " is '", name, "', expected one of ", blob::targetNames()));
  }
  if (!options.stopAfter.empty() && std::ranges::find(kPhases, options.stopAfter) == std::end(kPhases)) {
    return invalidArgument(
        concat("--stop-after is '", options.stopAfter, "', expected one of ", joined(kPhases, ", ")));
  }
  if (options.kvType && !blob::isKvType(*options.kvType)) {
    return invalidArgument(concat("the KV type is none of ", blob::kvTypeNames()));
  }
  for (uint32_t planes :
       {options.activationPlanes.attentionInputs, options.activationPlanes.head, options.activationPlanes.others}) {
    if (planes < 1 || planes > 2) return invalidArgument(concat("activation planes are ", planes, ", expected 1 or 2"));
  }
  bool writes = options.stopAfter.empty() || options.stopAfter == kPhases[std::size(kPhases) - 1];
  if (writes && options.outputPath.empty()) return invalidArgument("no output file is named: give -o FILE.firn");
  std::error_code ignored;
  // The finished blob takes the place of what has its name, which must not be a device such as /dev/null.
  const std::filesystem::file_status existing = std::filesystem::status(options.outputPath, ignored);
  if (writes && std::filesystem::exists(existing) && !std::filesystem::is_regular_file(existing)) {
    return invalidArgument(concat("the output '", options.outputPath, "' exists and is no regular file"));
  }
  const std::filesystem::path folder = std::filesystem::path(options.outputPath).parent_path();
  if (writes && !folder.empty() && !std::filesystem::is_directory(folder, ignored)) {
    return notFound(concat("the output '", options.outputPath, "' has no folder: '", folder.string(), "' ",
                           std::filesystem::exists(folder, ignored) ? "is none" : "does not exist"));
  }
  return Status::ok();
}

/// The blob may not take the place of a file that it is made from.
Status checkOutput(const CompileOptions& options, const import::ModelSpec& spec) {
  for (const import::SourceFile& source : spec.sourceFiles) {
    std::error_code ignored;  // an output that does not exist yet equals nothing
    if (std::filesystem::equivalent(source.path, options.outputPath, ignored)) {
      return invalidArgument(concat("the output '", options.outputPath, "' is the model file itself"));
    }
  }
  return Status::ok();
}

/// Weights are read from the mapped files up to the end: a blob of a file that was written meanwhile would be part old
/// and part new.
Status checkSources(const import::ModelSpec& spec) {
  for (const import::SourceFile& source : spec.sourceFiles) {
    FIRN_RETURN_IF_ERROR(checkUnchanged(source.path, source.state));
  }
  return Status::ok();
}

/// A bug of ours, in words.
Status phaseBug(std::string_view phase, std::string_view what, const std::string& message) {
  return internalError(concat("phase ", phase, " ", what, "; this is a bug in firn: report it with the command line: ",
                              message.empty() ? "no reason was given" : message));
}

/// Which failure a diagnostic of a phase is: what a model asks for and firn has not, or a bug.
Status phaseError(std::string_view phase, const std::string& message) {
  constexpr std::string_view kRefusing[] = {"import", "place", "legalize", "strategy", "lower"};
  // What schedule and barriers refuse; anything else that fails there contradicts itself.
  constexpr std::string_view kRefusals[] = {"npu.schedule_c2", "npu.barriers_c2"};
  const auto isSaid = [&](std::string_view label) { return message.find(label) != std::string::npos; };
  const bool isRefusal =
      std::ranges::find(kRefusing, phase) != std::end(kRefusing) || std::ranges::any_of(kRefusals, isSaid);
  if (!isRefusal || message.empty()) return phaseBug(phase, "failed", message);
  return unsupported(concat("phase ", phase, ": ", message));
}

/// The hash that `hex` (32 digits, as toHex prints it) stands for.
blob::Hash128 hashOfHex(const std::string& hex) {
  return {std::stoull(hex.substr(16, 16), nullptr, 16), std::stoull(hex.substr(0, 16), nullptr, 16)};
}

/// Runs the phases on one module and stops where it is told to.
class Compilation {
 public:
  Compilation(const CompileOptions& options, const std::vector<PlaceRange>& places, const import::ModelSpec& spec,
              const Sizes& sizes, const std::string& machine)
      : options_(options),
        places_(places),
        spec_(spec),
        sizes_(sizes),
        machine_(machine),
        context_(mlir::MLIRContext::Threading::DISABLED) {}

  /// All phases up to the last one asked for; true when the blob is to be written too.
  Result<bool> runPasses() {
    Status status = runPhase("import", [&] {
      module_ = passes::buildGraph(spec_, context_, {.evensHeadNorms = options_.kvType == DType::kI8});
      if (!module_) return mlir::failure();
      if (!machine_.empty()) (*module_)->setAttr(graph::kMachineAttr, mlir::StringAttr::get(&context_, machine_));
      return mlir::success();
    });
    FIRN_RETURN_IF_ERROR(status);
    if (isLast("import")) return false;
    for (std::string_view phase : kPhases) {
      std::unique_ptr<mlir::Pass> pass = passOf(phase);
      if (!pass) continue;
      FIRN_RETURN_IF_ERROR(runPhase(phase, [&] {
        mlir::PassManager manager(&context_);
        manager.enableVerifier(false);  // runPhase tells what it finds from a refusal
        manager.addPass(std::move(pass));
        return manager.run(*module_);
      }));
      if (isLast(phase)) return false;
    }
    return true;
  }

  Status writeBlob(CompileReport& report) {
    FIRN_RETURN_IF_ERROR(announce("blob", 0, 0));
    FIRN_ASSIGN_OR_RETURN(blob::Program program, blob_emit::emitProgram(*module_));
    FIRN_RETURN_IF_ERROR(checkMemory(program));
    BlobReport& written = report.written.emplace();
    written.entries = program.entries.size();
    written.bodies = program.bodies.size();
    written.tasks = program.tasks.size();
    written.kvType = program.header.kvType;
    written.kvBytes = program.header.kvBytes;
    written.scratchBytes = scratchOf(program);
    written.weightsBytes = program.header.weightsBytes;
    FIRN_ASSIGN_OR_RETURN(blob::Writer writer, blob::Writer::create(options_.outputPath, contents(std::move(program))));
    std::unordered_map<std::string_view, const import::TensorView*> tensors;
    for (const import::TensorView* tensor : allTensors(spec_)) tensors.emplace(tensor->name, tensor);
    auto find = [&](std::string_view name) {
      auto found = tensors.find(name);
      return found == tensors.end() ? nullptr : found->second;
    };
    auto progress = [&](uint64_t done, uint64_t total) { return announce("blob", done, total).isOk(); };
    if (options_.hasWeights) FIRN_RETURN_IF_ERROR(blob_emit::emitWeights(*module_, find, progress, writer));
    FIRN_RETURN_IF_ERROR(announce("blob", written.weightsBytes, written.weightsBytes));
    FIRN_RETURN_IF_ERROR(checkSources(spec_));
    return writer.finish();
  }

  /// What a run keeps in DDR fits that of the machine.
  Status checkMemory(const blob::Program& program) const {
    if (!runsOnMachine(program)) return Status::ok();
    FIRN_ASSIGN_OR_RETURN(const machine::Machine machine, machine::parseMachine(machine_, "the machine file"));
    blob::ProgramHeader header = program.header;
    header.scratchBytes = scratchOf(program);
    return blob::checkMachineMemory(header, machine);
  }

  static bool runsOnMachine(const blob::Program& program) {
    return std::ranges::any_of(program.entries, [](const blob::EntryRecord& entry) {
      return target::findTarget(blob::targetName(entry.target))->needsMachine;
    });
  }

  /// The most that an entry uses.
  static uint64_t scratchOf(const blob::Program& program) {
    uint64_t bytes = 0;
    for (const blob::EntryRecord& entry : program.entries) bytes = std::max(bytes, entry.scratchBytes);
    return bytes;
  }

  /// What the phases so far warned of.
  const std::vector<std::string>& warnings() const { return warnings_; }

  void print(std::ostream& out) {
    llvm::raw_os_ostream stream(out);
    module_->print(stream);
    stream << '\n';
  }

 private:
  std::unique_ptr<mlir::Pass> passOf(std::string_view phase) {
    if (phase == "stateless") return passes::createStatelessPass();
    if (phase == "freeze") {
      passes::FreezeOptions freeze;
      freeze.chunks.assign(sizes_.prefillChunks.begin(), sizes_.prefillChunks.end());
      freeze.contexts.assign(sizes_.contexts.begin(), sizes_.contexts.end());
      freeze.batches.assign(sizes_.batches.begin(), sizes_.batches.end());
      freeze.kvRows = sizes_.kvRows;
      freeze.topTokens = std::min(kTopTokens, spec_.vocab);
      freeze.headRows.assign(std::begin(kHeadRows), std::end(kHeadRows));
      return passes::createFreezePass(freeze);
    }
    if (phase == "fold") return passes::createFoldPass();
    if (phase == "place") {
      return passes::createPlacePass({options_.target, options_.prefillTarget, options_.decodeTarget, places_});
    }
    if (phase == "legalize") return passes::createNpuLegalizePass();
    if (phase == "fuse") return passes::createNpuFusePass();
    if (phase == "strategy") return passes::createNpuStrategyPass();
    if (phase == "lower") {
      const ActivationPlanes& planes = options_.activationPlanes;
      return passes::createLowerPass({sizes_.lanes, sizes_.maxPromptTokens, sizes_.minResponseTokens,
                                      planes.attentionInputs, planes.head, planes.others, options_.kvType});
    }
    if (phase == "schedule") return passes::createSchedulePass(options_.cancel);
    if (phase == "barriers") return passes::createNpuBarriersPass(options_.cancel);
    if (phase == "check") return passes::createNpuCheckPass(options_.cancel);
    if (phase == "emit") return passes::createNpuEmitPass();
    return nullptr;
  }

  bool isCancelled() const { return options_.cancel != nullptr && options_.cancel->load(); }
  static Status cancelledCompile() { return cancelled("the compile was stopped"); }

  /// Says where the compile is; cancelled when it was told to stop.
  Status announce(std::string_view phase, uint64_t done, uint64_t total) {
    if (isCancelled()) return cancelledCompile();
    if (options_.progress) options_.progress(phase, done, total);
    return Status::ok();
  }

  Status runPhase(std::string_view phase, llvm::function_ref<mlir::LogicalResult()> work) {
    FIRN_RETURN_IF_ERROR(announce(phase, 0, 0));
    std::string message;
    mlir::ScopedDiagnosticHandler handler(&context_, [&](mlir::Diagnostic& diagnostic) {
      if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Warning) warnings_.push_back(diagnostic.str());
      if (diagnostic.getSeverity() != mlir::DiagnosticSeverity::Error) return mlir::success();
      message += concat(message.empty() ? "" : "; ", diagnostic.str());
      return mlir::success();
    });
    if (mlir::failed(work())) {
      if (isCancelled()) return cancelledCompile();
      // What a phase before moved elsewhere may be why this one cannot go on.
      if (!message.empty()) {
        for (const std::string& warning : warnings_) message += concat(" (", warning, ")");
      }
      return phaseError(phase, message);
    }
    if (mlir::failed(mlir::verify(*module_))) return phaseBug(phase, "made a program that does not verify", message);
    return Status::ok();
  }

  bool isLast(std::string_view phase) const { return options_.stopAfter == phase; }

  /// Of several targets that of the first part of the entries that generate.
  blob::Target ownTarget(const blob::Program& program) const {
    const auto generate = std::ranges::find(program.entries, blob::EntryKind::kGenerate, &blob::EntryRecord::kind);
    return generate != program.entries.end() ? generate->target : program.entries.front().target;
  }

  blob::Contents contents(blob::Program program) {
    blob::Contents contents;
    contents.ident.target = ownTarget(program);
    contents.ident.lanes = sizes_.lanes;
    contents.ident.arithmeticId = cpu::kArithmeticId;
    contents.ident.modelHash = spec_.sourceHash;
    contents.ident.compilerId = hashOfHex(compilerId());
    if (runsOnMachine(program)) contents.machine = machine_;
    contents.card = modelCard(spec_, sizes_, options_);
    contents.tokenizer = spec_.tokenizerImage;
    contents.chatTemplate = spec_.chatTemplate;
    contents.program = std::move(program);
    contents.hasWeights = options_.hasWeights;
    return contents;
  }

  const CompileOptions& options_;
  const std::vector<PlaceRange>& places_;
  const import::ModelSpec& spec_;
  const Sizes& sizes_;
  const std::string& machine_;  ///< text of the machine file
  std::vector<std::string> warnings_;
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

bool needsMachine(const CompileOptions& options, const std::vector<PlaceRange>& places) {
  const auto needs = [](const std::string& name) {
    const target::Target* target = target::findTarget(name);
    return target != nullptr && target->needsMachine;
  };
  return needs(options.target) || needs(options.prefillTarget) || needs(options.decodeTarget) ||
         std::ranges::any_of(places, needs, &PlaceRange::target);
}

/// The text of the machine file, verified; empty where nothing is on the npu.
Result<std::string> machineOf(const CompileOptions& options, const std::vector<PlaceRange>& places) {
  if (!needsMachine(options, places)) return std::string();
  const std::string_view name = options.machine.empty() ? npu::kDefaultMachine : std::string_view(options.machine);
  FIRN_ASSIGN_OR_RETURN(std::string text, npu::machineText(name));
  FIRN_RETURN_IF_ERROR(machine::parseMachine(text, name).status());
  return text;
}

void addWarnings(const import::ModelSpec& spec, const Sizes& sizes, CompileReport& report) {
  if (spec.trainedContext != 0 && sizes.kvRows > spec.trainedContext) {
    report.warnings.push_back(concat("the model was trained for ", spec.trainedContext,
                                     " tokens, the program has room for ", sizes.kvRows, ": answers beyond ",
                                     spec.trainedContext,
                                     " tokens will be poor; --max-prompt-len and --min-response-len set the room"));
  }
  if (!spec.unusedTensors.empty()) {
    report.warnings.push_back(concat("the model has ", spec.unusedTensors.size(),
                                     " tensors that its architecture does not use, the first is ",
                                     spec.unusedTensors.front()));
  }
  report.warnings.insert(report.warnings.end(), spec.tokenizerNotes.begin(), spec.tokenizerNotes.end());
  if (!spec.tokenizerAbsence.empty()) {
    report.warnings.push_back(
        concat("the blob has no tokenizer, so prompts are token ids (--prompt-ids): ", spec.tokenizerAbsence));
  }
}

}  // namespace

Status compile(const CompileOptions& options, CompileReport* report) {
  CompileReport local;
  CompileReport& facts = report != nullptr ? *report : local;
  facts = {};
  FIRN_RETURN_IF_ERROR(checkOptions(options));
  FIRN_ASSIGN_OR_RETURN(const std::vector<PlaceRange> places, parsePlaces(options.places));
  FIRN_ASSIGN_OR_RETURN(const Sizes sizes, chooseSizes(options, places));
  FIRN_ASSIGN_OR_RETURN(const import::ModelSpec spec, import::importModel(options.modelPath));
  FIRN_RETURN_IF_ERROR(checkWidth(sizes, spec.embed));
  FIRN_RETURN_IF_ERROR(checkOutput(options, spec));
  FIRN_RETURN_IF_ERROR(checkPlaces(places, static_cast<uint32_t>(spec.layers.size())));
  facts.maxPromptTokens = sizes.maxPromptTokens;
  facts.minResponseTokens = sizes.minResponseTokens;
  facts.kvRows = sizes.kvRows;
  facts.lanes = sizes.lanes;
  facts.prefillChunks = sizes.prefillChunks;
  facts.contexts = sizes.contexts;
  facts.batches = sizes.batches;
  addWarnings(spec, sizes, facts);
  FIRN_ASSIGN_OR_RETURN(const std::string machine, machineOf(options, places));
  Compilation compilation(options, places, spec, sizes, machine);
  FIRN_ASSIGN_OR_RETURN(const bool writes, compilation.runPasses());
  facts.warnings.insert(facts.warnings.end(), compilation.warnings().begin(), compilation.warnings().end());
  if (options.printTo != nullptr) compilation.print(*options.printTo);
  if (!writes) return Status::ok();
  FIRN_RETURN_IF_ERROR(compilation.writeBlob(facts));
  std::error_code ignored;
  facts.written->blobBytes = std::filesystem::file_size(options.outputPath, ignored);
  return Status::ok();
}

}  // namespace firn::compiler
