// Imports a decoder of the common form from a GGUF file: x += attention(rms_norm(x)); x += ffn(rms_norm(x)), with the
// extras that DecoderTraits turn on. What makes an architecture is data: its traits, one file each under models/.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/status.h"
#include "compiler/import/gguf_reader.h"
#include "compiler/import/model_spec.h"

namespace firn::import {

/// Sliding-window attention: key attention.sliding_window says how far a row sees.
struct WindowTraits {
  bool isRequired = false;  ///< a file without the key is refused; else it has no window
  /// Layer i sees all rows where i + 1 is a multiple of it, and the window elsewhere; 0: the window everywhere. Key
  /// attention.sliding_window_pattern goes first.
  uint32_t period = 0;
  /// Theta of a rope of their own, unscaled, in layers with the window (key rope.freq_base_swa goes first); 0: the
  /// rope of the other layers.
  double ropeBase = 0;
};

struct DecoderTraits {
  std::string_view architecture;  ///< general.architecture, and the prefix of its keys
  RopePairing pairing = RopePairing::kInterleaved;
  Activation activation = Activation::kSilu;
  bool hasHeadNorms = false;           ///< blk.*.attn_q_norm and attn_k_norm
  bool hasPostNorms = false;           ///< blk.*.post_attention_norm and post_ffw_norm
  bool scalesEmbedding = false;        ///< by sqrt(E)
  std::optional<WindowTraits> window;  ///< absent: a window that limits anything is refused
};

/// Everything of a ModelSpec but the tokenizer. Verifies hyper-parameters against limits and each other, and every
/// tensor's shape and type against them; weights stay in the file.
Result<ModelSpec> importDecoder(const GgufFile& file, const DecoderTraits& traits);

}  // namespace firn::import
