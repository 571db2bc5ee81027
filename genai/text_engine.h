// What a pipeline needs of an engine: token ids in, logits out. The engine's session implements it; tests use
// engine_fake.h. No text here, no sampling.
#pragma once

#include <cstdint>
#include <span>

#include "base/status.h"

namespace firn::genai {

/// Fixed sizes of an engine, as rounded by it.
struct EngineLimits {
  uint32_t maxPromptTokens = 0;
  uint32_t kvRows = 0;     ///< T: a token whose logits were computed takes one row
  bool isEndless = false;  ///< true: decode() makes room when no row is free
  uint32_t vocab = 0;      ///< V: ids are in [0, V)
};

/// One sequence of tokens and its logits. Used by one thread at a time. Spans of logits are f32[V], owned by the engine
/// and valid until the next call.
class TextEngine {
 public:
  virtual ~TextEngine() = default;

  virtual EngineLimits limits() const = 0;
  /// Rows in use: the tokens run so far.
  virtual uint32_t position() const = 0;
  /// Starts a new sequence with `ids` (1 .. maxPromptTokens of them) and returns the logits after the last one. Rows of
  /// the last sequence that hold a prefix of `ids` may be kept: the logits are the same.
  /// Fails before any work with invalid_argument or out_of_range: no ids, too many (both numbers named), an id >= V.
  virtual Result<std::span<const float>> prefill(std::span<const int32_t> ids) = 0;
  /// The token with the largest of the logits that the last call returned, of equal ones the smallest id; any or -1
  /// where some are NaN. An engine may know it without a look at all of them.
  virtual int32_t bestToken() const = 0;
  /// Tokens of the last prefill whose rows were kept, at most one less than it had.
  virtual uint32_t cachedTokens() const = 0;
  /// Appends one token and returns the logits after it. Fails with resource_exhausted when no row is free and the
  /// engine is not endless.
  virtual Result<std::span<const float>> decode(int32_t id) = 0;
};

}  // namespace firn::genai
