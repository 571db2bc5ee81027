// Reads the rotary embedding of a GGUF model: keys "<architecture>.rope.*" and the tensor rope_freqs.weight.
#pragma once

#include "base/status.h"
#include "compiler/import/architecture_keys.h"
#include "compiler/import/model_spec.h"
#include "compiler/import/weight_source.h"

namespace firn::import {

/// `spec.headDim` and `spec.trainedContext` must be set. Scaling types none, linear, llama3 and yarn; others are
/// refused by name. rope_freqs.weight, where present, divides the frequencies.
Result<RopeSpec> importRope(const ArchitectureKeys& keys, const ModelSpec& spec, WeightSource& weights);

/// The rope of layers with a window, never scaled: theta from key rope.freq_base_swa, else `base`. `spec.rope` must be
/// set.
Result<RopeSpec> importWindowRope(const ArchitectureKeys& keys, const ModelSpec& spec, double base);

}  // namespace firn::import
