// What a blob tells people and programs about the model it was made from: a JSON object. No device reads it. The engine
// needs its rope to turn keys of the cache (engine/rope_turn.h), firn its end ids where the blob has no tokenizer.
#pragma once

#include <string>

#include "compiler/driver.h"
#include "compiler/import/model_spec.h"
#include "compiler/ladders.h"

namespace firn::compiler {

/// Keys: architecture, name, source (file name), layers, embed, heads, kv_heads, head_dim, ffn, vocab, trained_context,
/// end_ids (of the keys for end tokens), rope (a list of first_layer, layers, pairing, dims, frequencies: how the keys
/// of these layers are turned), target, lanes, max_prompt_tokens, min_response_tokens, kv_rows, prefill_chunks,
/// contexts, weights (by type: tensors and bytes in the source).
std::string modelCard(const import::ModelSpec& spec, const Sizes& sizes, const CompileOptions& options);

/// Every tensor of the model, the embedding once. The views live as long as `spec`.
std::vector<const import::TensorView*> allTensors(const import::ModelSpec& spec);

}  // namespace firn::compiler
