#include "compiler/model_card.h"

#include <filesystem>

#include <nlohmann/json.hpp>

namespace firn::compiler {
namespace {

void addLinear(const import::LinearSpec& linear, std::vector<const import::TensorView*>& tensors) {
  tensors.push_back(&linear.weight);
  if (linear.bias) tensors.push_back(&*linear.bias);
}

/// Multiply-adds of the linear layers for one token, the head aside: what a simulation sets times against.
uint64_t linearMacs(const import::ModelSpec& spec) {
  uint64_t macs = 0;
  for (const import::LayerSpec& layer : spec.layers) {
    for (const auto* linear : {&layer.q, &layer.k, &layer.v, &layer.o, &layer.gate, &layer.up, &layer.down}) {
      macs += linear->weight.dims[0] * linear->weight.dims[1];
    }
  }
  return macs;
}

/// What a host needs to turn keys of the cache: engine/rope_turn.h. One element for each run of layers with one rope.
nlohmann::ordered_json ropes(const import::ModelSpec& spec) {
  nlohmann::ordered_json runs = nlohmann::ordered_json::array();
  size_t first = 0;
  for (size_t i = 1; i <= spec.layers.size(); ++i) {
    const import::RopeSpec* rope = &import::ropeOf(spec, spec.layers[first]);
    if (i < spec.layers.size() && &import::ropeOf(spec, spec.layers[i]) == rope) continue;
    const bool isInterleaved = rope->pairing == import::RopePairing::kInterleaved;
    runs.push_back({{"first_layer", first},
                    {"layers", i - first},
                    {"pairing", isInterleaved ? "interleaved" : "half_split"},
                    {"dims", rope->dims},
                    {"frequencies", rope->freqs}});
    first = i;
  }
  return runs;
}

}  // namespace

std::vector<const import::TensorView*> allTensors(const import::ModelSpec& spec) {
  std::vector<const import::TensorView*> tensors = {&spec.embedding};
  for (const import::LayerSpec& layer : spec.layers) {
    tensors.push_back(&layer.attnNorm);
    for (const auto* linear : {&layer.q, &layer.k, &layer.v, &layer.o}) addLinear(*linear, tensors);
    tensors.push_back(&layer.ffnNorm);
    for (const auto* linear : {&layer.gate, &layer.up, &layer.down}) addLinear(*linear, tensors);
    for (const auto* norm : {&layer.qNorm, &layer.kNorm, &layer.postAttnNorm, &layer.postFfnNorm}) {
      if (*norm) tensors.push_back(&**norm);
    }
  }
  tensors.push_back(&spec.outputNorm);
  if (spec.head) addLinear(*spec.head, tensors);
  return tensors;
}

std::string modelCard(const import::ModelSpec& spec, const Sizes& sizes, const CompileOptions& options) {
  nlohmann::ordered_json card;
  card["architecture"] = spec.architecture;
  card["name"] = spec.name;
  card["source"] = std::filesystem::path(spec.sourcePath).filename().string();
  card["layers"] = spec.layers.size();
  card["embed"] = spec.embed;
  card["heads"] = spec.heads;
  card["kv_heads"] = spec.kvHeads;
  card["head_dim"] = spec.headDim;
  card["ffn"] = spec.ffn;
  card["vocab"] = spec.vocab;
  card["linear_macs"] = linearMacs(spec);
  card["trained_context"] = spec.trainedContext;
  card["end_ids"] = spec.endIds;
  card["rope"] = ropes(spec);
  card["target"] = options.target;
  card["lanes"] = sizes.lanes;
  card["max_prompt_tokens"] = sizes.maxPromptTokens;
  card["min_response_tokens"] = sizes.minResponseTokens;
  card["kv_rows"] = sizes.kvRows;
  card["prefill_chunks"] = sizes.prefillChunks;
  card["contexts"] = sizes.contexts;
  nlohmann::ordered_json weights = nlohmann::ordered_json::object();
  for (const import::TensorView* tensor : allTensors(spec)) {
    const DTypeInfo* info = dtypeInfo(tensor->type);
    auto& row = weights[std::string(info->name)];
    if (row.is_null()) row = {{"tensors", 0}, {"bytes", 0}};
    row["tensors"] = row["tensors"].get<uint64_t>() + 1;
    row["bytes"] = row["bytes"].get<uint64_t>() + tensor->bytes.size();
  }
  card["weights"] = std::move(weights);
  // Names come from the file and may be no UTF-8.
  return card.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

}  // namespace firn::compiler
