// Compiled models against logits recorded by another program in fp32: to 2e-4 on the reference device, within the
// bound of docs/arithmetic.md ("Bound of a whole model") on cpu and npu.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "compiler/import/import.h"
#include "compiler/target/npu/machine_files.h"
#include "tests/e2e/compiled_model.h"
#include "tests/e2e/rounding_noise.h"
#include "tests/golden/recorded.h"

namespace firn::e2e {
namespace {

class GoldenLogitsTest : public testing::TestWithParam<golden::RecordedModel> {
 protected:
  golden::RecordedAnswer answer = golden::recordedAnswer(GetParam());
};

TEST_P(GoldenLogitsTest, ReferenceDevice) {
  const auto session = openSession(smallCompile(GetParam().model, "reference"));
  EXPECT_LE(golden::largestDifference(chunkLogits(*session, answer.ids), answer.logits), golden::kRecordedTolerance);
  need(session->rewind(0));
  EXPECT_LE(golden::largestDifference(stepLogits(*session, answer.ids), answer.logits), golden::kRecordedTolerance);
}

TEST_P(GoldenLogitsTest, Cpu) {
  const auto compile = smallCompile(GetParam().model);
  const import::ModelSpec model = need(import::importModel(compile.modelPath));
  const ModelBound bound = boundOfModel(model, answer.ids, {.planes = compile.activationPlanes});
  const auto session = openSession(compile);
  const std::vector<float> chunks = chunkLogits(*session, answer.ids);
  const float largest = golden::largestDifference(chunks, answer.logits);
  const double rms = golden::rmsDifference(chunks, answer.logits);
  std::printf("largest difference %.4f, bound %.4f; rms %.5f, from %.5f to %.5f\n", static_cast<double>(largest),
              static_cast<double>(bound.largest), rms, bound.rmsAtLeast, bound.rms);
  EXPECT_LE(largest, bound.largest);
  EXPECT_LE(rms, bound.rms);
  // Below this something is not rounded as the bound says, and then it is no bound of this program.
  EXPECT_GE(rms, bound.rmsAtLeast);
  need(session->rewind(0));
  EXPECT_EQ(differenceInBits(stepLogits(*session, answer.ids), chunks), "");
}

/// In chunks and in steps, whose bits differ: weights are expanded for chunks, codes are used in steps.
void expectWithinBoundOnNpu(const compiler::CompileOptions& compile, const golden::RecordedAnswer& answer) {
  const import::ModelSpec model = need(import::importModel(compile.modelPath));
  const ModelBound bound = boundOfModel(model, answer.ids, {.planes = {}, .halfOperands = true});
  const auto session = openSession(compile);
  for (const bool inChunks : {true, false}) {
    const std::vector<float> logits = inChunks ? chunkLogits(*session, answer.ids) : stepLogits(*session, answer.ids);
    const double rms = golden::rmsDifference(logits, answer.logits);
    std::printf("largest difference %.4f, bound %.4f; rms %.5f, from %.5f to %.5f\n",
                static_cast<double>(golden::largestDifference(logits, answer.logits)),
                static_cast<double>(bound.largest), rms, bound.rmsAtLeast, bound.rms);
    EXPECT_LE(golden::largestDifference(logits, answer.logits), bound.largest);
    EXPECT_LE(rms, bound.rms);
    need(session->rewind(0));
  }
}

TEST_P(GoldenLogitsTest, Npu) { expectWithinBoundOnNpu(smallCompile(GetParam().model, "npu"), answer); }

/// Tiles of the least that a machine file may say: layers and attentions are cut finer.
TEST_P(GoldenLogitsTest, NpuOfSmallTiles) {
  std::string machine = need(npu::machineText("rk3588_like"));
  const std::string field = "\"bytes_per_tile\": ";
  const size_t number = machine.find(field) + field.size();
  machine.replace(number, machine.find_first_not_of("0123456789", number) - number, "65536");
  const std::string file = testing::TempDir() + "small_tiles_" + std::to_string(getpid()) + ".json";
  std::ofstream(file) << machine;
  compiler::CompileOptions compile = smallCompile(GetParam().model, "npu");
  compile.machine = file;
  expectWithinBoundOnNpu(compile, answer);
  std::filesystem::remove(file);
}

std::string nameOf(const testing::TestParamInfo<golden::RecordedModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, GoldenLogitsTest, testing::ValuesIn(golden::allModels()), nameOf);

}  // namespace
}  // namespace firn::e2e
