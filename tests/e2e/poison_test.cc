// Cache rows that hold no token, or that lie behind the window of a layer, may hold anything: NaN or Inf in all of them
// before every step changes no bit.
#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>

#include "compiler/import/import.h"
#include "tests/e2e/compiled_model.h"
#include "tests/e2e/poison.h"
#include "tests/golden/recorded.h"

namespace firn::e2e {
namespace {

/// Prompt in chunks, then steps up to the last row; the logits after the prompt and after every step. `prepare` runs
/// between any two of them.
template <typename Prepare>
std::vector<float> conversation(engine::Session& session, std::span<const int32_t> ids, const Prepare& prepare) {
  constexpr uint32_t kPrompt = 100;
  const auto first = need(session.prefill(ids.first(kPrompt), [&](uint32_t, uint32_t) {
    prepare(session);
    return true;
  }));
  std::vector<float> all(first.begin(), first.end());
  for (const int32_t id : ids.subspan(kPrompt)) {
    prepare(session);
    const auto logits = need(session.decode(id));
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

constexpr auto kNothing = [](engine::Session&) {};

class PoisonTest : public testing::TestWithParam<golden::RecordedModel> {};

TEST_P(PoisonTest, ChangesNothing) {
  using Case = std::pair<const char*, std::optional<DType>>;
  for (const auto& [target, kvType] : {Case{"cpu", {}}, {"npu", {}}, {"reference", {}}, {"cpu", DType::kI8}}) {
    auto compile = smallCompile(GetParam().model, target);
    compile.kvType = kvType;
    const std::vector<int32_t> ids = someIds(150, 512);
    const auto clean = openSession(compile, {.ladders = {{16}, {}}});
    const std::vector<float> expected = conversation(*clean, ids, kNothing);
    for (const Poison& poison : kPoisons) {
      const auto session = openSession(compile, {.ladders = {{16}, {}}});
      const auto prepare = [&](engine::Session& s) { poisonFreeRows(s, poison); };
      EXPECT_EQ(differenceInBits(conversation(*session, ids, prepare), expected), "") << target << ", " << poison.name;
    }
  }
}

/// Rows that lie behind the window of every row to come hold tokens, but no layer with the window reads them.
TEST(PoisonBehindWindowTest, ChangesNothing) {
  for (const char* file : {"gguf/mistral-window.gguf", "gguf/gemma3.gguf"}) {
    const import::ModelSpec spec = need(import::importModel(std::string("tests/data/") + file));
    for (const char* target : {"cpu", "npu", "reference"}) {
      const auto compile = smallCompile(file, target);
      const std::vector<int32_t> ids = someIds(150, 512);
      const auto clean = openSession(compile, {.ladders = {{16}, {}}});
      const std::vector<float> expected = conversation(*clean, ids, kNothing);
      for (const Poison& poison : kPoisons) {
        const auto session = openSession(compile, {.ladders = {{16}, {}}});
        const auto prepare = [&](engine::Session& s) {
          for (uint64_t layer = 0; layer < spec.layers.size(); ++layer) {
            const uint64_t window = spec.layers[layer].window;
            const uint64_t next = s.position() + uint64_t{1};
            if (window > 0 && next > window) poisonRows(s, {layer, 0, next - window}, poison);
          }
        };
        EXPECT_EQ(differenceInBits(conversation(*session, ids, prepare), expected), "")
            << file << " on " << target << ", " << poison.name;
      }
    }
  }
}

TEST(PoisonOfTokenTest, ShowsInTheLogits) {
  const auto session = openSession(smallCompile("gguf/llama.gguf"));
  const std::vector<int32_t> ids = someIds(20, 512);
  need(session->prefill(ids));
  const std::span<std::byte> cache = session->cache();
  const uint16_t nan = 0x7E00;
  for (size_t at = 0; at < cache.size(); at += sizeof nan) std::memcpy(cache.data() + at, &nan, sizeof nan);
  const std::vector<float> logits = stepLogits(*session, std::span(ids).first(1));
  EXPECT_TRUE(logits[0] != logits[0]) << "the poison of the other tests would not be seen";
}

std::string nameOf(const testing::TestParamInfo<golden::RecordedModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, PoisonTest, testing::ValuesIn(golden::allModels()), nameOf);

}  // namespace
}  // namespace firn::e2e
