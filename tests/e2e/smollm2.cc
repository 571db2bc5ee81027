#include "tests/e2e/smollm2.h"

#include <cstdlib>

namespace firn::e2e {

std::string smollm2Path() {
  const char* path = std::getenv("FIRN_SMOLLM2");
  return path == nullptr ? "" : path;
}

void Smollm2Test::SetUp() {
  if (smollm2Path().empty()) GTEST_SKIP() << "FIRN_SMOLLM2 names no model: scripts/test-slow fetches it";
}

compiler::CompileOptions Smollm2Test::compile(const std::string& target) {
  compiler::CompileOptions options;
  options.modelPath = smollm2Path();
  options.target = target;
  options.lanes = 2;
  return options;
}

}  // namespace firn::e2e
