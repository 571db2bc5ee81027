// What the tests of sessions share: the tiny programs of runtime/cts on each device that runs them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "engine/kv_rows.h"
#include "engine/session.h"
#include "runtime/cts/rig.h"
#include "runtime/cts/tiny_model.h"

namespace firn::engine {

namespace cts = runtime::cts;
inline constexpr uint32_t kMaxPrompt = 64;

struct SessionCase {
  const char* name;
  const char* device;
  cts::TinyOptions blob;
};

inline const SessionCase kSessionCases[] = {
    {"reference", "reference", {.target = blob::Target::kReference}},
    {"cpu_f32", "cpu", {.target = blob::Target::kCpu, .lanes = 2}},
    {"cpu_q8_0", "cpu", {.target = blob::Target::kCpu, .lanes = 2, .weights = DType::kQ8_0}},
    {"cpu_q8_0_two_planes",
     "cpu",
     {.target = blob::Target::kCpu, .lanes = 1, .weights = DType::kQ8_0, .activationPlanes = 2}},
    {"reference_kv_f16", "reference", {.target = blob::Target::kReference, .kvType = DType::kF16}},
    {"reference_kv_i8", "reference", {.target = blob::Target::kReference, .kvType = DType::kI8, .keyBias = true}},
    {"cpu_kv_f32", "cpu", {.target = blob::Target::kCpu, .lanes = 2, .kvType = DType::kF32, .keyBias = true}},
    {"cpu_kv_i8_key_bias", "cpu", {.target = blob::Target::kCpu, .lanes = 2, .kvType = DType::kI8, .keyBias = true}},
    {"cpu_q8_0_kv_i8",
     "cpu",
     {.target = blob::Target::kCpu, .lanes = 2, .weights = DType::kQ8_0, .kvType = DType::kI8}}};

/// Overwrites every byte from row `first` on, in all heads, and every scale.
inline void fillRowsFrom(Session& session, uint32_t first, std::byte value) {
  const KvLayout layout = KvLayout::of(session.model().blob().header());
  for (uint32_t head = 0; head < layout.heads; ++head) {
    const uint64_t rows = layout.rows - first;
    std::ranges::fill(session.cache().subspan(layout.offset(head, first), rows * layout.rowBytes), value);
    if (layout.scaleBytes == 0) continue;
    std::ranges::fill(session.cache().subspan(layout.scaleOffset(head, first), rows * layout.scaleBytes), value);
  }
}

inline std::shared_ptr<Model> openTiny(const SessionCase& testCase, const Ladders& ladders = {}, uint32_t threads = 0) {
  auto blob = cts::makeTinyBlob(testCase.blob);
  EXPECT_TRUE(blob.isOk()) << blob.status().toString();
  auto model = Model::create(*std::move(blob), {.device = testCase.device, .threads = threads, .ladders = ladders});
  EXPECT_TRUE(model.isOk()) << model.status().toString();
  return *std::move(model);
}

inline std::unique_ptr<Session> sessionOf(std::shared_ptr<Model> model) {
  auto session = Session::create(std::move(model));
  EXPECT_TRUE(session.isOk()) << session.status().toString();
  return *std::move(session);
}

class SessionTest : public testing::TestWithParam<SessionCase> {
 protected:
  std::unique_ptr<Session> open(const Ladders& ladders = {}, uint32_t threads = 0) {
    return sessionOf(openTiny(GetParam(), ladders, threads));
  }

  /// The bits of the logits after each of `ids`, fed one at a time.
  std::vector<std::vector<uint32_t>> stepByStep(const std::vector<int32_t>& ids) {
    const auto session = open();
    std::vector<std::vector<uint32_t>> rows;
    for (const int32_t id : ids) {
      const auto logits = session->decode(id);
      EXPECT_TRUE(logits.isOk()) << logits.status().toString();
      rows.push_back(cts::bitsOf(*logits));
    }
    return rows;
  }
  /// Those after the last.
  std::vector<uint32_t> fresh(const std::vector<int32_t>& ids) { return stepByStep(ids).back(); }
};

inline std::string sessionCaseName(const testing::TestParamInfo<SessionCase>& info) { return info.param.name; }

}  // namespace firn::engine
