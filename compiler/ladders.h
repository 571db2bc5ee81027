// The sizes of a compile: which prefill chunks and contexts, how many cache rows and lanes, from what a user asked for.
// Pure arithmetic; no files, no IR.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/driver.h"

namespace firn::compiler {

inline constexpr uint32_t kSizeUnit = 64;       ///< prompt, response, contexts and chunks above kSmallestChunk
inline constexpr uint32_t kSmallestChunk = 16;  ///< always in the ladder
inline constexpr uint32_t kMaxTokens = 1U << 20;
inline constexpr size_t kMaxLadder = 64;  ///< sizes in one ladder

/// Final sizes, ascending, in tokens.
struct Sizes {
  uint32_t maxPromptTokens = 0;
  uint32_t minResponseTokens = 0;
  uint32_t kvRows = 0;  ///< T
  std::vector<uint32_t> prefillChunks;
  std::vector<uint32_t> contexts;
  std::vector<uint32_t> batches;  ///< rows of batch entries; 1, which is generate, is not among them
  uint32_t lanes = 1;
};

/// Rounds and completes the sizes as CompileOptions says. invalid_argument names option, value and limit.
Result<Sizes> chooseSizes(const CompileOptions& options);

}  // namespace firn::compiler
