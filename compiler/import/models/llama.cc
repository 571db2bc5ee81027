// The llama architecture in GGUF: Llama 2 and 3, SmolLM2, TinyLlama, Mistral. Its files have the rows of q and k
// permuted so that the two numbers of a rotary pair stand side by side.
#include "compiler/import/decoder.h"
#include "compiler/import/models/architectures.h"

namespace firn::import {

Result<ModelSpec> importLlama(const GgufFile& file) {
  DecoderTraits traits;
  traits.architecture = "llama";
  traits.pairing = RopePairing::kInterleaved;
  traits.window = WindowTraits{};
  return importDecoder(file, traits);
}

}  // namespace firn::import
