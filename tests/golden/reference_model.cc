#include "tests/golden/reference_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <utility>

#include "kernels/reference/add.h"
#include "kernels/reference/attention.h"
#include "kernels/reference/embed.h"
#include "kernels/reference/gelu.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/mul.h"
#include "kernels/reference/rms_norm.h"
#include "kernels/reference/rope.h"
#include "kernels/reference/scale.h"
#include "kernels/reference/silu.h"
#include "kernels/reference/state_write.h"

namespace firn::golden {
namespace {

using import::LinearSpec;
using import::TensorView;
using reference::Matrix;
using reference::WeightView;

WeightView weightView(const TensorView& tensor) {
  const uint64_t columns = tensor.dims.back();
  const uint64_t rows = tensor.dims.size() == 1 ? 1 : tensor.dims.front();
  return {tensor.type, tensor.bytes.data(), rows, columns, columns};
}

Matrix matrix(std::vector<float>& values, uint64_t rows) {
  return {values.data(), rows, values.size() / rows, values.size() / rows};
}

reference::ConstMatrix matrix(const std::vector<float>& values, uint64_t rows) {
  return {values.data(), rows, values.size() / rows, values.size() / rows};
}

std::vector<float> project(const LinearSpec& spec, const std::vector<float>& in, uint64_t rows) {
  const WeightView weight = weightView(spec.weight);
  std::vector<float> out(rows * weight.rows);
  const WeightView bias = spec.bias ? weightView(*spec.bias) : WeightView{};
  reference::linear({.in = matrix(in, rows), .weight = weight, .bias = bias, .out = matrix(out, rows)});
  return out;
}

std::vector<float> normalize(const TensorView& weight, const std::vector<float>& x, uint64_t rows, float epsilon) {
  std::vector<float> out(x.size());
  reference::rmsNorm(
      {.in = matrix(x, rows), .weight = weightView(weight), .out = matrix(out, rows), .epsilon = epsilon});
  return out;
}

/// Activations [m, heads * headDim] seen as heads.
template <typename View, typename Values>
View headsView(Values& values, uint64_t heads, uint64_t headDim) {
  return {values.data(), values.size() / (heads * headDim), heads, headDim, heads * headDim, headDim};
}

reference::ConstHeads asConst(const reference::Heads& heads) {
  return {heads.data, heads.rows, heads.heads, heads.headDim, heads.rowStride, heads.headStride};
}

/// Rows [n, heads, headDim] into the rows of `cache` from `row0` on.
void writeRows(const std::vector<float>& rows, const reference::Heads& cache, uint64_t row0) {
  const auto in = headsView<reference::ConstHeads>(rows, cache.heads, cache.headDim);
  reference::stateWrite({.in = in, .cache = reference::cacheOf(cache), .row0 = row0, .valid = in.rows});
}

/// Turns the pairs of one head's key by `positions`; a magnitude stays inside.
void turn(std::span<float> key, const import::RopeSpec& rope, double positions) {
  const bool isInterleaved = rope.pairing == import::RopePairing::kInterleaved;
  for (uint32_t pair = 0; pair < rope.dims / 2; ++pair) {
    float& a = key[isInterleaved ? 2 * pair : pair];
    float& b = key[isInterleaved ? 2 * pair + 1 : pair + rope.dims / 2];
    const double angle = positions * static_cast<double>(rope.freqs[pair]);
    const double x = a;
    const double y = b;
    a = static_cast<float>(x * std::cos(angle) - y * std::sin(angle));
    b = static_cast<float>(x * std::sin(angle) + y * std::cos(angle));
  }
}

}  // namespace

struct ReferenceModel::Chunk {
  Chunk(uint64_t first, uint64_t rows) : positions(rows) {
    std::iota(positions.begin(), positions.end(), static_cast<int32_t>(first));
  }
  uint64_t rows() const { return positions.size(); }

  std::vector<int32_t> positions;
};

ReferenceModel::ReferenceModel(const import::ModelSpec& model, uint64_t cacheRows, Rounding* rounding)
    : model_(model),
      cacheRows_(cacheRows),
      rounding_(rounding),
      // Rows never written must not matter, so they hold the worst.
      cache_(model.layers.size() * 2 * model.kvHeads * cacheRows * model.headDim,
             std::numeric_limits<float>::quiet_NaN()),
      mask_(cacheRows, 0) {}

reference::Heads ReferenceModel::cache(uint64_t layer, uint64_t keyOrValue) {
  const uint64_t headSize = cacheRows_ * model_.headDim;
  float* data = cache_.data() + (layer * 2 + keyOrValue) * model_.kvHeads * headSize;
  return {data, cacheRows_, model_.kvHeads, model_.headDim, model_.headDim, headSize};
}

void ReferenceModel::placeHeads(const import::LayerSpec& layer, const std::optional<TensorView>& headNorm,
                                std::vector<float>& vectors, const Chunk& chunk) const {
  const uint64_t heads = vectors.size() / (chunk.rows() * model_.headDim);
  if (headNorm) vectors = normalize(*headNorm, vectors, chunk.rows() * heads, model_.normEpsilon);
  const import::RopeSpec& rope = import::ropeOf(model_, layer);
  reference::rope({.in = headsView<reference::ConstHeads>(vectors, heads, model_.headDim),
                   .out = headsView<reference::Heads>(vectors, heads, model_.headDim),
                   .positions = chunk.positions.data(),
                   .freqs = rope.freqs.data(),
                   .dims = rope.dims,
                   .pairing = static_cast<reference::RopePairing>(rope.pairing),
                   .magnitude = rope.magnitude});
}

void ReferenceModel::addTo(std::vector<float>& x, std::vector<float> delta, const std::optional<TensorView>& norm,
                           uint64_t rows) const {
  if (norm) delta = normalize(*norm, delta, rows, model_.normEpsilon);
  reference::add(
      {.a = matrix(std::as_const(x), rows), .b = matrix(std::as_const(delta), rows), .out = matrix(x, rows)});
}

void ReferenceModel::activate(std::vector<float>& gate, uint64_t rows) const {
  const reference::ConstMatrix in = matrix(std::as_const(gate), rows);
  if (model_.activation == import::Activation::kGeluTanh) {
    reference::gelu({.in = in, .out = matrix(gate, rows), .tanhForm = true});
  } else {
    reference::silu({.in = in, .out = matrix(gate, rows)});
  }
}

void ReferenceModel::roundInput(LinearInput input, const LinearSpec& linear, std::vector<float>& values) const {
  if (rounding_ != nullptr) rounding_->linearInput(input, linear.weight.type, values, linear.weight.dims.back());
}

void ReferenceModel::attentionBlock(const import::LayerSpec& layer, uint64_t index, const Chunk& chunk,
                                    std::vector<float>& x) {
  std::vector<float> normed = normalize(layer.attnNorm, x, chunk.rows(), model_.normEpsilon);
  roundInput(LinearInput::kAttention, layer.q, normed);
  std::vector<float> q = project(layer.q, normed, chunk.rows());
  std::vector<float> k = project(layer.k, normed, chunk.rows());
  std::vector<float> v = project(layer.v, normed, chunk.rows());
  placeHeads(layer, layer.qNorm, q, chunk);
  placeHeads(layer, layer.kNorm, k, chunk);
  if (rounding_ != nullptr) {
    roundKeys(layer, chunk, k);
    rounding_->cacheRows(v, model_.headDim);
  }
  const reference::Heads keys = cache(index, 0);
  const reference::Heads values = cache(index, 1);
  writeRows(k, keys, past_);
  writeRows(v, values, past_);
  std::vector<float> mixed(q.size());
  reference::attention({.query = headsView<reference::ConstHeads>(q, model_.heads, model_.headDim),
                        .keys = asConst(keys),
                        .values = asConst(values),
                        .mask = mask_.data(),
                        .context = cacheRows_,
                        .row0 = past_,
                        .window = layer.window,
                        .scale = model_.attentionScale,
                        .out = headsView<reference::Heads>(mixed, model_.heads, model_.headDim)});
  roundInput(LinearInput::kAttentionOutput, layer.o, mixed);
  addTo(x, project(layer.o, mixed, chunk.rows()), layer.postAttnNorm, chunk.rows());
}

void ReferenceModel::feedForwardBlock(const import::LayerSpec& layer, const Chunk& chunk, std::vector<float>& x) const {
  std::vector<float> normed = normalize(layer.ffnNorm, x, chunk.rows(), model_.normEpsilon);
  roundInput(LinearInput::kFeedForward, layer.gate, normed);
  std::vector<float> gate = project(layer.gate, normed, chunk.rows());
  const std::vector<float> up = project(layer.up, normed, chunk.rows());
  const Matrix gated = matrix(gate, chunk.rows());
  activate(gate, chunk.rows());
  reference::mul({.a = matrix(std::as_const(gate), chunk.rows()), .b = matrix(up, chunk.rows()), .out = gated});
  roundInput(LinearInput::kDown, layer.down, gate);
  addTo(x, project(layer.down, gate, chunk.rows()), layer.postFfnNorm, chunk.rows());
}

void ReferenceModel::roundKeys(const import::LayerSpec& layer, const Chunk& chunk, std::vector<float>& keys) const {
  if (!rounding_->keysWithoutBias() || !layer.k.bias || layer.kNorm) {
    rounding_->cacheRows(keys, model_.headDim);
    return;
  }
  std::vector<float> bias = project(layer.k, std::vector<float>(chunk.rows() * model_.embed), chunk.rows());
  placeHeads(layer, std::nullopt, bias, chunk);
  std::transform(keys.begin(), keys.end(), bias.begin(), keys.begin(), std::minus<>());
  rounding_->cacheRows(keys, model_.headDim);
  std::transform(keys.begin(), keys.end(), bias.begin(), keys.begin(), std::plus<>());
}

void ReferenceModel::turnKeys(const import::LayerSpec& layer, uint64_t index, uint64_t first, uint64_t dropped) {
  if (first == past_) return;
  const Chunk moved(first, past_ - first);
  const reference::Heads rows = cache(index, 0);
  std::vector<float> keys;
  for (uint64_t at = first; at < past_; ++at) {
    for (uint64_t head = 0; head < rows.heads; ++head) {
      const float* row = rows.data + head * rows.headStride + at * rows.rowStride;
      keys.insert(keys.end(), row, row + rows.headDim);
      turn(std::span(keys).last(rows.headDim), import::ropeOf(model_, layer), -static_cast<double>(dropped));
    }
  }
  if (rounding_ != nullptr) roundKeys(layer, moved, keys);
  writeRows(keys, rows, first);
}

void ReferenceModel::truncate(uint64_t first, uint64_t last) {
  for (uint64_t i = 0; i < model_.layers.size(); ++i) {
    for (const uint64_t keyOrValue : {0, 1}) {
      const reference::Heads rows = cache(i, keyOrValue);
      for (uint64_t head = 0; head < rows.heads; ++head) {
        const auto row = [&](uint64_t index) { return rows.data + head * rows.headStride + index * rows.rowStride; };
        std::copy(row(last), row(past_), row(first));
      }
    }
  }
  past_ -= last - first;
  for (uint64_t i = 0; i < model_.layers.size(); ++i) turnKeys(model_.layers[i], i, first, last - first);
  std::fill_n(mask_.begin() + static_cast<int64_t>(past_), last - first, uint8_t{0});
}

std::vector<float> ReferenceModel::run(std::span<const int32_t> ids) {
  const Chunk chunk(past_, ids.size());
  std::fill_n(mask_.begin() + static_cast<int64_t>(past_), ids.size(), uint8_t{1});
  std::vector<float> x(ids.size() * model_.embed);
  reference::embed({.ids = ids.data(), .table = weightView(model_.embedding), .out = matrix(x, ids.size())});
  reference::scale(
      {.in = matrix(std::as_const(x), ids.size()), .out = matrix(x, ids.size()), .factor = model_.embeddingScale});
  for (uint64_t i = 0; i < model_.layers.size(); ++i) {
    attentionBlock(model_.layers[i], i, chunk, x);
    feedForwardBlock(model_.layers[i], chunk, x);
  }
  past_ += ids.size();
  std::vector<float> normed = normalize(model_.outputNorm, x, ids.size(), model_.normEpsilon);
  const LinearSpec head = model_.head ? *model_.head : LinearSpec{.weight = model_.embedding, .bias = {}};
  roundInput(LinearInput::kHead, head, normed);
  return project(head, normed, ids.size());
}

}  // namespace firn::golden
