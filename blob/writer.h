// Writes a blob: everything outside the weights first, then the weights in a stream.
// Not here: making the program (the compiler), packing weights (kernels/quant).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/status.h"
#include "blob/layout.h"
#include "blob/program.h"

namespace firn::blob {

/// Everything of a blob but the bytes of its weights.
struct Contents {
  /// target, lanes, arithmeticId, isaNeeds, modelHash, compilerId; the version and the other hashes are set by the
  /// writer.
  Ident ident{};
  std::string card = "{}";               ///< JSON object
  std::span<const std::byte> tokenizer;  ///< empty: no section
  std::string chatTemplate;              ///< empty: no section
  std::string machine;                   ///< machine file, JSON, where an entry is for the npu; else empty
  Program program;                       ///< header.weightsBytes says how many weight bytes follow
  bool hasWeights = true;                ///< false: none follow, the file only says how many there would be
};

/// A blob on its way to `path`: create, then exactly program.header.weightsBytes bytes of weights in order (none
/// without Contents::hasWeights), then finish. Same calls, same bytes. Memory: the part outside the weights. The file
/// appears under its name, complete and verified, in finish(), or not at all. One thread.
class Writer {
 public:
  /// Refuses a program that breaks a rule of verifier.h (internal: it is the caller's bug), with the record at fault,
  /// and more than kMaxOutsideBytes beside the weights, which no reader opens (resource_exhausted).
  static Result<Writer> create(const std::string& path, const Contents& contents);

  ~Writer();
  Writer(Writer&&) noexcept;
  Writer& operator=(Writer&&) noexcept;

  /// Bytes of weights written so far: the offset of the next append in the weight section.
  uint64_t weightsOffset() const;
  Status appendWeights(std::span<const std::byte> bytes);
  /// Zeros up to `offset` of the weight section; internal when that is behind.
  Status padWeightsTo(uint64_t offset);
  /// Hashes, flushes and renames. internal when bytes of weights are missing.
  Status finish();

 private:
  struct State;
  explicit Writer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace firn::blob
