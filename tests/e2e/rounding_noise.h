// How far a model's logits move when every value that a target rounds is off by as much as that rounding allows:
// the bound of a whole model in docs/arithmetic.md.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "compiler/driver.h"
#include "compiler/import/even_norms.h"
#include "compiler/import/model_spec.h"

namespace firn::e2e {

/// Difference of logits to those of exact fp32 arithmetic.
struct ModelBound {
  float largest = 0;      ///< of one logit
  double rms = 0;         ///< root of the mean square over all logits: at most this,
  double rmsAtLeast = 0;  ///< and at least this
};

/// What a program rounds.
struct Roundings {
  std::optional<compiler::ActivationPlanes> planes;  ///< of inputs of quantized matrices; nullopt: they are fp32
  DType kvType = DType::kF16;                        ///< f16, i8 or f32
  bool halfOperands = false;                         ///< npu: both operands of every product are f16
};

/// Runs `ids` through `model` with fp32 reference kernels, exactly and a few times with random errors: each input of a
/// quantized matrix gets an error drawn evenly from the interval that its group of 32 allows with the planes, each key
/// and value one of rounding to the type of the cache; with halfOperands each input of a matrix, key and value one of
/// rounding to f16, by the root of two larger, for the operand that it is multiplied with is rounded too. The bounds
/// are the largest differences seen, and the least for rmsAtLeast, widened by the factors below and by
/// kRecordedTolerance.
ModelBound boundOfModel(const import::ModelSpec& model, std::span<const int32_t> ids, const Roundings& roundings);

/// The layers of `model` with the norms of heads that a compile for a cache of i8 gives them. `norms` holds their
/// weights and must outlive the result.
import::ModelSpec withEvenNorms(import::ModelSpec model, std::deque<import::HeadNorms>& norms);

/// The real errors are one more draw: the largest of tens of thousands of logits varies by half from draw to draw, the
/// rms by a few per cent.
inline constexpr float kLargestFactor = 2;
inline constexpr double kRmsFactor = 1.25;

}  // namespace firn::e2e
