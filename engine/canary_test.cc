// Every operation of a session writes the rows that it is about and no byte beside them, in every head; and what lies
// in the rows that hold no token changes no bit, whatever came before: prompts, steps, rewinds, truncations, shifts,
// loads.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <random>

#include "engine/kv_rows.h"
#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

constexpr std::byte kPoison{0xFF};  ///< NaN in f16 and f32, and a value to know it by

struct RowRange {
  uint32_t first = 0;
  uint32_t last = 0;
};

/// Fills the free rows of a session with poison, and tells afterwards which rows of any head have changed.
class Guard {
 public:
  explicit Guard(Session& session) : session_(session), layout_(KvLayout::of(session.model().blob().header())) {
    for (uint32_t head = 0; head < layout_.heads; ++head) {
      const RowRange free = {session_.position(), layout_.rows};
      std::ranges::fill(rowsOf(session_.cache(), head, free), kPoison);
      std::ranges::fill(scalesOf(session_.cache(), head, free), kPoison);
    }
    before_.assign(session_.cache().begin(), session_.cache().end());
  }

  /// Rows outside `written` are as they were.
  void expectChangesOnlyIn(const RowRange& written, const std::string& what) const {
    for (uint32_t head = 0; head < layout_.heads; ++head) {
      for (const RowRange& rows : {RowRange{0, written.first}, RowRange{written.last, layout_.rows}}) {
        if (rows.first >= rows.last) continue;
        const bool areSame =
            std::ranges::equal(rowsOf(session_.cache(), head, rows), rowsOf(std::span(before_), head, rows)) &&
            std::ranges::equal(scalesOf(session_.cache(), head, rows), scalesOf(std::span(before_), head, rows));
        ASSERT_TRUE(areSame) << what << ": head " << head << ", rows outside of " << written.first << " to "
                             << written.last << " have changed";
      }
    }
  }

 private:
  template <typename Byte>
  std::span<Byte> rowsOf(std::span<Byte> cache, uint32_t head, const RowRange& rows) const {
    return cache.subspan(layout_.offset(head, rows.first), (rows.last - rows.first) * layout_.rowBytes);
  }

  /// Empty where the type of the cache has none.
  template <typename Byte>
  std::span<Byte> scalesOf(std::span<Byte> cache, uint32_t head, const RowRange& rows) const {
    return cache.subspan(layout_.scaleOffset(head, rows.first), (rows.last - rows.first) * layout_.scaleBytes);
  }

  Session& session_;
  KvLayout layout_;
  std::vector<std::byte> before_;
};

class CanaryTest : public SessionTest {
 protected:
  static std::unique_ptr<Session> shifting(const std::shared_ptr<Model>& model) {
    auto created = Session::create(model, {.contextShift = true, .keepRows = 4});
    EXPECT_TRUE(created.isOk()) << created.status().toString();
    return *std::move(created);
  }
};

/// The same operations on a guarded and on a plain session.
class Twins {
 public:
  Twins(std::unique_ptr<Session> guarded, std::unique_ptr<Session> plain, uint32_t seed, std::string path)
      : guarded_(std::move(guarded)), plain_(std::move(plain)), random_(seed), path_(std::move(path)) {}

  void step() {
    switch (below(9)) {
      case 0: prompt(); break;
      case 1: append(); break;
      case 2: rewind(); break;
      case 3: truncate(); break;
      case 4: saveAndLoad(); break;
      case 5: fork(); break;
      default: decode(1 + below(30)); break;
    }
  }

 private:
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  std::vector<int32_t> some(uint32_t count) {
    std::vector<int32_t> ids(count);
    for (int32_t& id : ids) id = static_cast<int32_t>(below(cts::kVocab));
    return ids;
  }

  /// Runs `operation` on both: the same logits, and changes in `rows` alone.
  template <typename Operation>
  void both(const std::string& what, const RowRange& rows, const Operation& operation) {
    const Guard guard(*guarded_);
    const auto found = operation(*guarded_);
    const auto expected = operation(*plain_);
    ASSERT_TRUE(found.isOk()) << what << ": " << found.status().toString();
    ASSERT_TRUE(expected.isOk());
    ASSERT_EQ(cts::bitsOf(*found), cts::bitsOf(*expected)) << what;
    guard.expectChangesOnlyIn(rows, what);
  }

  void prompt() {
    std::vector<int32_t> ids(guarded_->ids().begin(), guarded_->ids().end());
    ids.resize(below(std::min<uint32_t>(guarded_->exactTokens(), kMaxPrompt - 1) + 1));
    const auto more = some(1 + below(kMaxPrompt - static_cast<uint32_t>(ids.size())));
    const auto kept = static_cast<uint32_t>(ids.size());
    ids.insert(ids.end(), more.begin(), more.end());
    // More may be found in the cache by chance, and the last token is always computed.
    both("prompt", {std::min(kept, static_cast<uint32_t>(ids.size()) - 1), static_cast<uint32_t>(ids.size())},
         [&](Session& s) -> Result<std::span<const float>> {
           FIRN_ASSIGN_OR_RETURN(const Session::Prompted prompted, s.prompt(ids));
           return prompted.logits;
         });
  }
  void append() {
    const uint32_t position = guarded_->position();
    if (position >= kMaxPrompt) return;
    const auto ids = some(1 + below(kMaxPrompt - position));
    both("prefill", {position, position + static_cast<uint32_t>(ids.size())},
         [&](Session& s) { return s.prefill(ids); });
  }
  void decode(uint32_t count) {
    for (uint32_t i = 0; i < count && !testing::Test::HasFatalFailure(); ++i) {
      const uint32_t position = guarded_->position();
      const auto id = static_cast<int32_t>(below(cts::kVocab));
      const RowRange shifted{4, cts::kKvRows};
      both("decode", position == cts::kKvRows ? shifted : RowRange{position, position + 1},
           [&](Session& s) { return s.decode(id); });
    }
  }
  void rewind() {
    const uint32_t kept = below(guarded_->position() + 1);
    const Guard guard(*guarded_);
    ASSERT_TRUE(guarded_->rewind(kept).isOk());
    ASSERT_TRUE(plain_->rewind(kept).isOk());
    guard.expectChangesOnlyIn({}, "rewind");
  }
  void truncate() {
    const uint32_t position = guarded_->position();
    const uint32_t first = below(position + 1);
    const uint32_t last = first + below(position - first + 1);
    const Guard guard(*guarded_);
    ASSERT_TRUE(guarded_->truncate(first, last).isOk());
    ASSERT_TRUE(plain_->truncate(first, last).isOk());
    guard.expectChangesOnlyIn({first, position}, "truncate");
  }
  void saveAndLoad() {
    const Guard guard(*guarded_);
    ASSERT_TRUE(guarded_->save(path_).isOk());
    guard.expectChangesOnlyIn({}, "save");
    const uint32_t position = guarded_->position();
    ASSERT_TRUE(guarded_->rewind(0).isOk());
    const Guard empty(*guarded_);
    ASSERT_TRUE(guarded_->load(path_).isOk());
    empty.expectChangesOnlyIn({0, position}, "load");
  }
  void fork() {
    const Guard guard(*guarded_);
    auto forked = guarded_->fork();
    ASSERT_TRUE(forked.isOk());
    guard.expectChangesOnlyIn({}, "fork");
    if (below(2) == 0) guarded_ = *std::move(forked);
  }

  std::unique_ptr<Session> guarded_;
  std::unique_ptr<Session> plain_;
  std::mt19937 random_;
  std::string path_;
};

TEST_P(CanaryTest, EveryOperationKeepsToItsRows) {
  const auto model = openTiny(GetParam());
  const std::string path =
      (std::filesystem::temp_directory_path() / ("firn_canary_" + std::to_string(getpid()))).string();
  for (uint32_t seed = 0; seed < 12 && !HasFatalFailure(); ++seed) {
    Twins twins(shifting(model), shifting(model), seed, path);
    for (uint32_t step = 0; step < 30 && !HasFatalFailure(); ++step) {
      SCOPED_TRACE(testing::Message() << "sequence " << seed << ", operation " << step);
      twins.step();
    }
  }
  std::filesystem::remove(path);
}

// Chunks reach up to the last row and no further.
TEST_P(CanaryTest, EveryPromptLengthKeepsToItsRows) {
  for (const uint32_t chunk : cts::kChunks) {
    const auto session = sessionOf(openTiny(GetParam(), {.prefillChunks = {chunk}, .contexts = {}}));
    for (uint32_t first = 0; first < kMaxPrompt; first += 7) {
      for (uint32_t last = first + 1; last <= kMaxPrompt; last += first % 2 == 0 ? 5 : 1) {
        ASSERT_TRUE(session->rewind(0).isOk());
        if (first > 0) ASSERT_TRUE(session->prefill(cts::someIds(first)).isOk());
        const Guard guard(*session);
        ASSERT_TRUE(session->prefill(cts::someIds(last - first)).isOk());
        guard.expectChangesOnlyIn({first, last}, "prefill");
        if (HasFatalFailure()) return;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, CanaryTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
