// Caches of every type, in programs that the compiler makes: the same bits however a prompt is cut, the answers of the
// other device, and a cache of i8 that stays near one of f32, whatever the weights of the norms of keys.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iterator>

#include "compiler/import/gguf_reader.h"
#include "tests/e2e/compiled_model.h"
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
  std::vector<float> logits(const std::string& target, DType kvType) const {
    return chunkLogits(*openSession(compile(target, kvType)), ids);
  }

  const std::vector<int32_t> ids = someIds(100, kVocab);
};

double rmsOf(const std::vector<float>& values) {
  double sum = 0;
  for (const float value : values) sum += double{value} * value;
  return std::sqrt(sum / static_cast<double>(values.size()));
}

double relativeDifference(const std::vector<float>& found, const std::vector<float>& expected) {
  std::vector<float> difference(expected.size());
  std::transform(found.begin(), found.end(), expected.begin(), difference.begin(), std::minus<>());
  return rmsOf(difference) / rmsOf(expected);
}

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

TEST_P(KvTypesTest, ACacheOfI8StaysNearOneOfF32) {
  const std::vector<float> exact = logits("reference", DType::kF32);
  // A code is off by a / 254 at most, 0.3 % to 0.6 % of a row in the mean, in K and V of each layer.
  EXPECT_LT(relativeDifference(logits("reference", DType::kI8), exact), 0.03);
  EXPECT_LT(relativeDifference(logits("reference", DType::kF16), exact), 0.002);
  // The inputs of int8 products move too, and cross from one code to the next.
  EXPECT_LT(relativeDifference(logits("cpu", DType::kI8), logits("cpu", DType::kF32)), 0.05);
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

/// The bytes of gemma3.gguf with the weights of key norms multiplied by 1/16 to 16 and those of query norms divided by
/// the same, pair by pair of what rope turns: the same model.
std::string unevenGemma3() {
  std::ifstream source("tests/data/gguf/gemma3.gguf", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(source)), std::istreambuf_iterator<char>());
  const auto all = std::as_bytes(std::span(bytes));
  const auto file = need(import::GgufFile::fromMemory(all, "gemma3.gguf"));
  for (const import::GgufTensor& tensor : file.tensors()) {
    const bool isKey = tensor.name.ends_with("attn_k_norm.weight");
    if (!isKey && !tensor.name.ends_with("attn_q_norm.weight")) continue;
    std::vector<float> weights(tensor.bytes.size() / sizeof(float));
    std::memcpy(weights.data(), tensor.bytes.data(), tensor.bytes.size());
    for (size_t column = 0; column < weights.size(); ++column) {
      const int steps = static_cast<int>(column % (weights.size() / 2) % 9) - 4;
      weights[column] = std::ldexp(weights[column], isKey ? steps : -steps);
    }
    std::memcpy(bytes.data() + (tensor.bytes.data() - all.data()), weights.data(), tensor.bytes.size());
  }
  return bytes;
}

TEST(UnevenKeysTest, AnswerAsEvenKeysDo) {
  const TempFolder folder;
  std::ofstream(folder.file("uneven.gguf"), std::ios::binary) << unevenGemma3();
  const std::vector<int32_t> ids = someIds(100, kVocab);
  for (const char* target : {"cpu", "reference"}) {
    const auto logits = [&](DType kvType, bool isUneven) {
      auto options = smallCompile("gguf/gemma3.gguf", target);
      options.kvType = kvType;
      if (isUneven) options.modelPath = folder.file("uneven.gguf");
      return chunkLogits(*openSession(options), ids);
    };
    const std::vector<float> exact = logits(DType::kF32, false);
    EXPECT_EQ(differenceInBits(logits(DType::kF32, true), exact), "") << target;
    const std::vector<float> i8 = logits(DType::kI8, true);
    EXPECT_LT(relativeDifference(i8, exact), 0.05) << target;
    EXPECT_EQ(differenceInBits(i8, logits(DType::kI8, false)), "") << target;
  }
}

std::string nameOf(const testing::TestParamInfo<golden::RecordedModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, KvTypesTest, testing::ValuesIn(golden::allModels()), nameOf);

}  // namespace
}  // namespace firn::e2e
