#include "compiler/ladders.h"

#include <algorithm>

#include "base/align.h"
#include "base/concat.h"
#include "base/cpus.h"
#include "compiler/placement.h"
#include "compiler/target/targets.h"

namespace firn::compiler {
namespace {

Status checkTokens(std::string_view option, uint32_t value) {
  if (value >= 1 && value <= kMaxTokens) return Status::ok();
  return invalidArgument(concat(option, " is ", value, ", expected 1 to ", kMaxTokens, " tokens"));
}

void sortUnique(std::vector<uint32_t>& values) {
  std::ranges::sort(values);
  auto repeated = std::ranges::unique(values);
  values.erase(repeated.begin(), repeated.end());
}

Status checkLength(std::string_view option, const std::vector<uint32_t>& values) {
  if (values.size() <= kMaxLadder) return Status::ok();
  return invalidArgument(concat(option, " has ", values.size(), " sizes, at most ", kMaxLadder, " are possible"));
}

/// A ladder that the user may fill.
struct Ladder {
  std::string_view option;
  uint32_t smallest = 0;  ///< what asks for this or less gets this; the rest is rounded up to kSizeUnit
  uint32_t most = 0;
  std::string_view limit;  ///< what `most` is, for a refusal
};

/// Adds the sizes that were asked for to those that are there anyway.
Status addAsked(const Ladder& ladder, const std::vector<uint32_t>& asked, std::vector<uint32_t>& sizes) {
  for (const uint32_t size : asked) {
    FIRN_RETURN_IF_ERROR(checkTokens(ladder.option, size));
    const uint32_t rounded = size <= ladder.smallest ? ladder.smallest : roundUp(size, kSizeUnit);
    if (rounded > ladder.most) {
      return invalidArgument(concat(ladder.option, ": ", size, " tokens (", rounded, " when rounded) are more than ",
                                    ladder.limit, ", ", ladder.most, "; leave it out or raise --max-prompt-len"));
    }
    sizes.push_back(rounded);
  }
  sortUnique(sizes);
  return checkLength(ladder.option, sizes);
}

Result<std::vector<uint32_t>> chooseChunks(const CompileOptions& options, uint32_t maxPrompt) {
  std::vector<uint32_t> chunks = {kSmallestChunk};
  if (options.prefillChunks.empty()) {
    for (uint32_t chunk : {64U, 256U, 1024U}) {
      if (chunk <= maxPrompt) chunks.push_back(chunk);
    }
  }
  FIRN_RETURN_IF_ERROR(
      addAsked({"--prefill-chunks", kSmallestChunk, maxPrompt, "the longest prompt"}, options.prefillChunks, chunks));
  return chunks;
}

Result<std::vector<uint32_t>> chooseContexts(const CompileOptions& options, uint32_t kvRows) {
  std::vector<uint32_t> contexts = {kvRows};
  if (options.contexts.empty()) {
    for (uint32_t context = 256; context < kvRows; context *= 2) contexts.push_back(context);
  }
  FIRN_RETURN_IF_ERROR(
      addAsked({"--contexts", kSizeUnit, kvRows, "the cache's rows (prompt + response)"}, options.contexts, contexts));
  return contexts;
}

Result<std::vector<uint32_t>> chooseBatches(const CompileOptions& options) {
  std::vector<uint32_t> batches;
  for (uint32_t rows : options.batches) {
    if (rows != 2 && rows != 4 && rows != 8) {
      return invalidArgument(concat("--batch is ", rows, ", expected sizes among 2, 4 and 8",
                                    rows == 1 ? "; a step of one session is always there" : ""));
    }
    batches.push_back(rows);
  }
  sortUnique(batches);
  return batches;
}

Result<uint32_t> chooseLanes(const CompileOptions& options, const std::vector<PlaceRange>& places) {
  if (options.lanes > kMaxLanes) {
    return invalidArgument(concat("--threads is ", options.lanes, ", expected 1 to ", kMaxLanes));
  }
  const uint32_t asked =
      options.lanes != 0 ? options.lanes : std::min(kMaxLanes, static_cast<uint32_t>(allowedCpus().size()));
  std::vector<std::string> names = {options.target, options.prefillTarget, options.decodeTarget};
  for (const PlaceRange& place : places) names.push_back(place.target);
  uint32_t lanes = 1;
  for (const std::string& name : names) {
    const target::Target* target = target::findTarget(name);
    if (target == nullptr) continue;
    // Batches that a target refuses go to one that has as many lanes as are asked for.
    const bool handsOn = !options.batches.empty() && !target->whyNoBatch.empty();
    lanes = std::max(lanes, handsOn ? asked : static_cast<uint32_t>(target->lanes(asked)));
  }
  return lanes;
}

}  // namespace

Status checkWidth(const Sizes& sizes, uint32_t embed) {
  const uint32_t chunk = sizes.prefillChunks.back();
  if (uint64_t{chunk} * embed <= UINT32_MAX) return Status::ok();
  const uint32_t most = UINT32_MAX / embed / kSizeUnit * kSizeUnit;
  return invalidArgument(concat("--prefill-chunks: a chunk of ", chunk, " tokens of this model (", embed,
                                " numbers each) is larger than a blob can describe; expected at most ", most,
                                " tokens: longer prompts are computed chunk by chunk"));
}

Result<Sizes> chooseSizes(const CompileOptions& options, const std::vector<PlaceRange>& places) {
  FIRN_RETURN_IF_ERROR(checkTokens("--max-prompt-len", options.maxPromptTokens));
  FIRN_RETURN_IF_ERROR(checkTokens("--min-response-len", options.minResponseTokens));
  Sizes sizes;
  sizes.maxPromptTokens = roundUp(options.maxPromptTokens, kSizeUnit);
  sizes.minResponseTokens = roundUp(options.minResponseTokens, kSizeUnit);
  sizes.kvRows = sizes.maxPromptTokens + sizes.minResponseTokens;
  FIRN_ASSIGN_OR_RETURN(sizes.prefillChunks, chooseChunks(options, sizes.maxPromptTokens));
  FIRN_ASSIGN_OR_RETURN(sizes.contexts, chooseContexts(options, sizes.kvRows));
  FIRN_ASSIGN_OR_RETURN(sizes.batches, chooseBatches(options));
  FIRN_ASSIGN_OR_RETURN(sizes.lanes, chooseLanes(options, places));
  return sizes;
}

}  // namespace firn::compiler
