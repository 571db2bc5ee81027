#include "blob/verify/header_verify.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/concat.h"
#include "blob/kv_part.h"
#include "blob/standard_symbols.h"

namespace firn::blob {

namespace {

constexpr uint32_t kRowMultiple = 64;

template <typename... Pieces>
Status wrong(std::string_view field, uint64_t found, const Pieces&... expected) {
  return corrupt(concat("program header: ", field, " is ", found, ", expected ", expected...));
}

Status checkSizes(const ProgramHeader& header) {
  const std::pair<std::string_view, uint32_t> sizes[] = {{"layers", header.layers},
                                                         {"embed", header.embed},
                                                         {"heads", header.heads},
                                                         {"kvHeads", header.kvHeads},
                                                         {"headDim", header.headDim},
                                                         {"vocab", header.vocab},
                                                         {"kvRows", header.kvRows},
                                                         {"maxPromptTokens", header.maxPromptTokens},
                                                         {"minResponseTokens", header.minResponseTokens}};
  for (const auto& [name, value] : sizes) {
    if (value == 0 || value > kMaxSize) return wrong(name, value, "1..", kMaxSize);
  }
  if (header.heads % header.kvHeads != 0) {
    return wrong("heads", header.heads, "a multiple of kvHeads, ", header.kvHeads);
  }
  if (header.maxPromptTokens % kRowMultiple != 0) {
    return wrong("maxPromptTokens", header.maxPromptTokens, "a multiple of ", kRowMultiple);
  }
  if (header.minResponseTokens % kRowMultiple != 0) {
    return wrong("minResponseTokens", header.minResponseTokens, "a multiple of ", kRowMultiple);
  }
  if (header.kvRows != header.maxPromptTokens + header.minResponseTokens) {
    return wrong("kvRows", header.kvRows, header.maxPromptTokens + header.minResponseTokens,
                 " (maxPromptTokens + minResponseTokens)");
  }
  if (header.topTokens > header.vocab) return wrong("topTokens", header.topTokens, "0..", header.vocab);
  if (std::ranges::any_of(header.reserved0, [](uint8_t b) { return b != 0; })) {
    return wrong("reserved0", header.reserved0[0], "zeros");
  }
  return Status::ok();
}

Status checkMemory(const ProgramView& program, uint64_t weightsBytes) {
  const ProgramHeader& header = *program.header;
  if (!isKvType(header.kvType)) {
    const DTypeInfo* info = dtypeInfo(header.kvType);
    return corrupt(concat("program header: kvType is ", static_cast<uint32_t>(header.kvType), " (",
                          info != nullptr ? info->name : "no type", "), expected ", kvTypeNames()));
  }
  const auto kvBytes = kvCacheBytes(header);
  if (!kvBytes || header.kvBytes != *kvBytes) return wrong("kvBytes", header.kvBytes, kvBytes.value_or(0));
  if (header.weightsBytes != weightsBytes) {
    return wrong("weightsBytes", header.weightsBytes, weightsBytes, ", the size of section .firn.weights");
  }
  uint64_t scratch = 0;
  for (const EntryRecord& entry : program.entries) scratch = std::max(scratch, entry.scratchBytes);
  if (header.scratchBytes != scratch) {
    return wrong("scratchBytes", header.scratchBytes, scratch, ", the largest of the entries");
  }
  return Status::ok();
}

}  // namespace

Status verifyHeader(const ProgramView& program, uint64_t weightsBytes) {
  FIRN_RETURN_IF_ERROR(checkSizes(*program.header));
  return checkMemory(program, weightsBytes);
}

}  // namespace firn::blob
