// The floating-point environment that kernels compute in. Not here: what they compute (docs/arithmetic.md).
#pragma once

#include <cfenv>

namespace firn::runtime {

/// While it lives, this thread rounds to nearest, keeps subnormal numbers and traps nothing; then all is as before.
class DefaultFloatingPoint {
 public:
  DefaultFloatingPoint() {
    std::fegetenv(&before_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatingPoint() { std::fesetenv(&before_); }
  DefaultFloatingPoint(const DefaultFloatingPoint&) = delete;
  DefaultFloatingPoint& operator=(const DefaultFloatingPoint&) = delete;

 private:
  std::fenv_t before_{};
};

}  // namespace firn::runtime
