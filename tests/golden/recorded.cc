#include "tests/golden/recorded.h"

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

#include "tests/golden/safetensors.h"

namespace firn::golden {
namespace {

template <typename T>
T need(Result<T> result) {
  if (!result.isOk()) throw std::runtime_error(result.status().toString());
  return *std::move(result);
}

std::vector<int32_t> narrow(const std::vector<int64_t>& ids) { return {ids.begin(), ids.end()}; }

}  // namespace

std::vector<RecordedModel> floatModels() {
  const auto model = [](const std::string& name, const std::string& file) {
    return RecordedModel{name, "gguf/" + file + ".gguf", file + ".safetensors", "logits"};
  };
  return {model("f32", "llama"),
          model("llama3_rope", "llama3-rope"),
          model("linear_rope_bias_f16", "llama-bias-linear-rope"),
          model("tied_bf16", "llama-tied-bf16"),
          model("yarn", "llama-yarn"),
          model("mistral_window", "mistral-window"),
          model("qwen2", "qwen2"),
          model("gemma3", "gemma3")};
}

std::vector<RecordedModel> quantizedModels() {
  std::vector<RecordedModel> models;
  for (const char* type : {"q4_0", "q4_1", "q8_0", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k"}) {
    models.push_back({type, std::string("quant/") + type + ".gguf", "quant.safetensors", type});
  }
  return models;
}

std::vector<RecordedModel> allModels() {
  std::vector<RecordedModel> models = floatModels();
  for (RecordedModel& model : quantizedModels()) models.push_back(std::move(model));
  return models;
}

RecordedAnswer recordedAnswer(const RecordedModel& model) {
  const Safetensors file = need(Safetensors::open("tests/data/expected/" + model.expected));
  RecordedAnswer answer;
  answer.ids = narrow(need(file.integers("ids")));
  answer.logits = need(file.floats(model.logits));
  if (file.has("greedy")) {
    answer.greedy = narrow(need(file.integers("greedy")));
    answer.margins = need(file.floats("greedy_margin"));
  }
  return answer;
}

float largestDifference(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return std::numeric_limits<float>::infinity();
  float largest = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const float difference = std::fabs(a[i] - b[i]);
    if (std::isnan(difference)) return difference;
    largest = std::max(largest, difference);
  }
  return largest;
}

double rmsDifference(const std::vector<float>& a, const std::vector<float>& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (double{a[i]} - b[i]) * (double{a[i]} - b[i]);
  return std::sqrt(sum / static_cast<double>(a.size()));
}

}  // namespace firn::golden
