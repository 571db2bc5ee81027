// Several sessions in one step: on every model each row of a batch entry gets the bits that its session gets alone,
// whatever is beside it.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "tests/e2e/compiled_model.h"
#include "tests/e2e/poison.h"
#include "tests/golden/recorded.h"

namespace firn::e2e {
namespace {

using blob::SymbolKind;

/// One batch entry of a model with memory for its inputs and outputs; the caches are those of sessions.
class Batch {
 public:
  Batch(engine::Model& model, uint32_t rows, uint32_t context)
      : model_(model),
        context_(context),
        entry_(*model.blob().findEntry("batch." + std::to_string(rows) + "." + std::to_string(context))) {
    for (const blob::SymbolRecord& symbol : model.blob().symbolsOf(model.blob().entries()[entry_])) {
      auto& binding = bindings_[static_cast<size_t>(symbol.kind)];
      if (blob::isKv(symbol.kind)) {
        caches_.push_back(need(model.device().alloc(symbol.bytes)));
        binding = {caches_.back(), 0, symbol.bytes};
      } else {
        binding = {need(model.device().alloc(symbol.bytes)), 0, symbol.bytes};
      }
    }
  }

  /// The cache of row `row`, to be filled from a session.
  std::span<std::byte> cache(uint32_t row) { return need(model_.device().map(caches_[row])); }

  /// Appends ids[i] at cache row row0s[i] of row i; logits f32[ids.size(), vocab].
  std::vector<float> step(const std::vector<int32_t>& ids, const std::vector<uint32_t>& row0s) {
    const auto mask = input<uint8_t>(SymbolKind::kMask);
    std::ranges::fill(mask, 0);
    for (size_t i = 0; i < ids.size(); ++i) {
      input<int32_t>(SymbolKind::kIds)[i] = ids[i];
      input<int32_t>(SymbolKind::kPositions)[i] = static_cast<int32_t>(row0s[i]);
      input<int32_t>(SymbolKind::kRow0)[i] = static_cast<int32_t>(row0s[i]);
      std::ranges::fill(mask.subspan(i * context_, row0s[i] + 1), 1);
    }
    input<int32_t>(SymbolKind::kValid)[0] = static_cast<int32_t>(ids.size());
    need(model_.device().bind(model_.program(), entry_, bindings_));
    need(model_.device().submit(model_.program(), entry_));
    need(model_.device().wait());
    const auto logits = input<float>(SymbolKind::kLogits).first(ids.size() * model_.limits().vocab);
    return {logits.begin(), logits.end()};
  }

 private:
  template <typename T>
  std::span<T> input(SymbolKind kind) {
    const auto& binding = bindings_[static_cast<size_t>(kind)];
    return {reinterpret_cast<T*>(need(model_.device().map(binding.buffer)).data()), binding.bytes / sizeof(T)};
  }

  engine::Model& model_;
  uint32_t context_;
  uint32_t entry_;
  runtime::Bindings bindings_{};
  std::vector<runtime::BufferId> caches_;
};

class BatchTest : public testing::TestWithParam<golden::RecordedModel> {};

TEST_P(BatchTest, EachRowGetsTheBitsOfItsSessionAlone) {
  constexpr std::array<uint32_t, 3> kLengths = {37, 1, 63};
  for (const char* target : {"cpu", "reference"}) {
    auto compile = smallCompile(GetParam().model, target);
    compile.batches = {2, 4};
    const auto model = need(engine::Model::open(blobOf(compile), {.device = target}));
    for (const uint32_t rows : {2U, 4U}) {
      Batch batch(*model, rows, 128);
      const uint32_t valid = std::min<uint32_t>(rows, kLengths.size());
      std::vector<SessionPtr> sessions;
      std::vector<uint32_t> row0s;
      for (uint32_t i = 0; i < valid; ++i) {
        sessions.push_back(need(engine::Session::create(model)));
        need(sessions[i]->prefill(someIds(kLengths[i], 512, i)));
        poisonFreeRows(*sessions[i], kPoisons[0]);
        std::ranges::copy(sessions[i]->cache(), batch.cache(i).begin());
        row0s.push_back(kLengths[i]);
      }
      for (uint32_t step = 0; step < 3; ++step) {
        const std::vector<int32_t> ids = someIds(valid, 512, 100 + step);
        std::vector<float> expected;
        for (uint32_t i = 0; i < valid; ++i) {
          const auto logits = need(sessions[i]->decode(ids[i]));
          expected.insert(expected.end(), logits.begin(), logits.end());
        }
        EXPECT_EQ(differenceInBits(batch.step(ids, row0s), expected), "") << target << ", step " << step;
        for (uint32_t& row0 : row0s) ++row0;
      }
      for (uint32_t i = 0; i < valid; ++i) {
        EXPECT_TRUE(std::ranges::equal(batch.cache(i), sessions[i]->cache())) << target << ", the rows written";
      }
    }
  }
}

std::string nameOf(const testing::TestParamInfo<golden::RecordedModel>& info) { return info.param.name; }
INSTANTIATE_TEST_SUITE_P(Models, BatchTest, testing::ValuesIn(golden::allModels()), nameOf);

}  // namespace
}  // namespace firn::e2e
