#include "compiler/ladders.h"

#include <algorithm>

#include "base/align.h"
#include "base/concat.h"
#include "base/cpus.h"
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

Result<std::vector<uint32_t>> chooseChunks(const CompileOptions& options, uint32_t maxPrompt) {
  std::vector<uint32_t> chunks = {kSmallestChunk};
  if (options.prefillChunks.empty()) {
    for (uint32_t chunk : {64U, 256U, 1024U}) {
      if (chunk <= maxPrompt) chunks.push_back(chunk);
    }
    return chunks;
  }
  for (uint32_t asked : options.prefillChunks) {
    FIRN_RETURN_IF_ERROR(checkTokens("--prefill-chunks", asked));
    uint32_t chunk = asked <= kSmallestChunk ? kSmallestChunk : roundUp(asked, kSizeUnit);
    if (chunk > maxPrompt) {
      return invalidArgument(concat("--prefill-chunks: a chunk of ", asked, " tokens (", chunk,
                                    " when rounded) is larger than the longest prompt, ", maxPrompt,
                                    " tokens; leave it out or raise --max-prompt-len"));
    }
    chunks.push_back(chunk);
  }
  sortUnique(chunks);
  FIRN_RETURN_IF_ERROR(checkLength("--prefill-chunks", chunks));
  return chunks;
}

Result<std::vector<uint32_t>> chooseContexts(const CompileOptions& options, uint32_t kvRows) {
  std::vector<uint32_t> contexts = {kvRows};
  if (options.contexts.empty()) {
    for (uint32_t context = 256; context < kvRows; context *= 2) contexts.push_back(context);
  }
  for (uint32_t asked : options.contexts) {
    FIRN_RETURN_IF_ERROR(checkTokens("--contexts", asked));
    uint32_t context = roundUp(asked, kSizeUnit);
    if (context > kvRows) {
      return invalidArgument(concat("--contexts: ", asked, " rows (", context,
                                    " when rounded) are more than the cache has, ", kvRows,
                                    " = prompt + response; leave it out or raise --max-prompt-len"));
    }
    contexts.push_back(context);
  }
  sortUnique(contexts);
  FIRN_RETURN_IF_ERROR(checkLength("--contexts", contexts));
  return contexts;
}

Result<std::vector<uint32_t>> chooseBatches(const CompileOptions& options) {
  std::vector<uint32_t> batches;
  for (uint32_t rows : options.batches) {
    if (rows != 1 && rows != 2 && rows != 4 && rows != 8) {
      return invalidArgument(concat("--batch is ", rows, ", expected sizes among 1, 2, 4 and 8"));
    }
    if (rows != 1) batches.push_back(rows);  // generate is there always
  }
  sortUnique(batches);
  return batches;
}

Result<uint32_t> chooseLanes(const CompileOptions& options) {
  if (options.lanes > kMaxLanes) {
    return invalidArgument(concat("--threads is ", options.lanes, ", expected 1 to ", kMaxLanes));
  }
  const uint32_t asked =
      options.lanes != 0 ? options.lanes : std::min(kMaxLanes, static_cast<uint32_t>(allowedCpus().size()));
  const target::Target* target = target::findTarget(options.target);
  return target == nullptr ? asked : static_cast<uint32_t>(target->lanes(asked));
}

}  // namespace

Result<Sizes> chooseSizes(const CompileOptions& options) {
  FIRN_RETURN_IF_ERROR(checkTokens("--max-prompt-len", options.maxPromptTokens));
  FIRN_RETURN_IF_ERROR(checkTokens("--min-response-len", options.minResponseTokens));
  Sizes sizes;
  sizes.maxPromptTokens = roundUp(options.maxPromptTokens, kSizeUnit);
  sizes.minResponseTokens = roundUp(options.minResponseTokens, kSizeUnit);
  sizes.kvRows = sizes.maxPromptTokens + sizes.minResponseTokens;
  FIRN_ASSIGN_OR_RETURN(sizes.prefillChunks, chooseChunks(options, sizes.maxPromptTokens));
  FIRN_ASSIGN_OR_RETURN(sizes.contexts, chooseContexts(options, sizes.kvRows));
  FIRN_ASSIGN_OR_RETURN(sizes.batches, chooseBatches(options));
  FIRN_ASSIGN_OR_RETURN(sizes.lanes, chooseLanes(options));
  return sizes;
}

}  // namespace firn::compiler
