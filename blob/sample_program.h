// Small valid blobs for tests and fuzz seeds. Not a model: the numbers mean nothing, the shapes obey every rule.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/status.h"
#include "blob/writer.h"

namespace firn::blob {

/// Sizes of a model that is made up for tests.
struct SampleSizes {
  uint32_t layers = 0;
  uint32_t embed = 0;
  uint32_t heads = 0;
  uint32_t kvHeads = 0;
  uint32_t headDim = 0;
  uint32_t vocab = 0;
};

/// Those of sampleContents.
inline constexpr SampleSizes kSampleSizes = {
    .layers = 2, .embed = 64, .heads = 8, .kvHeads = 4, .headDim = 8, .vocab = 40};
/// Its K.
inline constexpr uint32_t kSampleTopTokens = 9;

/// T of every program that is made up for tests: prompts of up to 64 tokens and responses of 64.
inline constexpr uint32_t kSampleKvRows = 128;

/// What Program::header says of such a model before the program is made.
ProgramHeader sampleHeader(const SampleSizes& sizes, DType kvType);

/// kFull is what sampleContents says; kHeadOnly has one entry of the smallest kind, head.2.
enum class SampleSize { kFull, kHeadOnly };

/// A program that uses every op of `target`: prefill.16.64, prefill.16.128, generate.128, head.2 and batch.2.64 over
/// two layers, two lanes on cpu and one on the others, 8 heads of 8 and 4 KV heads on a width of 64, ffn 96, vocabulary
/// of 40; without the batch on npu. `kvType` is that of the cache; nullopt: f32 on reference and f16 on the others, and
/// on npu nothing else. With i8 some attentions add a key bias.
Contents sampleContents(Target target, SampleSize size = SampleSize::kFull, std::optional<DType> kvType = std::nullopt);

/// The weights that sampleContents asks for: bytes that count up.
std::vector<std::byte> sampleWeights(const Contents& contents);

/// The whole file, written through Writer to a temporary file and read back.
Result<std::vector<std::byte>> sampleBlob(Target target, SampleSize size = SampleSize::kFull,
                                          std::optional<DType> kvType = std::nullopt);

}  // namespace firn::blob
