// Several sessions in one step: on every model each gets the bits that it gets alone, whatever is beside it.
#include <gtest/gtest.h>

#include <array>

#include "tests/e2e/compiled_model.h"
#include "tests/e2e/poison.h"
#include "tests/golden/recorded.h"

namespace firn::e2e {
namespace {

class BatchTest : public testing::TestWithParam<golden::RecordedModel> {};

TEST_P(BatchTest, EachSessionGetsTheBitsItGetsAlone) {
  constexpr std::array<uint32_t, 4> kLengths = {37, 1, 63, 120};
  for (const char* places : {"layers=cpu,head=cpu", "layers=reference,head=reference", "layers[0:1]=cpu,layers[1:]=cpu",
                             "layers[0:1]=cpu,layers[1:]=reference", "layers[0:1]=reference,head=reference"}) {
    auto compile =
        smallCompile(GetParam().model, std::string_view(places).starts_with("layers=reference") ? "reference" : "cpu");
    compile.places = places;
    compile.batches = {2, 4};
    const auto model = need(engine::Model::open(blobOf(compile), {}));
    for (const size_t count : {2U, 3U, 4U}) {
      const auto pool = need(engine::SlotPool::create(model, static_cast<uint32_t>(count)));
      std::vector<SessionPtr> together;
      std::vector<SessionPtr> alone;
      std::vector<engine::Session*> members;
      for (size_t i = 0; i < count; ++i) {
        const auto prompt = someIds(kLengths[i], 512, static_cast<uint32_t>(i));
        together.push_back(need(engine::Session::create(pool)));
        need(together[i]->prefill(prompt));
        members.push_back(together[i].get());
        alone.push_back(need(engine::Session::create(model)));
        need(alone[i]->prefill(prompt));
      }
      for (uint32_t step = 0; step < 10; ++step) {  // one of them moves from context 128 to 192
        const auto ids = someIds(static_cast<uint32_t>(count), 512, 100 + step);
        std::vector<float> expected;
        for (size_t i = 0; i < count; ++i) {
          poisonFreeRows(*together[i], kPoisons[0]);
          const auto logits = need(alone[i]->decode(ids[i]));
          expected.insert(expected.end(), logits.begin(), logits.end());
        }
        const auto logits = need(engine::Session::decodeTogether(members, ids));
        EXPECT_EQ(differenceInBits(logits, expected), "") << places << ", " << count << " sessions, step " << step;
      }
    }
  }
}

std::string nameOf(const testing::TestParamInfo<golden::RecordedModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, BatchTest, testing::ValuesIn(golden::allModels()), nameOf);

}  // namespace
}  // namespace firn::e2e
