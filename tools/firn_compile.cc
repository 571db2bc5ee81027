// The program firn-compile: a model file in, a blob out. The only program that links the compiler and MLIR; `firn
// compile` and the cache of compiled models start it.
#include <cstdio>
#include <exception>
#include <iostream>
#include <new>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "base/concat.h"
#include "base/joined.h"
#include "base/quote.h"
#include "blob/kv_part.h"
#include "blob/names.h"
#include "compiler/driver.h"
#include "compiler/ladders.h"
#include "tools/command.h"
#include "tools/file_kind.h"
#include "tools/mapping_fault.h"
#include "tools/name_options.h"
#include "tools/npu_options.h"
#include "tools/number_option.h"
#include "tools/output_file.h"
#include "tools/placement_report.h"
#include "tools/progress_bar.h"
#include "tools/standard_input.h"
#include "tools/usage.h"

namespace {

using firn::compiler::BlobReport;
using firn::compiler::CompileOptions;
using firn::compiler::CompileReport;
using firn::tools::addNumber;
using firn::tools::addNumberList;
using firn::tools::NumberRange;

/// What the command line says.
struct Request {
  CompileOptions options;
  bool print = false;
  bool json = false;
  bool quiet = false;
};

void describe(CLI::App& app, Request& request) {
  CompileOptions& options = request.options;
  app.add_option("MODEL", options.modelPath, "Model file (GGUF)")->required();
  app.add_option("-o,--output", options.outputPath, "Blob to write (FILE.firn)");
  app.add_option("--device", options.target, "Device the blob is for: " + firn::blob::targetNames())
      ->capture_default_str();
  app.add_option("--prefill-device", options.prefillTarget, "Device that runs the prompt (default: --device)");
  app.add_option("--decode-device", options.decodeTarget, "Device that runs everything else (default: --device)");
  app.add_option("--place", options.places, firn::tools::kPlaceHelp);
  app.add_option("--machine", options.machine, firn::tools::machineHelp());
  app.add_option_function<std::string>(
         "--weights", [&options](const std::string& where) { options.hasWeights = where != "none"; },
         "Where the weights go: blob, or none: they are not read, and the blob can only be inspected and simulated "
         "(default: blob)")
      ->check(CLI::IsMember({"blob", "none"}));
  app.add_option_function<std::string>(
         "--kv-type", [&options](const std::string& name) { options.kvType = firn::blob::kvTypeFromName(name); },
         "Element type of the KV cache: " + firn::blob::kvTypeNames() +
             " (default: f16, with the reference device f32)")
      ->check(firn::tools::kvTypeCheck());
  const NumberRange sizes = {1, firn::compiler::kMaxTokens};
  addNumber(app, "--max-prompt-len", options.maxPromptTokens,
            "Longest prompt in tokens, rounded up to 64 (default: 1024)", sizes);
  addNumber(app, "--min-response-len", options.minResponseTokens,
            "Tokens left for an answer, rounded up to 64 (default: 128)", sizes);
  addNumberList(app, "--prefill-chunks", options.prefillChunks,
                "Prefill chunk sizes, rounded up to 64; 16 is always there (default: 16,64,256,1024 up to the prompt)",
                sizes);
  addNumberList(app, "--contexts", options.contexts,
                "Context sizes, rounded up to 64; prompt + response is always there (default: 256,512,1024,... below)",
                sizes);
  addNumberList(app, "--batch", options.batches,
                "Sessions that can take a step together: sizes among 2, 4 and 8 (default: none)", sizes);
  addNumber(app, "--threads", options.lanes, "Lanes of work: the most threads a run can use (default: the CPUs here)",
            {1, firn::compiler::kMaxLanes});
  app.add_option("--stop-after", options.stopAfter,
                 firn::concat("Stop after a phase: ", firn::joined(firn::compiler::kPhases, ", ")));
  app.add_flag("--print", request.print, "Print the program as text after the last phase");
  app.add_flag("--json", request.json, "Print what was compiled as one JSON object");
  app.add_flag("--quiet", request.quiet, "Print nothing but errors, notes and, on a terminal, the progress bar");
}

/// Of all devices of the blob: each has its own.
uint64_t scratchBytes(const BlobReport& written, const firn::blob::Blob& blob) {
  return written.scratchBytes * blob.targets().size();
}

firn::Status printJson(const Request& request, const CompileReport& report) {
  nlohmann::ordered_json json = {{"threads", report.lanes},
                                 {"max_prompt_tokens", report.maxPromptTokens},
                                 {"min_response_tokens", report.minResponseTokens},
                                 {"kv_rows", report.kvRows},
                                 {"prefill_chunks", report.prefillChunks},
                                 {"contexts", report.contexts},
                                 {"batch", report.batches}};
  if (const auto& written = report.written) {
    FIRN_ASSIGN_OR_RETURN(const firn::blob::Blob blob, firn::blob::Blob::open(request.options.outputPath));
    json["device"] = firn::blob::targetNames(blob.targets());
    json["placement"] = firn::tools::placementJson(blob);
    json["scratch_bytes"] = scratchBytes(*written, blob);
    json.update({{"output", request.options.outputPath},
                 {"entries", written->entries},
                 {"bodies", written->bodies},
                 {"tasks", written->tasks},
                 {"kv_type", firn::dtypeInfo(written->kvType)->name},
                 {"kv_bytes", written->kvBytes},
                 {"weights_bytes", written->weightsBytes},
                 {"blob_bytes", written->blobBytes}});
  }
  json["warnings"] = report.warnings;
  std::cout << json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
  return firn::Status::ok();
}

firn::Status printSummary(const Request& request, const CompileReport& report) {
  constexpr double kMegabyte = 1e6;
  FIRN_ASSIGN_OR_RETURN(const firn::blob::Blob blob, firn::blob::Blob::open(request.options.outputPath));
  const BlobReport& written = *report.written;
  std::fprintf(
      stderr,
      "%s: %.1f MB (weights %.1f MB%s), %llu entries, %llu bodies, prompt %u + response %u tokens, %u lane%s; "
      "a run takes %.1f MB for the cache (%s) and %.1f MB of scratch\n",
      firn::printablePath(request.options.outputPath).c_str(), static_cast<double>(written.blobBytes) / kMegabyte,
      static_cast<double>(written.weightsBytes) / kMegabyte, blob.hasWeights() ? "" : ", left out",
      static_cast<unsigned long long>(written.entries), static_cast<unsigned long long>(written.bodies),
      report.maxPromptTokens, report.minResponseTokens, report.lanes, report.lanes == 1 ? "" : "s",
      static_cast<double>(written.kvBytes) / kMegabyte, std::string(firn::dtypeInfo(written.kvType)->name).c_str(),
      static_cast<double>(scratchBytes(written, blob)) / kMegabyte);
  return firn::Status::ok();
}

firn::Status compileWithProgress(Request& request, CompileReport& report) {
  firn::tools::ProgressBar bar("compiling");
  CompileOptions& options = request.options;
  if (request.print && request.json) {
    return firn::invalidArgument("--print and --json both write to standard output: give one of them");
  }
  if (!options.outputPath.empty() && (options.stopAfter.empty() || options.stopAfter == "blob")) {
    FIRN_RETURN_IF_ERROR(firn::tools::checkOutput(options.outputPath, "-o", {options.modelPath, options.machine}));
  }
  FIRN_RETURN_IF_ERROR(firn::tools::checkIsNoBlob(options.modelPath));
  const std::string kvType(options.kvType ? firn::dtypeInfo(*options.kvType)->name : "");
  FIRN_RETURN_IF_ERROR(firn::tools::checkNpuOptions({.device = options.target,
                                                     .prefillDevice = options.prefillTarget,
                                                     .decodeDevice = options.decodeTarget,
                                                     .place = options.places},
                                                    {.machine = options.machine, .kvType = kvType}));
  options.cancel = &firn::tools::interrupted();
  if (request.print) options.printTo = &std::cout;
  options.progress = [&](std::string_view phase, uint64_t done, uint64_t total) { bar.update(phase, done, total); };
  return firn::compiler::compile(options, &report);
}

/// Who is asked for help: `firn compile` starts this program under its own name (cmd_compile.cc).
const char* programName(int argc, char** argv) {
  const bool isCommand = argc > 0 && argv[0] == std::string_view(firn::tools::kCompileCommand);
  return isCommand ? firn::tools::kCompileCommand : "firn-compile";
}

int runCompile(int argc, char** argv) {
  const std::string name = programName(argc, argv);
  CLI::App app{"Compiles a model file into a blob that firn runs.", name};
  Request request;
  describe(app, request);
  if (const auto code = firn::tools::readCommandLine(app, argc, argv)) return *code;
  firn::tools::catchInterrupts();
  firn::tools::reportMappingFaults(name.c_str());
  CompileReport report;
  firn::Status status = compileWithProgress(request, report);
  const auto fail = [&](const firn::Status& failure) {
    std::cerr << name << ": " << firn::printableText(failure.toString()) << "\n";
    return firn::tools::exitCode(failure);
  };
  if (!status.isOk()) return fail(status);
  if (!report.written && (!request.print || !request.options.outputPath.empty())) {
    report.warnings.push_back("stopped after phase " + request.options.stopAfter + ", so no file was written" +
                              (request.print ? "" : "; --print shows the program"));
  }
  if (!request.json) {
    for (const std::string& warning : report.warnings) {
      std::cerr << name << ": note: " << firn::printableText(warning) << "\n";
    }
  }
  if (request.json) {
    status = printJson(request, report);
  } else if (!request.quiet && report.written) {
    status = printSummary(request, report);
  }
  std::cout.flush();
  if (!status.isOk()) return fail(status);
  if (!std::cout) {
    std::cerr << name << ": io: standard output could not be written\n";
    return firn::tools::kExitError;
  }
  return firn::tools::kExitOk;
}

}  // namespace

int main(int argc, char** argv) {
  firn::tools::occupyStandardDescriptors();
  try {
    return runCompile(argc, argv);
  } catch (const std::bad_alloc&) {
    return firn::tools::outOfMemory(programName(argc, argv));
  } catch (const std::exception& error) {  // the libraries throw nothing of their own
    std::fprintf(stderr, "%s: internal: %s\n", programName(argc, argv), error.what());
    return firn::tools::kExitError;
  }
}
