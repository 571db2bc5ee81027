// Compiled models against logits recorded by another program in fp32: to 2e-4 on the reference device, within the
// bound of docs/arithmetic.md ("Bound of a whole model") on cpu and npu.
#include <gtest/gtest.h>

#include <cstdio>

#include "compiler/import/import.h"
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

TEST_P(GoldenLogitsTest, Npu) {
  const auto compile = smallCompile(GetParam().model, "npu");
  const import::ModelSpec model = need(import::importModel(compile.modelPath));
  const ModelBound bound = boundOfModel(model, answer.ids, {.planes = {}, .halfOperands = true});
  const auto session = openSession(compile);
  for (const bool inChunks :
       {true, false}) {  // the bits differ: weights are expanded for chunks, codes are used in steps
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

std::string nameOf(const testing::TestParamInfo<golden::RecordedModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, GoldenLogitsTest, testing::ValuesIn(golden::allModels()), nameOf);

}  // namespace
}  // namespace firn::e2e
