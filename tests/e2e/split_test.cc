// A model cut into functions that run on devices of their own, over one cache: whatever the cut, a device computes
// what it would compute of the whole.
#include <cmath>

#include <gtest/gtest.h>

#include "compiler/import/import.h"
#include "tests/e2e/compiled_model.h"
#include "tests/e2e/poison.h"
#include "tests/e2e/rounding_noise.h"
#include "tests/golden/recorded.h"

namespace firn::e2e {
namespace {

using golden::allModels;
using golden::RecordedModel;

constexpr uint32_t kPrompt = 100;

compiler::CompileOptions placed(const std::string& model, const std::string& target, std::string places) {
  compiler::CompileOptions options = smallCompile(model, target);
  options.places = std::move(places);
  return options;
}

/// Chunks and steps of one conversation.
std::vector<float> conversation(engine::Session& session, std::span<const int32_t> ids) {
  std::vector<float> all = chunkLogits(session, ids.first(kPrompt));
  const std::vector<float> steps = stepLogits(session, ids.subspan(kPrompt));
  all.insert(all.end(), steps.begin(), steps.end());
  return all;
}

uint32_t layersOf(const std::string& model) {
  return static_cast<uint32_t>(need(import::importModel("tests/data/" + model)).layers.size());
}

std::string cutAt(uint32_t layer, const std::string& first, const std::string& second) {
  const std::string at = std::to_string(layer);
  return "layers[0:" + at + "]=" + first + ",layers[" + at + ":]=" + second;
}

class SplitTest : public testing::TestWithParam<RecordedModel> {
 protected:
  const std::vector<int32_t> ids = someIds(130, 512);
};

TEST_P(SplitTest, ACutBetweenAnyTwoLayersChangesNoBit) {
  for (const char* target : {"cpu", "reference"}) {
    const auto whole = openSession(smallCompile(GetParam().model, target));
    const std::vector<float> expected = conversation(*whole, ids);
    for (uint32_t layer = 1; layer < layersOf(GetParam().model); ++layer) {
      const auto session = openSession(placed(GetParam().model, target, cutAt(layer, target, target)));
      const blob::Blob& blob = session->model().blob();
      EXPECT_GT(blob.entries().front().parts, 1);
      EXPECT_EQ(blob.header().weightsBytes, whole->model().blob().header().weightsBytes) << "packed once for a target";
      EXPECT_EQ(differenceInBits(conversation(*session, ids), expected), "") << target << ", cut at " << layer;
    }
  }
}

TEST_P(SplitTest, PoisonOfFreeRowsChangesNothing) {
  const auto compile = placed(GetParam().model, "cpu", cutAt(1, "cpu", "cpu"));
  const auto clean = openSession(compile, {.ladders = {{16}, {}}});
  const std::vector<float> expected = conversation(*clean, ids);
  for (const Poison& poison : kPoisons) {
    const auto session = openSession(compile, {.ladders = {{16}, {}}});
    poisonFreeRows(*session, poison);
    std::vector<float> logits = chunkLogits(*session, std::span(ids).first(kPrompt));
    for (const int32_t id : std::span(ids).subspan(kPrompt)) {
      poisonFreeRows(*session, poison);
      const std::vector<float> step = stepLogits(*session, {{id}});
      logits.insert(logits.end(), step.begin(), step.end());
    }
    EXPECT_EQ(differenceInBits(logits, expected), "") << poison.name;
  }
}

TEST_P(SplitTest, IsSavedAndReusedAsAWhole) {
  const TempFolder folder;
  const auto compile = placed(GetParam().model, "cpu", cutAt(1, "cpu", "cpu"));
  const auto session = openSession(compile);
  const std::vector<float> expected = lastLogits(*session, std::span(ids).first(kPrompt));
  need(session->save(folder.file("s")));
  const auto other = openSession(compile);
  need(other->load(folder.file("s")));
  const auto prompted = need(other->prompt(std::span(ids).first(kPrompt)));
  EXPECT_EQ(prompted.cachedTokens, kPrompt - 1);
  EXPECT_EQ(differenceInBits(prompted.logits, expected), "");
  const auto copy = need(session->fork());
  EXPECT_EQ(differenceInBits(stepLogits(*copy, {{7}}), stepLogits(*session, {{7}})), "");
}

/// On two devices: the answers lie between those of either alone.
class MixedTest : public SplitTest {
 protected:
  std::vector<compiler::CompileOptions> compiles() const {
    const std::string& model = GetParam().model;
    std::vector<compiler::CompileOptions> all = {placed(model, "cpu", cutAt(1, "cpu", "reference")),
                                                 placed(model, "cpu", cutAt(1, "reference", "cpu")),
                                                 placed(model, "cpu", "head=reference")};
    using Pair = std::pair<const char*, const char*>;
    for (const auto& [prefill, decode] :
         {Pair{"cpu", "reference"}, {"reference", "cpu"}, {"npu", "cpu"}, {"cpu", "npu"}, {"npu", "reference"}}) {
      compiler::CompileOptions byPhase = smallCompile(model);
      byPhase.prefillTarget = prefill;
      byPhase.decodeTarget = decode;
      all.push_back(byPhase);
    }
    return all;
  }
};

TEST_P(MixedTest, IsWithinTheBoundsOfItsDevices) {
  const golden::RecordedAnswer answer = golden::recordedAnswer(GetParam());
  const compiler::CompileOptions whole = smallCompile(GetParam().model);
  const import::ModelSpec model = need(import::importModel(whole.modelPath));
  const ModelBound cpu = boundOfModel(model, answer.ids, {.planes = whole.activationPlanes});
  const ModelBound npu = boundOfModel(model, answer.ids, {.planes = {}, .halfOperands = true});
  for (const compiler::CompileOptions& compile : compiles()) {
    const bool usesNpu = compile.prefillTarget == "npu" || compile.decodeTarget == "npu";
    ModelBound bound = cpu;
    if (usesNpu) bound = {.largest = cpu.largest + npu.largest, .rms = std::hypot(cpu.rms, npu.rms)};

    const std::string what = compile.places + " " + compile.prefillTarget + " " + compile.decodeTarget;
    const auto session = openSession(compile);
    EXPECT_EQ(session->model().blob().targets().size(), 2U);
    const std::vector<float> chunks = chunkLogits(*session, answer.ids);
    EXPECT_LE(golden::largestDifference(chunks, answer.logits), bound.largest) << what;
    EXPECT_LE(golden::rmsDifference(chunks, answer.logits), bound.rms) << what;
    need(session->rewind(0));
    const std::vector<float> steps = stepLogits(*session, answer.ids);
    EXPECT_LE(golden::largestDifference(steps, answer.logits), bound.largest) << what;
    EXPECT_LE(golden::rmsDifference(steps, answer.logits), bound.rms) << what;
  }
}

/// What a cache holds has nothing to do with how weights are packed.
class MixedCacheTest : public MixedTest {};

TEST_P(MixedCacheTest, PoisonOfFreeRowsChangesNothing) {
  for (const compiler::CompileOptions& compile : compiles()) {
    const std::vector<float> expected = conversation(*openSession(compile), ids);
    for (const Poison& poison : kPoisons) {
      const auto session = openSession(compile);
      poisonFreeRows(*session, poison);
      EXPECT_EQ(differenceInBits(conversation(*session, ids), expected), "") << compile.places << poison.name;
    }
  }
}

TEST_P(MixedTest, RowsOfAnotherPlacementAreRefused) {
  const TempFolder folder;
  const std::vector<compiler::CompileOptions> all = compiles();
  for (size_t i = 0; i < 2; ++i) {
    const auto session = openSession(all[i]);
    need(session->prefill(std::span(ids).first(kPrompt)));
    need(session->save(folder.file("s")));
    need(openSession(all[i])->load(folder.file("s")));
    EXPECT_EQ(openSession(all[1 - i])->load(folder.file("s")).code(), Code::kVersionMismatch);
    EXPECT_EQ(openSession(smallCompile(GetParam().model))->load(folder.file("s")).code(), Code::kVersionMismatch);
  }
}

TEST_P(MixedTest, APromptRunsWhereItsDeviceIsNamed) {
  for (const compiler::CompileOptions& compile : compiles()) {
    const auto session = openSession(compile);
    const bool isNamed = !compile.prefillTarget.empty();
    EXPECT_EQ(session->model().variants().hasPromptTarget(), isNamed) << compile.places;
    if (!isNamed) continue;
    for (const uint32_t tokens : {1U, 15U, 17U, 100U}) {
      for (const engine::PlanStep& step : need(session->plan(tokens)).steps) {
        EXPECT_FALSE(step.isGenerate) << tokens << " tokens, " << compile.prefillTarget;
      }
    }
  }
}

TEST_P(MixedTest, OneDeviceAloneIsRefused) {
  const std::string path = blobOf(compiles().front());
  for (const char* device : {"cpu", "reference"}) {
    const Status status = engine::Model::open(path, {.device = device}).status();
    EXPECT_EQ(status.code(), Code::kVersionMismatch) << device;
  }
  const auto model = need(engine::Model::open(path, {}));
  for (uint32_t entry = 0; entry < model->blob().entries().size(); ++entry) {
    const bool isOwn = model->blob().entries()[entry].target == model->device().query().target;
    const Status status = model->device().submit(model->program(), entry);
    EXPECT_EQ(status.message().find("is for target") == std::string::npos, isOwn) << status.toString();
  }
}

std::string nameOf(const testing::TestParamInfo<RecordedModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, MixedCacheTest, testing::ValuesIn(golden::floatModels()), nameOf);
INSTANTIATE_TEST_SUITE_P(Models, MixedTest, testing::ValuesIn(allModels()), nameOf);
INSTANTIATE_TEST_SUITE_P(Models, SplitTest, testing::ValuesIn(allModels()), nameOf);

}  // namespace
}  // namespace firn::e2e
