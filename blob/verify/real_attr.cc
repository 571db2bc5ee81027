#include "blob/verify/real_attr.h"

#include <cmath>

#include "base/real_text.h"
#include "blob/program.h"

namespace firn::blob {

namespace {

// Kernels compute in f32, where 1e300 is infinite and 1e-300 is 0. By the rounding of kernels, to nearest with ties to
// even, whatever that of the caller is: these two ties go to infinity and to 0.
constexpr double kInfiniteInF32 = 0x1.ffffffp127;
constexpr double kZeroInF32 = 0x1p-150;

}  // namespace

std::optional<std::string> realFault(AttrRule rule, uint64_t bits) {
  const double real = attrAsDouble(bits);
  const bool isFinite = std::abs(real) < kInfiniteInF32;
  if (rule == AttrRule::kPositive) {
    if (isFinite && real > kZeroInF32) return std::nullopt;
    return "a number that is finite and above 0 in f32";
  }
  if (isFinite) return std::nullopt;
  return "a number that is finite in f32";
}

std::string attrText(AttrRule rule, uint64_t value) {
  return isReal(rule) ? realText(attrAsDouble(value)) : std::to_string(value);
}

}  // namespace firn::blob
