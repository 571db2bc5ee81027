// linear of reference and cpu (linear_i8 and linear_f32): one double-precision oracle with computed bounds, and on cpu
// the same bits for every instruction set, number of rows and split.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/cpu/arithmetic.h"
#include "kernels/quant/panel.h"
#include "kernels/reference/linear.h"
#include "kernels/test/cpu_test_data.h"

namespace firn::cpu::test {
namespace {

constexpr float kCanary = 12345.0F;

/// A whole linear: input rows, weights, bias, and how to run it.
struct Case {
  DType type;
  uint32_t planes;  ///< 0: linear_f32
  uint32_t rows;
  uint32_t outputs;
  uint32_t columns;
};

class Linear {
 public:
  Linear(const Case& shape, uint64_t seed) : shape_(shape), random_(seed) {
    weight_ = randomMatrix(shape.type, shape.outputs, shape.columns, random_);
    x_ = seed % 2 == 0 ? random_.normals(size_t{shape.rows} * shape.columns)
                       : random_.extremes(size_t{shape.rows} * shape.columns);
    bias_ = random_.normals(shape.outputs);
  }

  std::vector<float>& x() { return x_; }

  /// Rows first .. first + rows - 1 into a matrix with canaries around each row; returns [rows, outputs].
  std::vector<float> run(InstructionSet isa, uint32_t first, uint32_t rows) const {
    const size_t stride = size_t{shape_.outputs} + 5;
    std::vector<float> out((rows + 1) * stride, kCanary);
    const Rows outRows{out.data() + 3, stride};
    if (shape_.planes == 0) {
      kernels(isa).linearF32({.in = {x_.data() + size_t{first} * shape_.columns, shape_.columns},
                              .weight = weight_.packed.data(),
                              .type = shape_.type,
                              .bias = bias_.data(),
                              .out = outRows,
                              .rows = rows,
                              .outputs = shape_.outputs,
                              .columns = shape_.columns});
    } else {
      const CodeStorage codes = quantized(isa);
      ConstCodes in = codes.view();
      in.codes += first * in.rowStride;
      in.scales += first * in.groupStride;
      in.sums += first * in.groupStride;
      kernels(isa).linearI8({.in = in,
                             .weight = weight_.packed.data(),
                             .type = shape_.type,
                             .bias = bias_.data(),
                             .out = outRows,
                             .rows = rows,
                             .outputs = shape_.outputs,
                             .columns = shape_.columns});
    }
    return withoutCanaries(out, stride, rows);
  }

  CodeStorage quantized(InstructionSet isa) const {
    CodeStorage codes(shape_.rows, shape_.columns, shape_.planes);
    kernels(isa).quantize(
        {.in = {x_.data(), shape_.columns}, .out = codes.codes(), .rows = shape_.rows, .columns = shape_.columns});
    return codes;
  }

  /// What the reference kernel makes of the same weights, as fp32: the other implementation of the op.
  std::vector<float> runReference() const {
    const reference::WeightView weight{DType::kF32, std::as_bytes(std::span(weight_.values)).data(), shape_.outputs,
                                       shape_.columns, shape_.columns};
    const reference::WeightView bias{DType::kF32, std::as_bytes(std::span(bias_)).data(), 1, shape_.outputs,
                                     shape_.outputs};
    std::vector<float> out(size_t{shape_.rows} * shape_.outputs, kNan);
    reference::linear({.in = {x_.data(), shape_.rows, shape_.columns, shape_.columns},
                       .weight = weight,
                       .bias = bias,
                       .out = {out.data(), shape_.rows, shape_.outputs, shape_.outputs}});
    return out;
  }

  void expectWithinBounds(const std::vector<float>& out) const { expectWithinBounds(out, shape_.planes); }
  /// Checks every output against exact sums, for the inputs as quantized to `planes` (0: not) and as given.
  void expectWithinBounds(const std::vector<float>& out, uint32_t planes) const {
    const CodeStorage codes = planes == 0 ? CodeStorage(0, 0, 1) : quantized(InstructionSet::kPortable);
    const double maxCode = planes == 1 ? kMaxCode1 : kMaxCode2;
    for (uint32_t i = 0; i < shape_.rows; ++i) {
      for (uint32_t n = 0; n < shape_.outputs; ++n) {
        const float* w = weight_.values.data() + size_t{n} * shape_.columns;
        double exact = bias_[n];
        double coded = bias_[n];
        double magnitude = std::fabs(bias_[n]);
        double inputError = 0;
        for (uint32_t k = 0; k < shape_.columns; ++k) {
          const double x = x_[size_t{i} * shape_.columns + k];
          exact += w[k] * x;
          if (planes == 0) {
            magnitude += std::fabs(w[k] * x);
            continue;
          }
          coded += w[k] * codes.value(i, k);
          const double scale = codes.scales[i * codes.groupStride + k / 32];
          // A code is off by half and 3 roundoffs of the largest.
          inputError += std::fabs(w[k]) * (scale * (0.5 + 3 * maxCode * kRoundoff) + kMinGroupMagnitude);
          magnitude += weight_.magnitudes[size_t{n} * shape_.columns + k] * std::fabs(codes.value(i, k));
        }
        const double steps = planes == 0 ? shape_.columns + 1 : 2.0 * shape_.columns / 32 + 4;
        const double rounding = 1.01 * steps * kRoundoff * magnitude + 1e-40;
        const double result = out[size_t{i} * shape_.outputs + n];
        if (planes != 0) {
          ASSERT_NEAR(result, coded, rounding) << "row " << i << " output " << n;
        }
        ASSERT_NEAR(result, exact, rounding + inputError) << "row " << i << " output " << n;
      }
    }
  }

 private:
  std::vector<float> withoutCanaries(const std::vector<float>& out, size_t stride, uint32_t rows) const {
    std::vector<float> result;
    for (size_t at = 0; at < out.size(); ++at) {
      const size_t row = at < 3 ? rows : (at - 3) / stride;
      const bool isInside = at >= 3 && row < rows && (at - 3) % stride < shape_.outputs;
      if (isInside) {
        result.push_back(out[at]);
      } else {
        EXPECT_EQ(out[at], kCanary) << "written outside the output, at " << at;
      }
    }
    return result;
  }

  Case shape_;
  Random random_;
  Matrix weight_;
  std::vector<float> x_;
  std::vector<float> bias_;
};

std::string caseName(const testing::TestParamInfo<Case>& info) {
  return std::string(dtypeInfo(info.param.type)->name) + "_planes" + std::to_string(info.param.planes);
}

class LinearTest : public testing::TestWithParam<Case> {
 protected:
  static Case shaped(uint32_t rows, uint32_t outputs, uint32_t columns) {
    Case shape = GetParam();
    shape.rows = rows;
    shape.outputs = outputs;
    shape.columns = columns;
    return shape;
  }
};

/// Every type: the quantized ones with one plane and with two, the others by linear_f32.
std::vector<Case> allCases() {
  std::vector<Case> cases;
  for (const DType type : {DType::kQ4_0, DType::kQ4_1, DType::kQ8_0, DType::kQ5_0, DType::kQ5_1, DType::kQ4_K,
                           DType::kQ5_K, DType::kQ6_K}) {
    for (const uint32_t planes : {1U, 2U}) cases.push_back({type, planes, 0, 0, 0});
  }
  for (const DType type : {DType::kF32, DType::kF16, DType::kBf16}) cases.push_back({type, 0, 0, 0, 0});
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Types, LinearTest, testing::ValuesIn(allCases()), caseName);

TEST_P(LinearTest, WithinBoundsAndSameBitsEverywhere) {
  uint64_t seed = 0;
  for (const uint32_t rows : {1U, 2U, 3U, 7U, 13U}) {
    for (const uint32_t outputs : {1U, 16U, 33U, 79U}) {
      for (const uint32_t columns : {32U, 96U, 800U}) {
        const Linear linear(shaped(rows, outputs, columns), ++seed);
        const std::vector<float> portable = linear.run(InstructionSet::kPortable, 0, rows);
        linear.expectWithinBounds(portable);
        linear.expectWithinBounds(linear.runReference(), 0);
        if (HasFatalFailure()) return;
        for (const InstructionSet isa : supportedSets()) {
          const std::vector<float> all = linear.run(isa, 0, rows);
          ASSERT_EQ(firstDifference(portable, all), -1)
              << instructionSetName(isa) << " rows " << rows << " outputs " << outputs << " columns " << columns;
        }
      }
    }
  }
}

TEST_P(LinearTest, EachRowAloneGivesTheSameBits) {
  for (const uint32_t columns : {64U, 1600U}) {
    const Linear linear(shaped(12, 72, columns), columns);
    for (const InstructionSet isa : supportedSets()) {
      const std::vector<float> all = linear.run(isa, 0, 12);
      for (uint32_t first = 0; first < 12;) {
        const uint32_t count = std::min(12 - first, 1 + first / 2);
        const std::vector<float> part = linear.run(isa, first, count);
        const std::span<const float> expected = std::span(all).subspan(size_t{first} * 72, size_t{count} * 72);
        ASSERT_EQ(firstDifference(expected, part), -1) << instructionSetName(isa) << " row " << first;
        first += count;
      }
    }
  }
}

TEST_P(LinearTest, ABadRowTouchesNoOther) {
  for (const float bad : {kNan, kInf}) {
    Linear linear(shaped(7, 40, 96), 4);
    std::vector<std::vector<float>> clean;
    for (const InstructionSet isa : supportedSets()) clean.push_back(linear.run(isa, 0, 7));
    linear.x()[3 * 96 + 50] = bad;
    for (size_t s = 0; s < clean.size(); ++s) {
      const std::vector<float> out = linear.run(supportedSets()[s], 0, 7);
      for (size_t at = 0; at < out.size(); ++at) {
        if (at / 40 != 3) {
          ASSERT_TRUE(isSame(out[at], clean[s][at]));
        } else if (GetParam().planes != 0) {
          ASSERT_TRUE(std::isnan(out[at]));
        } else {
          ASSERT_FALSE(std::isfinite(out[at]));
        }
      }
    }
  }
}

TEST_P(LinearTest, ZeroColumnsGiveTheBias) {
  const Linear linear(shaped(3, 20, 0), 2);
  linear.expectWithinBounds(linear.runReference(), 0);
  for (const InstructionSet isa : supportedSets()) linear.expectWithinBounds(linear.run(isa, 0, 3));
}

/// A row of 256 weights of which every code, scale and min has its largest magnitude, all with one sign where the type
/// has signs.
std::vector<std::byte> extremeRow(DType type) {
  const DTypeInfo& info = *dtypeInfo(type);
  std::vector<std::byte> row(*dtypeBytes(type, 256), type == DType::kQ8_0 ? std::byte{0x80} : std::byte{0xFF});
  const uint16_t one = f32ToF16(1);
  const uint16_t minusOne = f32ToF16(-1);
  for (size_t block = 0; block < row.size(); block += info.blockBytes) {
    std::memcpy(&row[block + (type == DType::kQ6_K ? 208 : 0)], &one, 2);
    if (type == DType::kQ4_1 || type == DType::kQ5_1) std::memcpy(&row[block + 2], &one, 2);
    if (type == DType::kQ4_K || type == DType::kQ5_K) std::memcpy(&row[block + 2], &minusOne, 2);
    if (type == DType::kQ6_K) {  // code 0 and scale -128: 32 * 128
      std::fill_n(row.begin() + static_cast<int64_t>(block), 192, std::byte{0});
      std::fill_n(row.begin() + static_cast<int64_t>(block) + 192, 16, std::byte{0x80});
    }
  }
  return row;
}

class ExtremeTest : public testing::TestWithParam<DType> {};

/// Sums and codes come from scratch, where a hostile blob may have put anything: no behaviour is undefined, and every
/// set wraps to the same bits.
TEST_P(ExtremeTest, SumsThatNoQuantizeGivesWrap) {
  constexpr uint32_t kColumns = 64;
  Random random(5);
  const Matrix weight = randomMatrix(GetParam(), 20, kColumns, random);
  for (const uint32_t planes : {1U, 2U}) {
    for (const int32_t sum : {INT32_MIN, INT32_MIN + 1, INT32_MAX, 1 << 28, -1}) {
      CodeStorage codes(3, kColumns, planes);
      for (int8_t& code : codes.bytes) code = static_cast<int8_t>(static_cast<int>(random.below(255)) - 127);
      std::ranges::fill(codes.scales, 0.25F);
      std::ranges::fill(codes.sums, sum);
      std::vector<float> portable;
      for (const InstructionSet isa : supportedSets()) {
        std::vector<float> out(size_t{4} * 20);
        for (const uint32_t rows : {3U, 1U}) {  // tiles, then a row behind them
          kernels(isa).linearI8({.in = codes.view(),
                                 .weight = weight.packed.data(),
                                 .type = GetParam(),
                                 .bias = nullptr,
                                 .out = {out.data() + (rows == 1 ? 60 : 0), 20},
                                 .rows = rows,
                                 .outputs = 20,
                                 .columns = kColumns});
        }
        if (portable.empty()) portable = out;
        ASSERT_EQ(firstDifference(portable, out), -1) << instructionSetName(isa) << " sum " << sum;
        ASSERT_EQ(firstDifference(std::span(out).first(20), std::span(out).subspan(60)), -1) << "sum " << sum;
      }
    }
  }
}

/// Codes, scales and sums at their limits: integer sums must neither saturate nor wrap.
TEST_P(ExtremeTest, CodesAreExact) {
  constexpr uint32_t kColumns = 256;
  const std::vector<std::byte> source = extremeRow(GetParam());
  std::vector<std::byte> packed(*quant::panelBytes(GetParam(), 16, kColumns));
  ASSERT_TRUE(
      quant::packPanels({GetParam(), source, kColumns, 0, kColumns}, std::vector<uint32_t>(16, 0), packed).isOk());
  std::vector<float> weights(kColumns);
  quant::dequantizeRow(GetParam(), source, weights);
  for (const uint32_t planes : {1U, 2U}) {
    for (const int sign : {1, -1}) {
      const std::vector<float> x(3 * kColumns, static_cast<float>(sign) * 2.0F);
      for (const InstructionSet isa : supportedSets()) {
        CodeStorage codes(3, kColumns, planes);
        kernels(isa).quantize({.in = {x.data(), kColumns}, .out = codes.codes(), .rows = 3, .columns = kColumns});
        std::vector<float> out(48);
        for (const uint32_t rows : {1U, 3U}) {
          kernels(isa).linearI8({.in = codes.view(),
                                 .weight = packed.data(),
                                 .type = GetParam(),
                                 .bias = nullptr,
                                 .out = {out.data(), 16},
                                 .rows = rows,
                                 .outputs = 16,
                                 .columns = kColumns});
          for (size_t at = 0; at < size_t{rows} * 16; ++at) {
            const double expected = sign * 2.0 * kColumns * weights[0];
            ASSERT_NEAR(out[at], expected, std::fabs(expected) * 20 * kRoundoff);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Types, ExtremeTest,
                         testing::Values(DType::kQ4_0, DType::kQ4_1, DType::kQ8_0, DType::kQ5_0, DType::kQ5_1,
                                         DType::kQ4_K, DType::kQ5_K, DType::kQ6_K),
                         [](const auto& info) { return std::string(dtypeInfo(info.param)->name); });

}  // namespace
}  // namespace firn::cpu::test
