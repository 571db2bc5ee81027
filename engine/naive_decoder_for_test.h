// The tiny model of runtime/cts as a plain loop, one row after the other: dropping tokens is erasing their rows and
// turning the keys behind them in double. What sessions are held against after shifts and truncations.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "base/row_i8.h"
#include "runtime/cts/tiny_model.h"

namespace firn::engine {

/// One conversation, one token at a time, in fp32 with sums in double. Weights are f32.
class NaiveDecoder {
 public:
  using Row = std::vector<float>;

  /// Keys and values go through `kvType` when they are written, and keys again when they move; with f32 nothing is
  /// rounded. `keyBias`: keys have one; in a cache of i8 they stand without it.
  NaiveDecoder(DType kvType, bool keyBias) : kvType_(kvType), keyBias_(keyBias), layers_(runtime::cts::kLayers) {}

  /// Appends `id` and returns the logits that follow it.
  Row decode(int32_t id) {
    using namespace runtime::cts;
    Row x(kEmbed);
    std::memcpy(x.data(), weights_.embedding.bytes.data() + static_cast<size_t>(id) * kEmbed * sizeof(float),
                kEmbed * sizeof(float));
    for (uint32_t layer = 0; layer < kLayers; ++layer) {
      const TinyLayer& w = weights_.layers[layer];
      const Row n = norm(x, w.attnNorm);
      const uint32_t position = static_cast<uint32_t>(layers_[layer].size());
      Row key = times(w.k, n);
      if (keyBias_ && !addsBiasWhenRead()) add(key, biasOf(layer));
      layers_[layer].push_back({rounded(turned(key, position)), rounded(times(w.v, n))});
      std::vector<Cached> rows = layers_[layer];
      for (uint32_t row = 0; keyBias_ && addsBiasWhenRead() && row < rows.size(); ++row) {
        add(rows[row].key, turned(biasOf(layer), row));
      }
      add(x, times(w.o, attend(rows, turned(times(w.q, n), position))));
      const Row m = norm(x, w.ffnNorm);
      Row gate = times(w.gate, m);
      const Row up = times(w.up, m);
      for (uint32_t i = 0; i < kFfn; ++i) gate[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
      add(x, times(w.down, gate));
    }
    return times(weights_.embedding, norm(x, weights_.outputNorm));
  }

  /// Drops tokens [first, last): the keys behind them get the angles of their new positions.
  void truncate(uint32_t first, uint32_t last) {
    for (auto& rows : layers_) {
      rows.erase(rows.begin() + first, rows.begin() + last);
      for (uint32_t row = first; row < rows.size(); ++row) {
        rows[row].key = rounded(turned(rows[row].key, -static_cast<double>(last - first)));
      }
    }
  }

 private:
  struct Cached {
    Row key, value;
  };

  bool addsBiasWhenRead() const { return kvType_ == DType::kI8; }
  Row biasOf(uint32_t layer) const {
    Row bias(runtime::cts::kKvHeads * runtime::cts::kHeadDim);
    std::memcpy(bias.data(), weights_.layers[layer].kBias.bytes.data(), bias.size() * sizeof(float));
    return bias;
  }
  Row rounded(Row row) const {
    using runtime::cts::kHeadDim;
    if (kvType_ == DType::kF16) {
      for (float& x : row) x = f16ToF32(f32ToF16(x));
    }
    for (size_t at = 0; kvType_ == DType::kI8 && at < row.size(); at += kHeadDim) {
      int8_t codes[kHeadDim];
      const float scale = quantizeRowI8(std::span(row).subspan(at, kHeadDim), codes);
      for (uint32_t i = 0; i < kHeadDim; ++i) row[at + i] = scale * codes[i];
    }
    return row;
  }
  static Row times(const runtime::cts::TinyTensor& matrix, const Row& x) {
    const auto* w = reinterpret_cast<const float*>(matrix.bytes.data());
    Row out(matrix.rows);
    for (uint32_t i = 0; i < matrix.rows; ++i) {
      double sum = 0;
      for (uint32_t j = 0; j < matrix.columns; ++j) sum += static_cast<double>(w[i * matrix.columns + j]) * x[j];
      out[i] = static_cast<float>(sum);
    }
    return out;
  }
  static Row norm(const Row& x, const runtime::cts::TinyTensor& weight) {
    const auto* w = reinterpret_cast<const float*>(weight.bytes.data());
    double squares = 0;
    for (const float v : x) squares += static_cast<double>(v) * v;
    const double scale = 1 / std::sqrt(squares / static_cast<double>(x.size()) + runtime::cts::kEpsilon);
    Row out(x.size());
    for (size_t i = 0; i < x.size(); ++i) out[i] = static_cast<float>(x[i] * scale * w[i]);
    return out;
  }
  static void add(Row& x, const Row& delta) {
    for (size_t i = 0; i < x.size(); ++i) x[i] += delta[i];
  }
  Row turned(Row row, double position) const {
    using runtime::cts::kHeadDim;
    for (size_t at = 0; at < row.size(); at += 2) {
      const double angle = position * static_cast<double>(weights_.ropeFreqs[at % kHeadDim / 2]);
      const double a = row[at], b = row[at + 1];
      row[at] = static_cast<float>(a * std::cos(angle) - b * std::sin(angle));
      row[at + 1] = static_cast<float>(a * std::sin(angle) + b * std::cos(angle));
    }
    return row;
  }
  static Row attend(const std::vector<Cached>& rows, const Row& q) {
    using namespace runtime::cts;
    Row out(q.size());
    for (uint32_t head = 0; head < kHeads; ++head) {
      const uint32_t kv = head / (kHeads / kKvHeads) * kHeadDim;
      std::vector<double> scores;
      double largest = -INFINITY;
      for (const Cached& row : rows) {
        double score = 0;
        for (uint32_t i = 0; i < kHeadDim; ++i) score += static_cast<double>(q[head * kHeadDim + i]) * row.key[kv + i];
        scores.push_back(0.25 * score);
        largest = std::fmax(largest, scores.back());
      }
      double total = 0;
      for (double& score : scores) total += score = std::exp(score - largest);
      for (uint32_t i = 0; i < kHeadDim; ++i) {
        double sum = 0;
        for (size_t r = 0; r < rows.size(); ++r) sum += scores[r] * rows[r].value[kv + i];
        out[head * kHeadDim + i] = static_cast<float>(sum / total);
      }
    }
    return out;
  }

  const runtime::cts::TinyWeights weights_ = runtime::cts::makeTinyWeights(DType::kF32);
  DType kvType_;
  bool keyBias_;
  std::vector<std::vector<Cached>> layers_;  ///< rows of each
};

}  // namespace firn::engine
