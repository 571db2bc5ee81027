// Caches of every type, in programs that the compiler makes: the same bits however a prompt is cut, and logits
// within the bound of docs/arithmetic.md ("Bound of a whole model"), whatever the biases of keys and the weights of
// their norms.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <string_view>

#include "compiler/import/gguf_reader.h"
#include "compiler/import/import.h"
#include "tests/e2e/compiled_model.h"
#include "tests/e2e/rounding_noise.h"
#include "tests/golden/recorded.h"

namespace firn::e2e {
namespace {

constexpr uint32_t kVocab = 512;

class KvTypesTest : public testing::TestWithParam<golden::RecordedModel> {
 protected:
  static compiler::CompileOptions compile(const std::string& target, DType kvType) {
    auto options = smallCompile(GetParam().model, target);
    options.kvType = kvType;
    return options;
  }

  const std::vector<int32_t> ids = someIds(100, kVocab);
};

TEST_P(KvTypesTest, ChunksStepsAndThreadsGiveTheSameBits) {
  for (const DType kvType : {DType::kI8, DType::kF32}) {
    const std::vector<float> steps = stepLogits(*openSession(compile("cpu", kvType)), ids);
    for (const uint32_t threads : {1U, 2U}) {
      for (const std::vector<uint32_t>& chunks : {std::vector<uint32_t>{}, {16}, {128}}) {
        const auto session = openSession(compile("cpu", kvType), {.threads = threads, .ladders = {chunks, {}}});
        EXPECT_EQ(differenceInBits(chunkLogits(*session, ids), steps), "")
            << dtypeInfo(kvType)->name << ", chunks " << testing::PrintToString(chunks);
      }
    }
  }
}

// A cache of f16 on cpu is golden_logits_test's.
TEST_P(KvTypesTest, IsWithinTheComputedBoundOfTheRecordedLogits) {
  const golden::RecordedAnswer answer = golden::recordedAnswer(GetParam());
  const compiler::ActivationPlanes planes = smallCompile(GetParam().model).activationPlanes;
  for (const auto& [target, kvType] :
       {std::pair("reference", DType::kF16), {"reference", DType::kI8}, {"cpu", DType::kI8}, {"cpu", DType::kF32}}) {
    const auto options = compile(target, kvType);
    const bool isCpu = target == std::string_view("cpu");
    const Roundings roundings = {.planes = isCpu ? std::optional(planes) : std::nullopt, .kvType = kvType};
    const ModelBound bound = boundOfModel(need(import::importModel(options.modelPath)), answer.ids, roundings);
    const std::vector<float> found = chunkLogits(*openSession(options), answer.ids);
    const float largest = golden::largestDifference(found, answer.logits);
    const double rms = golden::rmsDifference(found, answer.logits);
    std::printf("%s %s: largest difference %.4f, bound %.4f; rms %.5f, from %.5f to %.5f\n", target,
                dtypeInfo(roundings.kvType)->name.data(), static_cast<double>(largest),
                static_cast<double>(bound.largest), rms, bound.rmsAtLeast, bound.rms);
    EXPECT_LE(largest, bound.largest) << target;
    EXPECT_LE(rms, bound.rms) << target;
    EXPECT_GE(rms, bound.rmsAtLeast) << target;
  }
}

TEST_P(KvTypesTest, TheReportAndTheBlobNameTheType) {
  for (const char* target : {"cpu", "reference"}) {
    uint64_t bytesOfF16 = 0;
    for (const DType kvType : {DType::kF16, DType::kI8, DType::kF32}) {
      const auto session = openSession(compile(target, kvType));
      const blob::ProgramHeader& header = session->model().blob().header();
      EXPECT_EQ(header.kvType, kvType);
      EXPECT_EQ(session->cache().size(), header.kvBytes);
      if (kvType == DType::kF16) bytesOfF16 = header.kvBytes;
      const uint64_t rowBytes =
          kvType == DType::kI8 ? header.headDim + 4 : header.headDim * (kvType == DType::kF16 ? 2 : 4);
      EXPECT_EQ(header.kvBytes * header.headDim * 2, bytesOfF16 * rowBytes) << dtypeInfo(kvType)->name;
    }
  }
}

/// Writes tests/data/gguf/`name`.gguf to `path` with the f32 weights of each tensor put through `edit`, which says
/// whether it changed them; it must change some.
void writeEdited(const std::string& name, const std::string& path,
                 const std::function<bool(std::string_view tensor, std::span<float> weights)>& edit) {
  std::ifstream source("tests/data/gguf/" + name + ".gguf", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(source)), std::istreambuf_iterator<char>());
  const auto all = std::as_bytes(std::span(bytes));
  const auto file = need(import::GgufFile::fromMemory(all, name));
  size_t edits = 0;
  for (const import::GgufTensor& tensor : file.tensors()) {
    if (tensor.type->name != "f32") continue;
    std::vector<float> weights(tensor.bytes.size() / sizeof(float));
    std::memcpy(weights.data(), tensor.bytes.data(), tensor.bytes.size());
    edits += edit(tensor.name, weights) ? 1 : 0;
    std::memcpy(bytes.data() + (tensor.bytes.data() - all.data()), weights.data(), tensor.bytes.size());
  }
  EXPECT_GT(edits, 0U);
  std::ofstream(path, std::ios::binary) << bytes;
}

/// Multiplies the weights of key norms by 1/16 to 16 and divides those of query norms by the same, pair by pair of what
/// rope turns: the model stays the same.
bool makeNormsUneven(std::string_view tensor, std::span<float> weights) {
  const bool isKey = tensor.ends_with("attn_k_norm.weight");
  if (!isKey && !tensor.ends_with("attn_q_norm.weight")) return false;
  for (size_t column = 0; column < weights.size(); ++column) {
    const int steps = static_cast<int>(column % (weights.size() / 2) % 9) - 4;
    weights[column] = std::ldexp(weights[column], isKey ? steps : -steps);
  }
  return true;
}

TEST(UnevenKeysTest, AnswerAsEvenKeysDo) {
  const TempFolder folder;
  writeEdited("gemma3", folder.file("uneven.gguf"), makeNormsUneven);
  const std::vector<int32_t> ids = someIds(100, kVocab);
  for (const char* target : {"cpu", "reference"}) {
    const auto logits = [&](DType kvType, bool isUneven) {
      auto options = smallCompile("gguf/gemma3.gguf", target);
      options.kvType = kvType;
      if (isUneven) options.modelPath = folder.file("uneven.gguf");
      return chunkLogits(*openSession(options), ids);
    };
    EXPECT_EQ(differenceInBits(logits(DType::kF32, true), logits(DType::kF32, false)), "") << target;
    EXPECT_EQ(differenceInBits(logits(DType::kI8, true), logits(DType::kI8, false)), "") << target;
  }
}

// One scale for a key and a bias many times as large would leave the key a code or two.
TEST(LargeKeyBiasesTest, DoNotEnterTheScaleOfARow) {
  const TempFolder folder;
  writeEdited("qwen2", folder.file("biased.gguf"), [](std::string_view tensor, std::span<float> weights) {
    if (!tensor.ends_with("attn_k.bias")) return false;
    for (float& weight : weights) weight *= 30;
    return true;
  });
  const std::vector<int32_t> ids = someIds(100, kVocab);
  for (const char* target : {"cpu", "reference"}) {
    auto options = smallCompile("gguf/qwen2.gguf", target);
    options.modelPath = folder.file("biased.gguf");
    options.kvType = DType::kF32;
    const std::vector<float> exact = chunkLogits(*openSession(options), ids);
    options.kvType = DType::kI8;
    const std::vector<float> found = chunkLogits(*openSession(options), ids);
    const auto model = need(import::importModel(options.modelPath));
    const ModelBound bound = boundOfModel(model, ids, {.planes = {}, .kvType = DType::kI8});
    EXPECT_LE(golden::largestDifference(found, exact), bound.largest) << target;
    EXPECT_LE(golden::rmsDifference(found, exact), bound.rms) << target;
  }
}

std::string nameOf(const testing::TestParamInfo<golden::RecordedModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, KvTypesTest, testing::ValuesIn(golden::allModels()), nameOf);

}  // namespace
}  // namespace firn::e2e
