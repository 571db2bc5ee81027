// The real model of the slow tests, SmolLM2-135M-Instruct in Q4_1, compiled once per target.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "compiler/driver.h"
#include "tests/e2e/compiled_model.h"

namespace firn::e2e {

/// Tests of the real model; skipped where the environment variable FIRN_SMOLLM2 names no file.
class Smollm2Test : public testing::Test {
 protected:
  void SetUp() override;

  /// As a user compiles it: prompts of up to 1024 tokens, T = 1152, all variants, 2 lanes.
  static compiler::CompileOptions compile(const std::string& target = "cpu");
};

/// The path in FIRN_SMOLLM2, or empty.
std::string smollm2Path();

}  // namespace firn::e2e
