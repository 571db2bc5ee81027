// A row of numbers as one fp32 scale and signed bytes: value = scale * code. How a KV cache of type i8 holds a row of
// one head (docs/arithmetic.md, "kv_write"). This is the readable definition; the fast kernels give the same bits.
#pragma once

#include <cstdint>
#include <span>

namespace firn {

/// Writes a code for each value and returns the scale. With a = the largest |value|: scale = a / 127, and the code is
/// value * (127 / a) rounded to the nearest integer, ties to even, each operation rounded to fp32. Below 2^-100 the
/// scale and all codes are 0. A row with a NaN or an infinity gives scale NaN and codes 0, so every value reads as NaN.
/// `codes` has the size of `values`. Assumes rounding to nearest, as every device sets it.
float quantizeRowI8(std::span<const float> values, std::span<int8_t> codes);

}  // namespace firn
