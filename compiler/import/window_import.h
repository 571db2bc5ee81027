// Which layers of a GGUF model attend through a sliding window, and how wide it is.
#pragma once

#include "base/status.h"
#include "compiler/import/architecture_keys.h"
#include "compiler/import/decoder.h"
#include "compiler/import/gguf_reader.h"
#include "compiler/import/model_spec.h"

namespace firn::import {

/// Sets `window` of each layer and `windowRope`. `spec` must have its layers, `trainedContext`, `headDim` and `rope`.
Status importWindows(const ArchitectureKeys& keys, const GgufFile& file, const DecoderTraits& traits, ModelSpec* spec);

}  // namespace firn::import
