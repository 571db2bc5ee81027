// The qwen2 architecture in GGUF: Qwen2 and Qwen2.5. q, k and v have biases; rows of q and k are as Hugging Face has
// them, so that a rotary pair stands half a head apart.
#include "compiler/import/decoder.h"
#include "compiler/import/models/architectures.h"

namespace firn::import {

Result<ModelSpec> importQwen2(const GgufFile& file) {
  DecoderTraits traits;
  traits.architecture = "qwen2";
  traits.pairing = RopePairing::kHalfSplit;
  return importDecoder(file, traits);
}

}  // namespace firn::import
