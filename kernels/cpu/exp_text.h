// exp of 16 lanes, the same bits on every instruction set (docs/arithmetic.md, "exp"). Kernel text: included after a
// vector header.
#pragma once

#include "kernels/cpu/arithmetic.h"

namespace firn::cpu {
namespace {

/// Cody and Waite: x = n ln 2 + r with |r| <= ln 2 / 2, then the Taylor polynomial of degree 7, whose relative error
/// there is below 0.35^8 / 8! = 6e-9. ln 2 in two parts: with fma, n * kLn2High leaves an exact difference.
FIRN_INLINE F32 exp(F32 x) {
  constexpr float kLog2E = 1.44269504F;
  constexpr float kLn2High = 0.693147182F;
  constexpr float kLn2Low = -1.90465421e-9F;
  F32 inRange = ifLess(x, splat(kExpLow), splat(kExpLow), x);
  inRange = ifLess(splat(kExpHigh), inRange, splat(kExpHigh), inRange);
  inRange = ifNan(x, splat(0), inRange);

  const I32 n = roundToInt(mul(inRange, splat(kLog2E)));
  const F32 minusN = negate(toFloat(n));
  const F32 r = fma(minusN, splat(kLn2Low), fma(minusN, splat(kLn2High), inRange));
  F32 p = splat(1.0F / 5040);
  p = fma(p, r, splat(1.0F / 720));
  p = fma(p, r, splat(1.0F / 120));
  p = fma(p, r, splat(1.0F / 24));
  p = fma(p, r, splat(1.0F / 6));
  p = fma(p, r, splat(0.5F));
  p = add(fma(mul(r, r), p, r), splat(1));

  // 2^n in two factors: results down to the smallest subnormal are rounded once, by the last product.
  const I32 half = shiftRight<1>(n);
  const F32 scaled = mul(mul(p, powerOfTwo(half)), powerOfTwo(subInt(n, half)));
  const F32 low = ifLess(x, splat(kExpLow), splat(0), scaled);
  const F32 high = ifLess(splat(kExpHigh), x, splat(__builtin_inff()), low);
  return ifNan(x, x, high);
}

}  // namespace
}  // namespace firn::cpu
