// What a file of any architecture may hold that would change the numbers in a way that firn does not: such a file is
// refused. A tensor that the traits of an architecture ask for is used and never compared with this list.
#pragma once

#include <string_view>

#include "compiler/import/architecture_keys.h"

namespace firn::import {

inline constexpr RefusedKey kRefusedKeys[] = {
    {"expert_count", 0, 0, "a mixture of experts"},
    {"attention.causal", 1, 1, "attention that is not causal"},
    {"attention.clamp_kqv", 0, 0, "clamping of q, k and v"},
    {"attention.max_alibi_bias", 0, 0, "an ALiBi bias"},
    {"attention.kv_lora_rank", 0, 0, "latent attention"},
    {"attention.temperature_scale", 0, 0, "a temperature of attention by position"},
    {"attention.temperature_length", 0, 0, "a temperature of attention by position"},
    {"attention.key_length_swa", 0, 0, "another head size in windowed layers"},
    {"attn_logit_softcapping", 0, 0, "soft-capping of scores"},
    {"final_logit_softcapping", 0, 0, "soft-capping of logits"},
    {"logit_scale", 0, 1, "a scale of logits"},
    {"embedding_scale", 0, 1, "a scale of embeddings"},
    {"residual_scale", 0, 1, "a scale of residuals"},
    {"use_parallel_residual", 0, 0, "a parallel residual"},
    {"no_rope_layer_interval", 0, 0, "layers without rope"},
};

/// Keys of a second rope, refused where layers with a window have none of their own.
inline constexpr RefusedKey kRefusedWindowRopeKeys[] = {
    {"rope.freq_base_swa", 0, 0, "a second rope for windowed layers"},
    {"rope.dimension_count_swa", 0, 0, "a second rope for windowed layers"},
};

/// Keys of ropes that go beyond the formulas of rope_frequencies.h.
inline constexpr RefusedKey kRefusedRopeKeys[] = {
    {"rope.scaling.attn_factor", 0, 1, "a scale of attention by rope"},
    {"rope.scaling.yarn_attn_factor", 0, 1, "a scale of attention by rope"},
    {"rope.scaling.yarn_ext_factor", 0, 1, "a partial yarn"},
    {"rope.scaling.yarn_log_multiplier", 0, 0, "yarn with another magnitude"},
    {"rope.dimension_sections", 0, 0, "a rope of several sections"},
};

/// Tensors outside the layers.
inline constexpr std::string_view kRefusedTensors[] = {
    "output.bias",
    "output.scale",
    "output_norm.bias",
    "position_embd.weight",
    "token_embd.scale",
    "token_embd_norm.weight",
    "token_embd_norm.bias",
    "token_types.weight",
    "rope_factors_long.weight",
    "rope_factors_short.weight",
};

/// Of the tensors of a layer ("blk.0." before the name), all that is not asked for and not one of these is refused: a
/// scale, a norm or a bias that nobody knows yet would be missed in silence.
inline constexpr std::string_view kHarmlessLayerTensors[] = {
    "attn_rot_embd.weight",  // frequencies of the rope, which the keys give
};

}  // namespace firn::import
