// What the tests of the cpu kernels share: random inputs, packed weights, and comparison bit by bit.
// Not an oracle: each test brings its own.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "base/dtype.h"
#include "kernels/cpu/kernels.h"

namespace firn::cpu::test {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();
/// Unit roundoff of fp32.
inline constexpr double kRoundoff = 0x1p-24;

/// Instruction sets that this machine runs; portable is the first.
std::vector<InstructionSet> supportedSets();

/// Reproducible numbers.
class Random {
 public:
  explicit Random(uint64_t seed) : engine_(seed) {}
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(engine_() % limit); }
  /// About normal: the sum of four uniform numbers, so never beyond 3.5 sigma.
  float normal(float sigma = 1);
  std::vector<float> normals(size_t count, float sigma = 1);
  /// Normals over many magnitudes, with zeros, signed zeros and subnormals among them; all finite, below 1e4.
  std::vector<float> extremes(size_t count);

 private:
  std::mt19937_64 engine_;
};

/// A random weight matrix: the packed bytes that kernels read and the exact value of each weight.
struct Matrix {
  DType type;
  uint32_t rows;
  uint32_t columns;
  std::vector<std::byte> packed;
  std::vector<float> values;  ///< [rows, columns]
  /// [rows, columns]: |scale * code| + |min| at its largest for types with mins, whose kernels add the two parts; else
  /// |value|.
  std::vector<float> magnitudes;
};
/// Any type that has panels. Scales include 0, subnormal and negative ones.
Matrix randomMatrix(DType type, uint32_t rows, uint32_t columns, Random& random);

/// Same bits, or NaN in both.
bool isSame(float a, float b);
/// Index of the first element that is not the same, or -1.
int64_t firstDifference(std::span<const float> a, std::span<const float> b);

/// Storage of quantized activations, tightly packed.
struct CodeStorage {
  CodeStorage(uint32_t rows, uint32_t columns, uint32_t planes);
  Codes codes();
  ConstCodes view() const;
  /// The value of element k of a row, by the definition in kernels.h.
  double value(size_t row, size_t k) const;

  uint32_t planes;
  size_t rowStride;
  size_t groupStride;
  size_t planeStride;
  std::vector<int8_t> bytes;
  std::vector<float> scales;
  std::vector<int32_t> sums;
};

}  // namespace firn::cpu::test
