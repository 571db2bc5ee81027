// A whole decoder as a plain loop over kernels/reference: no compiler, no blob, no device. The independent check that
// import and kernels are right, and what a compiled program for the reference target must agree with.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "compiler/import/model_spec.h"
#include "kernels/reference/view.h"

namespace firn::golden {

/// Which linears read a vector: q, k and v; o; gate and up; down; the output head.
enum class LinearInput { kAttention, kAttentionOutput, kFeedForward, kDown, kHead };

/// What a target with less precise numbers does to values between two ops. The defaults change nothing.
class Rounding {
 public:
  virtual ~Rounding() = default;
  /// `values` [m, columns] are about to be multiplied by matrices of type `weights`.
  virtual void linearInput(LinearInput /*input*/, DType /*weights*/, std::span<float> /*values*/,
                           uint64_t /*columns*/) {}
  /// Keys (rotated) or values [n, headDim] that are about to enter the cache.
  virtual void cacheRows(std::span<float> /*values*/, uint64_t /*headDim*/) {}
  /// Keys enter the cache without the bias of their projection, which is added where they are read; where a norm stands
  /// between the two, there is no such bias.
  virtual bool keysWithoutBias() const { return false; }
};

/// One conversation of `model`, which must outlive it. Memory and time as of an unoptimized fp32 model.
class ReferenceModel {
 public:
  /// `cacheRows`: how many tokens run() may be given in all. `rounding` (null: none) must outlive the model.
  ReferenceModel(const import::ModelSpec& model, uint64_t cacheRows, Rounding* rounding = nullptr);

  /// Appends `ids` (one chunk of any length) and returns the logits f32[ids.size(), vocab].
  std::vector<float> run(std::span<const int32_t> ids);

  /// Drops tokens [first, last) of those run: the rows behind them move up, and their keys are turned back to their new
  /// positions, in double. Everything else stays what it was computed to be.
  void truncate(uint64_t first, uint64_t last);

 private:
  struct Chunk;

  void attentionBlock(const import::LayerSpec& layer, uint64_t index, const Chunk& chunk, std::vector<float>& x);
  void feedForwardBlock(const import::LayerSpec& layer, const Chunk& chunk, std::vector<float>& x) const;
  /// Norms the heads where `headNorm` says so, and rotates them.
  void placeHeads(const import::LayerSpec& layer, const std::optional<import::TensorView>& headNorm,
                  std::vector<float>& vectors, const Chunk& chunk) const;
  /// x += delta, after a norm of delta where there is one.
  void addTo(std::vector<float>& x, std::vector<float> delta, const std::optional<import::TensorView>& norm,
             uint64_t rows) const;
  void activate(std::vector<float>& gate, uint64_t rows) const;
  /// Rounds rotated keys [rows, kvHeads, headDim] as the cache holds them.
  void roundKeys(const import::LayerSpec& layer, const Chunk& chunk, std::vector<float>& keys) const;
  /// Turns the keys of the rows from `first` on back by `dropped` positions.
  void turnKeys(const import::LayerSpec& layer, uint64_t index, uint64_t first, uint64_t dropped);
  reference::Heads cache(uint64_t layer, uint64_t keyOrValue);

  void roundInput(LinearInput input, const import::LinearSpec& linear, std::vector<float>& values) const;

  const import::ModelSpec& model_;
  uint64_t cacheRows_;
  Rounding* rounding_;
  uint64_t past_ = 0;
  std::vector<float> cache_;   ///< [layer][K, V][kvHead][cacheRows][headDim]
  std::vector<uint8_t> mask_;  ///< [cacheRows]
};

}  // namespace firn::golden
