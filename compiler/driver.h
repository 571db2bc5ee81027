// The whole compiler as one call: a model file in, a blob file out. No MLIR in this header, so that programs which
// only start a compile stay cheap to build. Not here: command lines (tools/firn_compile.cc).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "blob/layout.h"

namespace firn::compiler {

/// The phases in the order they run; CompileOptions::stopAfter takes one of these names.
inline constexpr std::string_view kPhases[] = {"import",   "stateless", "freeze",   "fold",  "place",
                                               "legalize", "fuse",      "strategy", "lower", "schedule",
                                               "barriers", "check",     "emit",     "blob"};

/// In how many int8 planes the activations of a linear layer are held (docs/arithmetic.md); 1 or 2 each.
struct ActivationPlanes {
  uint32_t attentionInputs = 2;  ///< inputs of q, k and v
  uint32_t head = 2;             ///< input of the output head
  uint32_t others = 1;           ///< inputs of o, gate, up and down
};

/// What to compile, and how. Strings are paths in the file system's encoding.
struct CompileOptions {
  std::string modelPath;
  std::string outputPath;            ///< not used when stopAfter names a phase before "blob"
  std::string target = "cpu";        ///< a name of blob/names.h
  std::string prefillTarget;         ///< runs the prefill entries; empty: target
  std::string decodeTarget;          ///< runs all other entries; empty: target
  std::string places;                ///< single layers and the head elsewhere: the grammar of compiler/placement.h
  uint32_t maxPromptTokens = 1024;   ///< rounded up to 64
  uint32_t minResponseTokens = 128;  ///< rounded up to 64
  /// Prefill chunk sizes. Empty: {16, 64, 256, 1024} up to maxPromptTokens. Above 16 each is rounded up to 64; 16 is
  /// always added; a chunk above the rounded maxPromptTokens is refused.
  std::vector<uint32_t> prefillChunks;
  /// Context sizes. Empty: {256, 512, 1024, then powers of two} below T, and T. Each is rounded up to 64; T is always
  /// added; a context above T is refused.
  std::vector<uint32_t> contexts;
  /// Rows of batch entries, in which so many sessions take a step together: 2, 4 or 8 each. Empty:
  /// none, since a single conversation has no use for them.
  std::vector<uint32_t> batches;
  std::string machine;          ///< of target npu: the name of a machine that firn knows, or a path; empty: the default
  std::optional<DType> kvType;  ///< of the KV cache (blob/kv_part.h); nullopt: the target's own, f16 on cpu
  bool hasWeights = true;       ///< false: they are neither read nor written, and the blob can only be simulated
  uint32_t lanes = 0;  ///< 1..kMaxLanes; 0: the CPUs this process may use. A target may have a number of its own.
  ActivationPlanes activationPlanes;
  std::string stopAfter;                      ///< one of kPhases; empty: the last
  std::ostream* printTo = nullptr;            ///< receives the IR as text after the last phase that ran; null: no print
  const std::atomic<bool>* cancel = nullptr;  ///< set to true by another thread or a signal handler: cancelled, no file
  /// Called from the compiling thread: `phase` began or went on; `done` of `total` units (bytes for "blob").
  std::function<void(std::string_view phase, uint64_t done, uint64_t total)> progress;
};

using blob::kMaxLanes;

/// The numbers of a blob that was written.
struct BlobReport {
  uint64_t entries = 0;
  uint64_t bodies = 0;
  uint64_t tasks = 0;
  DType kvType{};
  uint64_t kvBytes = 0;
  uint64_t scratchBytes = 0;  ///< the most that an entry uses
  uint64_t weightsBytes = 0;
  uint64_t blobBytes = 0;
};

/// The numbers of a finished compile, after rounding.
struct CompileReport {
  uint32_t maxPromptTokens = 0;
  uint32_t minResponseTokens = 0;
  uint32_t kvRows = 0;  ///< T
  uint32_t lanes = 0;
  std::vector<uint32_t> prefillChunks;
  std::vector<uint32_t> contexts;
  std::vector<uint32_t> batches;
  std::optional<BlobReport> written;  ///< nullopt: stopped before the phase "blob"
  std::vector<std::string> warnings;  ///< things a user should know, one sentence each
};

/// Compiles. On any failure no output file is left and an older file of that name is untouched (the new one is written
/// beside it and renamed). Errors: invalid_argument for options (option and numbers named), those of the importer,
/// unsupported for an op that no target has a kernel for, cancelled, io (also when the model changes meanwhile);
/// internal for a program that does not verify, which is a bug. `report` may be null.
Status compile(const CompileOptions& options, CompileReport* report);

}  // namespace firn::compiler
