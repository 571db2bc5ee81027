// What every importer produces and the graph builder consumes: a model as data, verified: dimensions agree with each
// other, types are ones that firn computes with. No MLIR, no architecture names in logic.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/dtype.h"
#include "base/file_state.h"
#include "blob/layout.h"

namespace firn::import {

/// Far above every published model.
inline constexpr uint32_t kMaxLayers = 1024;

/// A tensor of a source file, as a view of the mapping. Row-major; dims[0] is the slowest (rows N), the last is K.
struct TensorView {
  std::string name;  ///< name in the file ("blk.0.attn_q.weight")
  DType type = DType::kF32;
  std::vector<uint64_t> dims;
  std::span<const std::byte> bytes;
};

/// y = W x + b. W is [N, K]; b, where present, is [N].
struct LinearSpec {
  TensorView weight;
  std::optional<TensorView> bias;
};

enum class RopePairing : uint32_t { kInterleaved = 0, kHalfSplit = 1 };

/// Rotary embedding, with any scaling already worked into the frequencies. Angle of pair i at position p is
/// float(p) * freqs[i] in fp32; cos and sin are multiplied by `magnitude` (yarn's attention factor, else 1).
struct RopeSpec {
  RopePairing pairing = RopePairing::kInterleaved;
  uint32_t dims = 0;         ///< rotated width of a head, even, <= headDim
  std::vector<float> freqs;  ///< dims / 2 values
  float magnitude = 1.0F;
};

/// What the gate of a feed-forward goes through.
enum class Activation : uint32_t { kSilu = 0, kGeluTanh = 1 };

/// One decoder layer: x += post(attention(rms_norm(x))); x += post(ffn(rms_norm(x))), each post a norm of its own or
/// nothing.
struct LayerSpec {
  TensorView attnNorm;  ///< f32 [E]
  LinearSpec q, k, v, o;
  std::optional<TensorView> qNorm{}, kNorm{};  ///< f32 [headDim], of each head before rope; absent: none
  std::optional<TensorView> postAttnNorm{};    ///< f32 [E]; absent: none
  TensorView ffnNorm;                          ///< f32 [E]
  LinearSpec gate, up, down;
  std::optional<TensorView> postFfnNorm{};  ///< f32 [E]; absent: none
  uint32_t window = 0;                      ///< a row sees this many rows, itself included; 0: all before it
};

/// A file that a model was read from, in the state it was in before.
struct SourceFile {
  std::string path;
  FileState state;
};

struct ModelSpec {
  std::string architecture;  ///< "llama"
  std::string name;          ///< general.name, or the file's name; printable UTF-8
  std::string sourcePath;
  std::vector<SourceFile> sourceFiles;  ///< every file the weights lie in; the first is sourcePath
  blob::Hash128 sourceHash{};           ///< of the file's header and metadata and its size

  uint32_t embed = 0;  ///< E
  uint32_t heads = 0;
  uint32_t kvHeads = 0;
  uint32_t headDim = 0;
  uint32_t ffn = 0;             ///< F
  uint32_t vocab = 0;           ///< V, rows of the embedding
  uint32_t trainedContext = 0;  ///< context_length; 0 when the file does not say
  float normEpsilon = 0;
  float attentionScale = 0;  ///< 1 / sqrt(headDim) unless the file says otherwise
  float embeddingScale = 1;  ///< of the rows of the embedding, not of a head tied to it
  Activation activation = Activation::kSilu;

  RopeSpec rope;
  std::optional<RopeSpec> windowRope;  ///< of layers with a window; absent: `rope`
  TensorView embedding;                ///< [V, E]
  TensorView outputNorm;               ///< f32 [E]
  std::optional<LinearSpec> head;      ///< absent: tied to `embedding`
  std::vector<LayerSpec> layers;

  std::vector<std::byte> tokenizerImage;    ///< blob/tokenizer_image.h; empty when there is none
  std::string tokenizerAbsence;             ///< why the image is empty; empty when it is not
  std::vector<std::string> tokenizerNotes;  ///< what the file leaves open and firn had to choose, for warnings
  std::vector<uint32_t> endIds;             ///< of the keys for end tokens; the image may know more
  std::string chatTemplate;                 ///< UTF-8; empty when the file has none

  std::vector<std::string> unusedTensors;  ///< of the file, quoted and safe to print, for a warning

  std::shared_ptr<const void> storage;  ///< keeps the mapped source file(s) alive
};

inline const RopeSpec& ropeOf(const ModelSpec& model, const LayerSpec& layer) {
  return layer.window != 0 && model.windowRope ? *model.windowRope : model.rope;
}

}  // namespace firn::import
