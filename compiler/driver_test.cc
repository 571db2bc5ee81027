// The driver itself: phases, options, reports. That the programs compute the right numbers is tested where they can be
// run (tests/).
#include "compiler/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "compiler/compile_for_test.h"
#include "compiler/compiler_id.h"

namespace firn::compiler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using DriverTest = CompileTest;

TEST_F(DriverTest, EveryPhaseCanBeTheLastAndPrints) {
  const std::vector<std::pair<std::string, std::string>> marks = {
      {"import", "graph.state "},    {"stateless", "graph.cache_update"}, {"freeze", "@prefill.16.128"},
      {"fold", "graph.call"},        {"place", "graph.reason"},           {"lower", "\"@prefill.16.x.0\""},
      {"schedule", "weights_bytes"},
  };
  for (const auto& [phase, mark] : marks) {
    CompileOptions options = small(kLlama, "cpu");
    options.outputPath.clear();
    options.stopAfter = phase;
    std::ostringstream text;
    options.printTo = &text;
    Status status = compile(options, nullptr);
    ASSERT_TRUE(status) << phase << ": " << status.toString();
    EXPECT_THAT(text.str(), HasSubstr(mark)) << phase;
  }
  EXPECT_THAT(filesLeft(), ElementsAre());
}

TEST_F(DriverTest, ReportsProgressInTheOrderOfThePhases) {
  CompileOptions options = small(kLlama, "cpu");
  std::vector<std::string> phases;
  uint64_t last = 0;
  options.progress = [&](std::string_view phase, uint64_t done, uint64_t total) {
    if (phases.empty() || phases.back() != phase) phases.emplace_back(phase);
    EXPECT_LE(done, total);
    last = total;
  };
  ASSERT_TRUE(compile(options, nullptr));
  EXPECT_THAT(phases, testing::ElementsAreArray(kPhases));
  EXPECT_GT(last, 0);
}

TEST_F(DriverTest, WarnsOfATrainedContextThatIsExceeded) {
  CompileOptions options = small(kLlama, "cpu");
  options.maxPromptTokens = 4096;
  CompileReport report;
  ASSERT_TRUE(compile(options, &report));
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_THAT(report.warnings[0], HasSubstr("4160"));
}

TEST_F(DriverTest, NormsOfHeadsAreEvenedForI8Alone) {
  for (const char* target : {"cpu", "reference"}) {
    const auto graphOf = [&](const char* model, std::optional<DType> kvType) {
      CompileOptions options = small(model, target);
      options.kvType = kvType;
      options.stopAfter = "import";
      std::ostringstream text;
      options.printTo = &text;
      Status status = compile(options, nullptr);
      EXPECT_TRUE(status) << status.toString();
      return text.str();
    };
    const std::string plain = graphOf(kGemma3, std::nullopt);
    EXPECT_EQ(graphOf(kGemma3, DType::kF16), plain);
    EXPECT_EQ(graphOf(kGemma3, DType::kF32), plain);
    for (const char* norm : {"attn_q_norm", "attn_k_norm"}) {
      const std::string weight = std::string("graph.weight @blk.0.") + norm + " : tensor<32xf32> {";
      EXPECT_THAT(plain, HasSubstr(weight + "file = "));
      EXPECT_THAT(graphOf(kGemma3, DType::kI8), HasSubstr(weight + "value = "));
    }
    EXPECT_EQ(graphOf(kLlama, DType::kI8), graphOf(kLlama, DType::kF16)) << "it has no norms of heads";
  }
}

TEST(CompilerIdTest, Is128BitsInHexadecimal) {
  EXPECT_EQ(compilerId().size(), 32);
  EXPECT_EQ(compilerId().find_first_not_of("0123456789abcdef"), std::string::npos);
}

}  // namespace
}  // namespace firn::compiler
