// A model of two small decoder layers with made-up weights, as a verified blob for any target: what the conformance
// suite runs. It needs no compiler, and shows by hand what a program is.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/align.h"
#include "base/dtype.h"
#include "base/status.h"
#include "blob/kv_part.h"
#include "blob/reader.h"
#include "blob/sample_program.h"
#include "blob/writer.h"

namespace firn::runtime::cts {

// Sizes of the tiny model.
inline constexpr uint32_t kLayers = 2;
inline constexpr uint32_t kEmbed = 64;
inline constexpr uint32_t kHeads = 4;
inline constexpr uint32_t kKvHeads = 2;
inline constexpr uint32_t kHeadDim = 16;
inline constexpr uint32_t kFfn = 128;
inline constexpr uint32_t kVocab = 80;
inline constexpr uint32_t kTopTokens = 12;
inline constexpr uint32_t kKvRows = blob::kSampleKvRows;  ///< T = 64 + 64
inline constexpr float kEpsilon = 1e-5F;
inline constexpr uint32_t kChunks[] = {16, 64};
inline constexpr uint32_t kContexts[] = {64, kKvRows};
inline constexpr uint32_t kHeadRows[] = {1, 16};
inline constexpr uint32_t kBatchRows[] = {2, 4, 8};

struct TinyOptions {
  blob::Target target = blob::Target::kReference;
  uint32_t lanes = 1;                             ///< cpu: 1 or 2; else 1
  DType weights = DType::kF32;                    ///< of all matrices: f32 or q8_0
  uint32_t arithmeticId = 0;                      ///< of the blob; 0: the one of kernels/cpu
  uint32_t activationPlanes = 1;                  ///< cpu with q8_0: 1 or 2
  bool smallWorkspace = false;                    ///< cpu: one float less than attention needs
  uint64_t picoseconds = 0;                       ///< predicted for every entry; 0: what the programs say
  bool cardHasRope = true;                        ///< false: keys of the cache cannot be turned
  std::optional<DType> kvType = std::nullopt;     ///< nullopt: f32 on reference, else f16
  uint8_t topTokens = kTopTokens;                 ///< 0: the entries give no lists of the best
  bool keyBias = false;                           ///< of the projection to keys: an i8 cache holds keys without it
  std::function<void(blob::Program&)> edit = {};  ///< of the finished program, for blobs that are not as they should be

  DType cacheType() const { return kvType.value_or(target == blob::Target::kReference ? DType::kF32 : DType::kF16); }
};

/// A matrix of made-up numbers in its source type, row-major.
struct TinyTensor {
  DType type = DType::kF32;
  uint32_t rows = 1;
  uint32_t columns = 0;
  std::vector<std::byte> bytes;
};

struct TinyLayer {
  TinyTensor attnNorm, q, k, v, o, ffnNorm, gate, up, down;
  TinyTensor kBias;  ///< f32; for programs that have one
};

/// The same numbers for every target.
struct TinyWeights {
  TinyTensor embedding;  ///< the head is tied to it
  TinyTensor outputNorm;
  std::vector<TinyLayer> layers;
  std::vector<float> ropeFreqs;  ///< kHeadDim / 2
};
TinyWeights makeTinyWeights(DType matrices);

/// Weight bytes in the making: tensors one after the other, 64-byte aligned.
class WeightArena {
 public:
  /// Returns the offset of the copy.
  uint64_t add(std::span<const std::byte> bytes);
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// Offsets of scratch, 64-byte aligned.
class ScratchArena {
 public:
  uint64_t take(uint64_t bytes) {
    const uint64_t at = end_;
    end_ = roundUp(end_ + bytes, blob::kTensorAlignment);
    return at;
  }
  uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;
};

/// The K or the V of one layer, and where it lies in the cache.
blob::KvPart kvPart(DType type);
uint64_t kvOffset(uint32_t layer, bool isV, DType type);

/// Fill `program` with bodies and entries, and `arena` with the weights they name.
void addReferenceProgram(const TinyWeights& weights, const TinyOptions& options, blob::Program& program,
                         WeightArena& arena);
void addCpuProgram(const TinyWeights& weights, const TinyOptions& options, blob::Program& program, WeightArena& arena);
void addNpuProgram(const TinyWeights& weights, const TinyOptions& options, blob::Program& program, WeightArena& arena);
/// The machine that the npu program is for: two tiles of 1 MiB, two DMA engines.
std::string tinyMachineText();

/// The whole blob, written by blob::Writer to a temporary file, opened and verified. The file is gone afterwards.
Result<blob::Blob> makeTinyBlob(const TinyOptions& options);

}  // namespace firn::runtime::cts
