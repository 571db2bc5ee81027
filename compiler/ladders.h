// The sizes of a compile: which prefill chunks and contexts, how many cache rows and lanes, from what a user asked for.
// Pure arithmetic; no files, no IR.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/driver.h"
#include "compiler/placement.h"

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

/// Rounds and completes the sizes as CompileOptions says, whose places are `places`. invalid_argument names option,
/// value and limit.
Result<Sizes> chooseSizes(const CompileOptions& options, const std::vector<PlaceRange>& places);

/// Whether a model whose rows are `embed` wide can have these sizes: strides of a blob have 32 bits, and the longest is
/// from one lane's part of a chunk to the next. invalid_argument names the option and the largest chunk there can be.
Status checkWidth(const Sizes& sizes, uint32_t embed);

}  // namespace firn::compiler
