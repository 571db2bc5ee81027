#include "compiler/import/decoder.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <string>

#include "base/concat.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "compiler/import/architecture_keys.h"
#include "compiler/import/decoder_refusals.h"
#include "compiler/import/rope_import.h"
#include "compiler/import/weight_source.h"
#include "compiler/import/window_import.h"

namespace firn::import {
namespace {

// Far above every published model, far below what overflows 32-bit arithmetic on sizes.
constexpr uint32_t kMostEmbed = 1U << 16;
constexpr uint32_t kMostHeads = 1024;
constexpr uint32_t kMostHeadDim = 1024;
constexpr uint32_t kMostFfn = 1U << 20;
constexpr uint32_t kMostVocab = 1U << 24;
constexpr uint32_t kMostContext = std::numeric_limits<int32_t>::max();
constexpr size_t kMostNameBytes = 1024;

constexpr std::string_view kLayerPrefix = "blk.";

using Derived = ArchitectureKeys::Derived;

Status readHeads(const ArchitectureKeys& keys, uint32_t layers, ModelSpec* spec) {
  FIRN_ASSIGN_OR_RETURN(spec->heads, keys.layerCount("attention.head_count", layers, kMostHeads));
  FIRN_ASSIGN_OR_RETURN(spec->kvHeads, keys.layerCount("attention.head_count_kv", layers, kMostHeads,
                                                       Derived{spec->heads, "'attention.head_count'"}));
  if (spec->heads % spec->kvHeads != 0) {
    return keys.corruptKey("attention.head_count_kv", "is " + std::to_string(spec->kvHeads) +
                                                          ", expected a divisor of the " + std::to_string(spec->heads) +
                                                          " heads");
  }
  if (!keys.has("attention.key_length") && spec->embed % spec->heads != 0) {
    return keys.corruptKey("attention.head_count", "is " + std::to_string(spec->heads) + ", expected a divisor of " +
                                                       "embedding_length " + std::to_string(spec->embed) +
                                                       " in a file without attention.key_length");
  }
  constexpr std::string_view kWidth = "'embedding_length' over 'attention.head_count'";
  FIRN_ASSIGN_OR_RETURN(spec->headDim,
                        keys.count("attention.key_length", kMostHeadDim, Derived{spec->embed / spec->heads, kWidth}));
  if (spec->headDim % 2 != 0) {
    const std::string found = keys.has("attention.key_length") ? "is " : concat("is missing, and ", kWidth, " gives ");
    return keys.corruptKey("attention.key_length", concat(found, spec->headDim, ", expected an even number"));
  }
  FIRN_ASSIGN_OR_RETURN(const uint32_t valueDim, keys.count("attention.value_length", kMostHeadDim,
                                                            Derived{spec->headDim, "'attention.key_length'"}));
  if (valueDim != spec->headDim) {
    return keys.unsupportedKey("attention.value_length", "is " + std::to_string(valueDim) + ", supported is only " +
                                                             "the key length " + std::to_string(spec->headDim));
  }
  FIRN_ASSIGN_OR_RETURN(const double scale, keys.real("attention.scale", {0, 1e6}, 1 / std::sqrt(spec->headDim)));
  spec->attentionScale = static_cast<float>(scale);
  return Status::ok();
}

// The key, else the number of tokens, else the embedding's rows; whichever are present must agree.
Status readVocab(const ArchitectureKeys& keys, const GgufFile& file, ModelSpec* spec) {
  FIRN_ASSIGN_OR_RETURN(const std::optional<GgufStrings> tokens, file.getStrings("tokenizer.ggml.tokens"));
  const GgufTensor* embedding = file.findTensor("token_embd.weight");
  uint64_t rows = embedding == nullptr ? 0 : embedding->dims[1];
  if (tokens) rows = tokens->size();
  const std::string_view source = tokens ? "the length of 'tokenizer.ggml.tokens'" : "the rows of 'token_embd.weight'";
  FIRN_ASSIGN_OR_RETURN(spec->vocab, keys.count("vocab_size", kMostVocab, Derived{rows, source}));
  if (tokens && tokens->size() != spec->vocab) {
    return keys.corruptKey("vocab_size", "is " + std::to_string(spec->vocab) + ", but 'tokenizer.ggml.tokens' has " +
                                             std::to_string(tokens->size()) + " tokens");
  }
  return Status::ok();
}

Status readHyperParameters(const ArchitectureKeys& keys, const GgufFile& file, ModelSpec* spec) {
  FIRN_ASSIGN_OR_RETURN(const uint32_t layers, keys.count("block_count", kMaxLayers));
  FIRN_ASSIGN_OR_RETURN(spec->embed, keys.count("embedding_length", kMostEmbed));
  FIRN_ASSIGN_OR_RETURN(spec->ffn, keys.layerCount("feed_forward_length", layers, kMostFfn));
  if (keys.has("context_length")) {
    FIRN_ASSIGN_OR_RETURN(spec->trainedContext, keys.count("context_length", kMostContext));
  }
  FIRN_ASSIGN_OR_RETURN(const double epsilon, keys.real("attention.layer_norm_rms_epsilon", {0, 1}));
  spec->normEpsilon = static_cast<float>(epsilon);
  FIRN_RETURN_IF_ERROR(readHeads(keys, layers, spec));
  FIRN_RETURN_IF_ERROR(readVocab(keys, file, spec));
  spec->layers.resize(layers);
  return Status::ok();
}

// Norms that only some architectures have.
Status readExtraNorms(WeightSource& weights, const std::string& prefix, const DecoderTraits& traits,
                      const ModelSpec& spec, LayerSpec* layer) {
  if (traits.hasHeadNorms) {
    FIRN_ASSIGN_OR_RETURN(layer->qNorm, weights.vector(prefix + "attn_q_norm.weight", spec.headDim));
    FIRN_ASSIGN_OR_RETURN(layer->kNorm, weights.vector(prefix + "attn_k_norm.weight", spec.headDim));
  }
  if (traits.hasPostNorms) {
    FIRN_ASSIGN_OR_RETURN(layer->postAttnNorm, weights.vector(prefix + "post_attention_norm.weight", spec.embed));
    FIRN_ASSIGN_OR_RETURN(layer->postFfnNorm, weights.vector(prefix + "post_ffw_norm.weight", spec.embed));
  }
  return Status::ok();
}

Status readLayer(WeightSource& weights, const std::string& prefix, const ModelSpec& spec, LayerSpec* layer) {
  const uint64_t queryRows = uint64_t{spec.heads} * spec.headDim;
  const uint64_t keyRows = uint64_t{spec.kvHeads} * spec.headDim;
  FIRN_ASSIGN_OR_RETURN(layer->attnNorm, weights.vector(prefix + "attn_norm.weight", spec.embed));
  FIRN_ASSIGN_OR_RETURN(layer->q, weights.linear(prefix + "attn_q", queryRows, spec.embed));
  FIRN_ASSIGN_OR_RETURN(layer->k, weights.linear(prefix + "attn_k", keyRows, spec.embed));
  FIRN_ASSIGN_OR_RETURN(layer->v, weights.linear(prefix + "attn_v", keyRows, spec.embed));
  FIRN_ASSIGN_OR_RETURN(layer->o, weights.linear(prefix + "attn_output", spec.embed, queryRows));
  FIRN_ASSIGN_OR_RETURN(layer->ffnNorm, weights.vector(prefix + "ffn_norm.weight", spec.embed));
  FIRN_ASSIGN_OR_RETURN(layer->gate, weights.linear(prefix + "ffn_gate", spec.ffn, spec.embed));
  FIRN_ASSIGN_OR_RETURN(layer->up, weights.linear(prefix + "ffn_up", spec.ffn, spec.embed));
  FIRN_ASSIGN_OR_RETURN(layer->down, weights.linear(prefix + "ffn_down", spec.embed, spec.ffn));
  return Status::ok();
}

Status readWeights(WeightSource& weights, const DecoderTraits& traits, ModelSpec* spec) {
  FIRN_ASSIGN_OR_RETURN(spec->embedding, weights.matrix("token_embd.weight", spec->vocab, spec->embed));
  FIRN_ASSIGN_OR_RETURN(spec->outputNorm, weights.vector("output_norm.weight", spec->embed));
  if (weights.has("output.weight")) {
    FIRN_ASSIGN_OR_RETURN(spec->head, weights.linear("output", spec->vocab, spec->embed));
  }
  for (size_t i = 0; i < spec->layers.size(); ++i) {
    const std::string prefix = std::string(kLayerPrefix) + std::to_string(i) + ".";
    FIRN_RETURN_IF_ERROR(readLayer(weights, prefix, *spec, &spec->layers[i]));
    FIRN_RETURN_IF_ERROR(readExtraNorms(weights, prefix, traits, *spec, &spec->layers[i]));
  }
  return Status::ok();
}

struct LayerName {
  bool inLayer = false;
  uint64_t layer = 0;
  std::string_view rest;  ///< "attn_q.weight" of "blk.0.attn_q.weight"
};

LayerName splitName(std::string_view name) {
  LayerName out;
  if (!name.starts_with(kLayerPrefix)) return out;
  const std::string_view rest = name.substr(kLayerPrefix.size());
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), out.layer);
  if (error != std::errc() || end == rest.data() + rest.size() || *end != '.') return out;
  out.inLayer = true;
  out.rest = rest.substr(static_cast<size_t>(end - rest.data()) + 1);
  return out;
}

// What nobody asked for may be left out only if that cannot change an answer. Of tensors of a layer that must be known;
// what else a file brings along is of no use to a layer.
Status checkUnused(const WeightSource& weights, const DecoderTraits& traits, ModelSpec* spec) {
  const auto isOneOf = [](std::span<const std::string_view> list, std::string_view name) {
    return std::ranges::find(list, name) != list.end();
  };
  for (const GgufTensor* tensor : weights.unused()) {
    const LayerName name = splitName(tensor->name);
    if (name.inLayer && name.layer >= spec->layers.size()) {
      return corrupt(weights.path() + ": tensor " + quoted(tensor->name) + " is of layer " +
                     std::to_string(name.layer) + ", but key '" + std::string(traits.architecture) +
                     ".block_count' is " + std::to_string(spec->layers.size()));
    }
    if (name.inLayer ? !isOneOf(kHarmlessLayerTensors, name.rest) : isOneOf(kRefusedTensors, tensor->name)) {
      return unsupported(weights.path() + ": tensor " + quoted(tensor->name) + " is not supported in architecture '" +
                         std::string(traits.architecture) + "': without it the answers would be wrong");
    }
    spec->unusedTensors.push_back(quoted(tensor->name));
  }
  return Status::ok();
}

Status readName(const GgufFile& file, ModelSpec* spec) {
  FIRN_ASSIGN_OR_RETURN(const std::optional<std::string_view> name, file.getString("general.name"));
  const size_t slash = file.path().find_last_of('/');
  spec->name = slash == std::string::npos ? file.path() : file.path().substr(slash + 1);
  const bool good = name && !name->empty() && name->size() <= kMostNameBytes && isPrintableUtf8(*name);
  if (good) spec->name = std::string(*name);
  if (!isPrintableUtf8(spec->name)) spec->name = quoted(spec->name);
  return Status::ok();
}

}  // namespace

Result<ModelSpec> importDecoder(const GgufFile& file, const DecoderTraits& traits) {
  ModelSpec spec;
  spec.architecture = std::string(traits.architecture);
  spec.sourcePath = file.path();
  for (const GgufFile::ShardView& shard : file.shards()) spec.sourceFiles.push_back({shard.path, shard.state});
  spec.storage = file.storage();
  const ArchitectureKeys keys(file, traits.architecture);
  FIRN_RETURN_IF_ERROR(readName(file, &spec));
  FIRN_RETURN_IF_ERROR(keys.refuse(kRefusedKeys));
  FIRN_RETURN_IF_ERROR(readHyperParameters(keys, file, &spec));
  WeightSource weights(file);
  FIRN_ASSIGN_OR_RETURN(spec.rope, importRope(keys, spec, weights));
  spec.rope.pairing = traits.pairing;
  FIRN_RETURN_IF_ERROR(importWindows(keys, file, traits, &spec));
  spec.activation = traits.activation;
  if (traits.scalesEmbedding) spec.embeddingScale = std::sqrt(static_cast<float>(spec.embed));
  FIRN_RETURN_IF_ERROR(readWeights(weights, traits, &spec));
  FIRN_RETURN_IF_ERROR(checkUnused(weights, traits, &spec));
  return spec;
}

}  // namespace firn::import
