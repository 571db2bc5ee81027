// Devices against each other: the same tiny model on the reference device is the oracle of the cpu and npu devices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "base/cpus.h"
#include "kernels/cpu/kernels.h"
#include "runtime/cts/rig.h"

namespace firn::runtime::cts {
namespace {

DeviceCase cpuCase(const std::string& isa, uint32_t lanes, DType weights, uint32_t planes) {
  return {.name = "cpu",
          .device = "cpu",
          .options = {.instructionSet = isa},
          .program = {.target = blob::Target::kCpu, .lanes = lanes, .weights = weights, .activationPlanes = planes}};
}

DeviceCase npuCase(const std::string& isa, DType weights) {
  return {.name = "npu",
          .device = "npu",
          .options = {.instructionSet = isa},
          .program = {.target = blob::Target::kNpu, .weights = weights}};
}

// Logits of all tokens, prefilled in chunks of 16.
std::vector<float> logitsOf(const DeviceCase& testCase, uint32_t tokens) {
  std::unique_ptr<Rig> rig = Rig::open(testCase);
  std::vector<float> all;
  if (rig == nullptr) return all;
  const std::vector<int32_t> ids = someIds(tokens);
  for (uint32_t row0 = 0; row0 < tokens; row0 += 16) {
    EXPECT_TRUE(rig->run("prefill.16.128", {.ids = {ids.begin() + row0, ids.begin() + row0 + 16}, .row0 = row0}));
    EXPECT_TRUE(rig->run("head.16"));
    all.insert(all.end(), rig->logits(16).begin(), rig->logits(16).end());
  }
  return all;
}

double relativeError(const std::vector<float>& found, const std::vector<float>& expected) {
  if (found.size() != expected.size() || found.empty()) return INFINITY;
  double difference = 0, norm = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    difference += std::pow(double{found[i]} - double{expected[i]}, 2);
    norm += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(difference / norm);
}

DeviceCase referenceCase(DType weights) {
  return {.name = "reference", .device = "reference", .options = {}, .program = {.weights = weights}};
}

std::vector<float> referenceLogits(DType weights) { return logitsOf(referenceCase(weights), 96); }

DeviceCase with(DeviceCase testCase, DType kvType, bool keyBias) {
  testCase.program.kvType = kvType;
  testCase.program.keyBias = keyBias;
  return testCase;
}

TEST(AgreementTest, FloatWeightsFollowTheReference) {
  const std::vector<float> expected = referenceLogits(DType::kF32);
  for (const uint32_t lanes : {1U, 2U}) {
    // Only the cache rounds, to f16: half an ulp of 2^-11 on each K and V, which sums average out.
    EXPECT_LT(relativeError(logitsOf(cpuCase("", lanes, DType::kF32, 1), 96), expected), 1e-3) << lanes << " lanes";
  }
}

TEST(AgreementTest, QuantizedActivationsStayClose) {
  const std::vector<float> expected = referenceLogits(DType::kQ8_0);
  // A code of one plane is off by up to half of absmax / 127, uniform: about 0.5 % of the norm of a group, and ten
  // linears in a row add their errors up. Two planes are 256 times finer, so the f16 cache is what is left.
  EXPECT_LT(relativeError(logitsOf(cpuCase("", 2, DType::kQ8_0, 1), 96), expected), 3e-2);
  EXPECT_LT(relativeError(logitsOf(cpuCase("", 2, DType::kQ8_0, 2), 96), expected), 1e-3);
}

TEST(AgreementTest, EveryKvTypeFollowsTheReferenceOfItsType) {
  for (const bool keyBias : {false, true}) {
    for (const DType kvType : {DType::kF32, DType::kF16, DType::kI8}) {
      const std::vector<float> expected = logitsOf(with(referenceCase(DType::kF32), kvType, keyBias), 96);
      const std::vector<float> found = logitsOf(with(cpuCase("", 2, DType::kF32, 1), kvType, keyBias), 96);
      // Both round the same values to the same codes, all but those that lie next to the middle of two: fp32 noise of
      // 2^-20 or so moves one value in 2^12 to the other code.
      EXPECT_LT(relativeError(found, expected), kvType == DType::kF32 ? 1e-5 : 1e-3)
          << dtypeInfo(kvType)->name << (keyBias ? " with a key bias" : "");
    }
  }
}

TEST(AgreementTest, CachesOfI8StayCloseToThoseOfF32) {
  // A code is off by up to half of absmax / 127, uniform: about 0.6 % of a row of 16, in K and V of both layers.
  const std::vector<float> plain = referenceLogits(DType::kF32);
  EXPECT_LT(relativeError(logitsOf(with(referenceCase(DType::kF32), DType::kI8, false), 96), plain), 2e-2);
  // The bias is as large as the keys are; the cache does not hold it, so it costs nothing.
  const std::vector<float> biased = logitsOf(with(referenceCase(DType::kF32), DType::kF32, true), 96);
  EXPECT_GT(relativeError(biased, plain), 0.1) << "the bias does something";
  EXPECT_LT(relativeError(logitsOf(with(referenceCase(DType::kF32), DType::kI8, true), 96), biased), 2e-2);
}

TEST(AgreementTest, TheNpuFollowsTheReference) {
  for (const DType weights : {DType::kF32, DType::kQ8_0}) {
    const std::vector<float> expected = referenceLogits(weights);
    // What goes into a linear or a product of attention is rounded to f16: off by up to 2^-11 of itself, which is
    // 2^-11 / sqrt(3) = 2.8e-4 at the most on average (and less, as numbers lie anywhere between two powers of two).
    // A sum of products with independent errors has that error of its norm for each of its two operands. Eight linears
    // and products stand in a row in a layer, 17 with the head, and their errors add up like 34 independent ones:
    // 2.8e-4 * sqrt(34) = 1.6e-3. Codes and scales of q8_0 are exact, so about half of them remain: 1.2e-3.
    EXPECT_LT(relativeError(logitsOf(npuCase("", weights), 96), expected), weights == DType::kF32 ? 1.6e-3 : 1.2e-3);
  }
}

/// The layout is the same for every target: what one device has written another reads.
TEST(AgreementTest, ACacheMovesToAnotherDevice) {
  const Tokens prompt{.ids = someIds(50), .row0 = 0};
  const Tokens next{.ids = {9}, .row0 = 50};
  for (const DType kvType : {DType::kF32, DType::kF16, DType::kI8}) {
    std::unique_ptr<Rig> reference = Rig::open(with(referenceCase(DType::kF32), kvType, true));
    ASSERT_NE(reference, nullptr);
    ASSERT_TRUE(reference->run("prefill.64.64", prompt));
    const std::vector<std::byte> cache(reference->cache().begin(), reference->cache().end());
    ASSERT_TRUE(reference->run("generate.128", next));
    const std::vector<float> expected(reference->logits(1).begin(), reference->logits(1).end());
    std::vector<DeviceCase> others = {cpuCase("", 2, DType::kF32, 1)};
    if (kvType == DType::kF16) others.push_back(npuCase("", DType::kF32));
    for (const DeviceCase& testCase : others) {
      std::unique_ptr<Rig> other = Rig::open(with(testCase, kvType, true));
      ASSERT_NE(other, nullptr);
      ASSERT_EQ(cache.size(), other->cache().size());
      std::ranges::copy(cache, other->cache().begin());
      ASSERT_TRUE(other->run("generate.128", next));
      const std::vector<float> found(other->logits(1).begin(), other->logits(1).end());
      const double roundings = testCase.device == "npu" ? 1.6e-3 : 1e-3;
      EXPECT_LT(relativeError(found, expected), kvType == DType::kF32 ? 1e-5 : roundings)
          << testCase.device << ", " << dtypeInfo(kvType)->name;
    }
  }
}

TEST(AgreementTest, InstructionSetsGiveTheSameBits) {
  std::vector<DeviceCase> cases;
  for (const DType weights : {DType::kF32, DType::kQ8_0}) {
    for (const DType kvType : {DType::kF32, DType::kF16, DType::kI8}) {
      cases.push_back(with(cpuCase("portable", 2, weights, 1), kvType, false));
    }
    cases.push_back(with(cpuCase("portable", 2, weights, 1), DType::kI8, true));
    cases.push_back(npuCase("portable", weights));
  }
  for (DeviceCase& testCase : cases) {
    const std::vector<float> portable = logitsOf(testCase, 32);
    ASSERT_FALSE(portable.empty());
    for (const auto isa : {cpu::InstructionSet::kAvx2, cpu::InstructionSet::kAvx512}) {
      if (!cpu::isSupported(isa)) continue;
      testCase.options.instructionSet = cpu::instructionSetName(isa);
      EXPECT_EQ(bitsOf(portable), bitsOf(logitsOf(testCase, 32)))
          << testCase.device << ", " << testCase.options.instructionSet << ", "
          << dtypeInfo(testCase.program.cacheType())->name;
    }
  }
}

TEST(AgreementTest, MoreThreadsThanCpusGiveTheSameBits) {
  const DeviceCase testCase = cpuCase("", 2, DType::kQ8_0, 1);
  const std::vector<uint32_t> expected = bitsOf(logitsOf(testCase, 32));
  std::thread([&] {
    ASSERT_TRUE(pinThisThread(allowedCpus().front()));
    std::unique_ptr<Rig> rig = Rig::open(testCase, {.threads = 2});
    ASSERT_NE(rig, nullptr);
    EXPECT_EQ(rig->device().query().maxThreads, 1U);
    const std::vector<int32_t> ids = someIds(32);
    EXPECT_TRUE(rig->run("prefill.16.128", {.ids = {ids.begin(), ids.begin() + 16}, .row0 = 0}));
    EXPECT_TRUE(rig->run("prefill.16.128", {.ids = {ids.begin() + 16, ids.end()}, .row0 = 16}));
    EXPECT_TRUE(rig->run("head.16"));
    EXPECT_EQ(bitsOf(rig->logits(16)), std::vector<uint32_t>(expected.end() - 16 * kVocab, expected.end()));
  }).join();
}

}  // namespace
}  // namespace firn::runtime::cts
