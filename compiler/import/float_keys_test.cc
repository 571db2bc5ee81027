// Hyper-parameters that are real numbers, all of them: what is no number in f32, or has no meaning there, is refused by
// the name of its key.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <regex>
#include <set>
#include <sstream>

#include "compiler/import/decoder_refusals.h"
#include "compiler/import/imported_for_test.h"

namespace firn::import {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

GgufWriter scaled(std::string_view scaling) {
  GgufWriter file = tinyDecoder("llama");
  return file.text("llama.rope.scaling.type", scaling).f32("llama.rope.scaling.factor", 2);
}

struct FloatKey {
  std::string_view key;
  GgufWriter file;
  double good;
};

std::vector<FloatKey> floatKeys() {
  return {
      {"llama.attention.layer_norm_rms_epsilon", tinyDecoder("llama"), 1e-6},
      {"llama.attention.scale", tinyDecoder("llama"), 0.125},
      {"llama.rope.freq_base", tinyDecoder("llama"), 1e6},
      {"llama.rope.scale_linear", tinyDecoder("llama"), 2},
      {"llama.rope.scaling.factor", scaled("yarn"), 8},
      {"llama.rope.scaling.yarn_beta_fast", scaled("yarn"), 16},
      {"llama.rope.scaling.yarn_beta_slow", scaled("yarn"), 2},
      {"llama.rope.scaling.low_freq_factor", scaled("llama3"), 2},
      {"llama.rope.scaling.high_freq_factor", scaled("llama3"), 8},
      {"gemma3.rope.freq_base_swa", tinyGemma3(), 1e4},
  };
}

/// The keys without their architecture that the importer reads as real numbers, from its sources.
std::set<std::string> keysRead() {
  const std::regex call(R"re(keys\.real\(([^{]*),\s*\{)re");
  const std::regex name(R"re("([^"]+)")re");
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::recursive_directory_iterator("compiler/import")) {
    if (entry.path().extension() != ".cc" || entry.path().stem().string().ends_with("_test")) continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string source = text.str();
    for (std::sregex_iterator match(source.begin(), source.end(), call), end; match != end; ++match) {
      const std::string arguments = (*match)[1];
      for (std::sregex_iterator key(arguments.begin(), arguments.end(), name); key != end; ++key) {
        found.insert((*key)[1]);
      }
    }
  }
  return found;
}

TEST(FloatKeysTest, EveryOneIsANumberInF32) {
  std::set<std::string> tried;
  for (const FloatKey& test : floatKeys()) {
    tried.insert(std::string(test.key.substr(test.key.find('.') + 1)));
    for (const double bad : {kNan, -kNan, kInf, -kInf, 1e300, -1e300, 1e30, 0.0, -0.0, -1.0, 1e-300}) {
      GgufWriter file = test.file;
      EXPECT_THAT(refusal(file.f64(test.key, bad)),
                  AllOf(HasSubstr("key '" + std::string(test.key) + "' is "), HasSubstr("expected a number")))
          << bad;
      EXPECT_THAT(refusal(file.f32(test.key, static_cast<float>(bad))), HasSubstr(test.key)) << bad;
    }
    GgufWriter file = test.file;
    EXPECT_EQ(refusal(file.f64(test.key, test.good)), "accepted") << test.key;
    EXPECT_EQ(refusal(file.f32(test.key, static_cast<float>(test.good))), "accepted") << test.key;
  }
  EXPECT_THAT(tried, IsSupersetOf(keysRead())) << "a key that is not tried above";
  EXPECT_EQ(keysRead().size(), floatKeys().size());
}

TEST(FloatKeysTest, RefusedKeysHaveNoNeutralNan) {
  for (const RefusedKey& key : kRefusedKeys) {
    const std::string name = "llama." + std::string(key.suffix);
    for (const double bad : {kNan, kInf, -kInf, 1e300, 1e-300}) {
      EXPECT_THAT(refusal(tinyDecoder("llama").f64(name, bad)), HasSubstr("'" + name + "'")) << bad;
    }
  }
}

// Each number is fine, and what they make together is not.
TEST(FloatKeysTest, AngleOfEveryPositionIsANumber) {
  // Blamed is what made too much of a frequency, and by its value, with a tensor beside it or without.
  const auto blames = [](const std::string& what) {
    return AllOf(HasSubstr(what), HasSubstr("which gives frequency "), HasSubstr("expected 0 to 1000000"));
  };
  for (const std::string_view scaling : {"linear", "llama3", "yarn"}) {
    const bool isLlama3 = scaling == "llama3";  // takes a tensor in place of its keys
    GgufWriter file = scaled(scaling).f32("llama.rope.scaling.factor", 1e-38F);
    EXPECT_THAT(refusal(file), blames("'llama.rope.scaling.factor' is 1e-38")) << scaling;
    EXPECT_THAT(refusal(file.f32Tensor("rope_freqs.weight", {1.0F, isLlama3 ? 1e-38F : 2.0F})),
                blames(isLlama3 ? "'rope_freqs.weight' has 1e-38" : "'llama.rope.scaling.factor' is 1e-38"))
        << scaling;
  }
  EXPECT_THAT(refusal(tinyDecoder("llama").f32("llama.rope.scale_linear", 1e-38F)),
              blames("'llama.rope.scale_linear' is 1e-38"));
  for (const GgufWriter& file : {tinyDecoder("llama"), scaled("linear"), scaled("yarn")}) {
    GgufWriter divided = file;
    EXPECT_THAT(refusal(divided.f32Tensor("rope_freqs.weight", {1.0F, 1e-38F})),
                AllOf(blames("'rope_freqs.weight' has 1e-38"), HasSubstr("at index 1")));
  }
  for (const float bad : {0.0F, -1.0F, std::numeric_limits<float>::infinity(), std::nanf("")}) {
    EXPECT_THAT(refusal(tinyDecoder("llama").f32Tensor("rope_freqs.weight", {1.0F, bad})),
                AllOf(HasSubstr("'rope_freqs.weight'"), HasSubstr("at index 1")));
  }
}

}  // namespace
}  // namespace firn::import
