// Imports a decoder of the common form from a GGUF file: x += attention(rms_norm(x)); x += ffn(rms_norm(x)). What makes
// an architecture is data: DecoderTraits, one file each under models/.
#pragma once

#include <string_view>

#include "base/status.h"
#include "compiler/import/gguf_reader.h"
#include "compiler/import/model_spec.h"

namespace firn::import {

struct DecoderTraits {
  std::string_view architecture;  ///< general.architecture, and the prefix of its keys
  RopePairing pairing = RopePairing::kInterleaved;
};

/// Everything of a ModelSpec but the tokenizer. Verifies hyper-parameters against limits and each other, and every
/// tensor's shape and type against them; weights stay in the file.
Result<ModelSpec> importDecoder(const GgufFile& file, const DecoderTraits& traits);

}  // namespace firn::import
