// What the tests of compile() share. Only for tests.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/driver.h"

namespace firn::compiler {

inline constexpr const char* kLlama = "tests/data/gguf/llama.gguf";
inline constexpr const char* kGemma3 = "tests/data/gguf/gemma3.gguf";
inline constexpr const char* kQ41 = "tests/data/quant/q4_1.gguf";

/// A folder of its own for each test.
class CompileTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = std::filesystem::temp_directory_path() / ("firn_driver_" + std::to_string(getpid()) + "_" +
                                                       testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  CompileOptions small(const std::string& model, const std::string& target) const {
    CompileOptions options;
    options.modelPath = model;
    options.outputPath = path("out.firn");
    options.target = target;
    options.maxPromptTokens = 64;
    options.minResponseTokens = 64;
    options.lanes = 2;
    return options;
  }

  std::vector<std::string> filesLeft() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      names.push_back(entry.path().filename().string());
    return names;
  }

  std::filesystem::path folder;
};

inline std::string bytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

}  // namespace firn::compiler
