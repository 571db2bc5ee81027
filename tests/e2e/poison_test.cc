// Cache rows that hold no token may hold anything: NaN or Inf in all of them before every step changes no bit.
#include <gtest/gtest.h>

#include <cstring>

#include "base/dtype.h"
#include "tests/e2e/compiled_model.h"
#include "tests/e2e/recorded.h"

namespace firn::e2e {
namespace {

struct Poison {
  const char* name;
  uint16_t half;
  uint32_t single;
};

constexpr Poison kPoisons[] = {{"NaN", 0x7E00, 0x7FC00000},
                               {"negative signalling NaN", 0xFD01, 0xFFA00001},
                               {"Inf", 0x7C00, 0x7F800000},
                               {"-Inf", 0xFC00, 0xFF800000}};

template <typename T>
void fill(std::span<std::byte> bytes, T pattern) {
  for (size_t at = 0; at < bytes.size(); at += sizeof(T)) std::memcpy(bytes.data() + at, &pattern, sizeof(T));
}

/// Writes `poison` to all rows of all heads that hold no token.
void poisonFreeRows(engine::Session& session, const Poison& poison) {
  const blob::ProgramHeader& header = session.model().blob().header();
  const uint64_t rowBytes = session.cache().size() / (uint64_t{header.layers} * 2 * header.kvHeads * header.kvRows);
  const bool isHalf = header.kvType == DType::kF16;
  for (uint64_t head = 0; head < uint64_t{header.layers} * 2 * header.kvHeads; ++head) {
    const uint64_t first = (head * header.kvRows + session.position()) * rowBytes;
    const auto rows = session.cache().subspan(first, (header.kvRows - session.position()) * rowBytes);
    if (isHalf) {
      fill(rows, poison.half);
    } else {
      fill(rows, poison.single);
    }
  }
}

/// Prompt in chunks, then steps up to the last row; the logits after the prompt and after every step.
std::vector<float> conversation(engine::Session& session, std::span<const int32_t> ids, const Poison* poison) {
  const auto prepare = [&] {
    if (poison != nullptr) poisonFreeRows(session, *poison);
    return true;
  };
  constexpr uint32_t kPrompt = 100;
  const auto first = need(session.prefill(ids.first(kPrompt), [&](uint32_t, uint32_t) { return prepare(); }));
  std::vector<float> all(first.begin(), first.end());
  for (const int32_t id : ids.subspan(kPrompt)) {
    prepare();
    const auto logits = need(session.decode(id));
    all.insert(all.end(), logits.begin(), logits.end());
  }
  return all;
}

class PoisonTest : public testing::TestWithParam<RecordedModel> {};

TEST_P(PoisonTest, ChangesNothing) {
  for (const char* target : {"cpu", "reference"}) {
    const auto compile = smallCompile(GetParam().model, target);
    const std::vector<int32_t> ids = someIds(150, 512);
    const auto clean = openSession(compile, {.ladders = {{16}, {}}});
    const std::vector<float> expected = conversation(*clean, ids, nullptr);
    for (const Poison& poison : kPoisons) {
      const auto session = openSession(compile, {.ladders = {{16}, {}}});
      EXPECT_EQ(differenceInBits(conversation(*session, ids, &poison), expected), "") << target << ", " << poison.name;
    }
  }
}

TEST(PoisonOfTokenTest, ShowsInTheLogits) {
  const auto session = openSession(smallCompile("gguf/llama.gguf"));
  const std::vector<int32_t> ids = someIds(20, 512);
  need(session->prefill(ids));
  fill(session->cache(), uint16_t{0x7E00});
  const std::vector<float> logits = stepLogits(*session, std::span(ids).first(1));
  EXPECT_TRUE(logits[0] != logits[0]) << "the poison of the other tests would not be seen";
}

std::string nameOf(const testing::TestParamInfo<RecordedModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, PoisonTest, testing::ValuesIn(allModels()), nameOf);

}  // namespace
}  // namespace firn::e2e
