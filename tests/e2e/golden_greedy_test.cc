// The greedy tokens recorded by another program: after the recorded ones so far the same token is the likeliest, at
// every step whose margin is above what the arithmetic of the device can move. End tokens are like any other.
#include <gtest/gtest.h>

#include "compiler/import/import.h"
#include "tests/e2e/compiled_model.h"
#include "tests/e2e/rounding_noise.h"
#include "tests/golden/recorded.h"

namespace firn::e2e {
namespace {

class GoldenGreedyTest : public testing::TestWithParam<golden::RecordedModel> {
 protected:
  /// Feeds the recorded tokens and checks the likeliest one at every step whose margin is above `least`.
  void checkSteps(engine::Session& session, float least) const {
    size_t checked = 0;
    std::vector<float> logits = lastLogits(session, answer.ids);
    for (size_t step = 0; step < answer.greedy.size(); ++step) {
      if (answer.margins[step] > least) {
        EXPECT_EQ(likeliest(logits), answer.greedy[step]) << "step " << step << ", margin " << answer.margins[step];
        ++checked;
      }
      logits = stepLogits(session, {&answer.greedy[step], 1});
    }
    EXPECT_GT(checked, answer.greedy.size() / 2);
  }

  golden::RecordedAnswer answer = golden::recordedAnswer(GetParam());
};

TEST_P(GoldenGreedyTest, ReferenceDevice) {
  checkSteps(*openSession(smallCompile(GetParam().model, "reference")), 2 * golden::kRecordedTolerance);
}

TEST_P(GoldenGreedyTest, Cpu) {
  const auto compile = smallCompile(GetParam().model);
  const import::ModelSpec model = need(import::importModel(compile.modelPath));
  const ModelBound bound = boundOfModel(model, answer.ids, {.planes = compile.activationPlanes});
  checkSteps(*openSession(compile), 2 * bound.largest);  // both of two tokens may move
}

TEST_P(GoldenGreedyTest, Npu) {
  const auto compile = smallCompile(GetParam().model, "npu");
  const import::ModelSpec model = need(import::importModel(compile.modelPath));
  const ModelBound bound = boundOfModel(model, answer.ids, {.planes = {}, .halfOperands = true});
  checkSteps(*openSession(compile), 2 * bound.largest);
}

std::string nameOf(const testing::TestParamInfo<golden::RecordedModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, GoldenGreedyTest, testing::ValuesIn(golden::floatModels()), nameOf);

}  // namespace
}  // namespace firn::e2e
