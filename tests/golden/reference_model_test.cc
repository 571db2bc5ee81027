// Imported tiny models through the reference kernels, against logits recorded with Hugging Face transformers in fp32.
#include "tests/golden/reference_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include "compiler/import/import.h"
#include "tests/golden/recorded.h"

namespace firn::golden {
namespace {

class ReferenceModelTest : public testing::TestWithParam<RecordedModel> {
 protected:
  void SetUp() override {
    Result<import::ModelSpec> imported = import::importModel("tests/data/" + GetParam().model);
    ASSERT_TRUE(imported.isOk()) << imported.status().toString();
    spec = *std::move(imported);
    recorded = recordedAnswer(GetParam());
    ASSERT_EQ(recorded.logits.size(), recorded.ids.size() * spec.vocab);
  }

  std::vector<float> runInChunks(uint64_t chunk) const {
    ReferenceModel model(spec, recorded.ids.size());
    std::vector<float> logits;
    for (uint64_t first = 0; first < recorded.ids.size(); first += chunk) {
      const uint64_t count = std::min(chunk, recorded.ids.size() - first);
      const std::vector<float> part = model.run(std::span(recorded.ids).subspan(first, count));
      logits.insert(logits.end(), part.begin(), part.end());
    }
    return logits;
  }

  import::ModelSpec spec;
  RecordedAnswer recorded;
};

TEST_P(ReferenceModelTest, LogitsOfEveryPosition) {
  const std::vector<float> logits = runInChunks(recorded.ids.size());
  ASSERT_EQ(logits.size(), recorded.logits.size());
  const float difference = largestDifference(logits, recorded.logits);
  RecordProperty("largest_difference", std::to_string(difference));
  EXPECT_LE(difference, kRecordedTolerance);
}

TEST_P(ReferenceModelTest, ChunksChangeNoBit) {
  const std::vector<float> whole = runInChunks(recorded.ids.size());
  EXPECT_EQ(runInChunks(1), whole);
  EXPECT_EQ(runInChunks(17), whole);
}

class GreedyTest : public ReferenceModelTest {};

TEST_P(GreedyTest, Tokens) {
  ASSERT_FALSE(recorded.greedy.empty());
  ReferenceModel model(spec, recorded.ids.size() + recorded.greedy.size());
  std::vector<int32_t> next = recorded.ids;
  for (size_t step = 0; step < recorded.greedy.size(); ++step) {
    const std::vector<float> logits = model.run(next);
    const auto last = logits.end() - static_cast<int64_t>(spec.vocab);
    const auto token = static_cast<int32_t>(std::max_element(last, logits.end()) - last);
    // Within twice the tolerance the two best may change places.
    if (recorded.margins[step] > 2 * kRecordedTolerance) ASSERT_EQ(token, recorded.greedy[step]) << "step " << step;
    next = {recorded.greedy[step]};
  }
}

std::string nameOf(const testing::TestParamInfo<RecordedModel>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(Models, ReferenceModelTest, testing::ValuesIn(allModels()), nameOf);
INSTANTIATE_TEST_SUITE_P(Models, GreedyTest, testing::ValuesIn(floatModels()), nameOf);

}  // namespace
}  // namespace firn::golden
