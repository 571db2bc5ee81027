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

/// "blk.*." stands for any layer.
inline constexpr std::string_view kRefusedTensors[] = {
    "output.bias",
    "output_norm.bias",
    "position_embd.weight",
    "token_embd_norm.weight",
    "rope_factors_long.weight",
    "rope_factors_short.weight",
    "blk.*.attn_norm.bias",
    "blk.*.ffn_norm.bias",
    "blk.*.attn_q_norm.weight",
    "blk.*.attn_k_norm.weight",
    "blk.*.attn_qkv.weight",
    "blk.*.attn_sinks.weight",
    "blk.*.attn_sub_norm.weight",
    "blk.*.ffn_sub_norm.weight",
    "blk.*.post_attention_norm.weight",
    "blk.*.post_ffw_norm.weight",
    "blk.*.ffn_gate_inp.weight",
    "blk.*.attn_q.scale",
    "blk.*.attn_k.scale",
    "blk.*.attn_v.scale",
    "blk.*.ffn_up.scale",
};

}  // namespace firn::import
