// The gemma3 architecture in GGUF (the text model of Gemma 3): a scaled embedding, norms before and after each half of
// a layer and of each head of q and k, GeGLU, and five layers with a sliding window and a rope of their own to one that
// sees all. Norm weights are stored as they multiply, 1 added. Source: Gemma Team, "Gemma 3 Technical Report", 2025.
#include <cmath>

#include "compiler/import/decoder.h"
#include "compiler/import/models/architectures.h"

namespace firn::import {

Result<ModelSpec> importGemma3(const GgufFile& file) {
  DecoderTraits traits;
  traits.architecture = "gemma3";
  traits.pairing = RopePairing::kHalfSplit;
  traits.activation = Activation::kGeluTanh;
  traits.hasHeadNorms = true;
  traits.hasPostNorms = true;
  traits.scalesEmbedding = true;
  traits.window = WindowTraits{.isRequired = true, .period = 6, .ropeBase = 10000};
  FIRN_ASSIGN_OR_RETURN(ModelSpec spec, importDecoder(file, traits));
  // Files do not record query_pre_attn_scalar. It is the head's width but in the 27B model, known by its 62 layers,
  // where it is the part of E that a head would have (168, not 128).
  constexpr size_t kLayersOf27B = 62;
  if (spec.layers.size() == kLayersOf27B && file.find("gemma3.attention.scale") == nullptr) {
    spec.attentionScale = 1 / std::sqrt(static_cast<float>(spec.embed) / static_cast<float>(spec.heads));
  }
  return spec;
}

}  // namespace firn::import
