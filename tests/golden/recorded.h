// The recorded answers of the tiny models of tests/data, with the names of the models.
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace firn::golden {

/// A model of tests/data and where its answers are.
struct RecordedModel {
  std::string name;      ///< for the names of tests
  std::string model;     ///< GGUF below tests/data
  std::string expected;  ///< safetensors below tests/data/expected
  std::string logits;    ///< the tensor that holds its logits

  friend std::ostream& operator<<(std::ostream& out, const RecordedModel& model) { return out << model.model; }
};

/// Recorded with fp32 arithmetic by another program: logits of a prompt, and the greedy tokens after it.
struct RecordedAnswer {
  std::vector<int32_t> ids;
  std::vector<float> logits;    ///< f32[ids, vocab]
  std::vector<int32_t> greedy;  ///< empty where none was recorded
  std::vector<float> margins;   ///< of each greedy token: its logit minus the next best
};

/// Largest difference between the recorded logits and those of an exact program: both sides are fp32 with sums in
/// different orders.
inline constexpr float kRecordedTolerance = 2e-4F;

/// Those in f32, f16 and bf16, and those with all matrices quantized.
std::vector<RecordedModel> floatModels();
std::vector<RecordedModel> quantizedModels();
std::vector<RecordedModel> allModels();

/// Throws when the files cannot be read.
RecordedAnswer recordedAnswer(const RecordedModel& model);

/// The largest |a - b|; NaN when one is NaN, infinite when the sizes differ.
float largestDifference(const std::vector<float>& a, const std::vector<float>& b);
/// The root of the mean of (a - b)^2; the sizes must agree.
double rmsDifference(const std::vector<float>& a, const std::vector<float>& b);

}  // namespace firn::golden
