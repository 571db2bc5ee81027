// Random sequences of everything a session can do to its content, held against sessions that compute the same ids from
// nothing: the logits are the same bits. FIRN_SEQUENCES says how many sequences (default 40 per device and KV type).
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <random>

#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

using Ids = std::vector<int32_t>;
constexpr uint32_t kSteps = 12;  ///< operations of a sequence

uint32_t sequences() {
  const char* text = std::getenv("FIRN_SEQUENCES");
  return text == nullptr ? 40 : static_cast<uint32_t>(std::strtoul(text, nullptr, 10));
}

/// A session and the ids that it should hold.
struct Tracked {
  std::unique_ptr<Session> session;
  Ids ids;
};

class Sequence {
 public:
  Sequence(std::shared_ptr<Model> model, Session& oracle, uint32_t seed, std::string path)
      : model_(std::move(model)), oracle_(oracle), random_(seed), path_(std::move(path)) {
    sessions_.push_back({sessionOf(model_), {}});
  }

  void run() {
    for (uint32_t step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
      Tracked& tracked = sessions_[below(static_cast<uint32_t>(sessions_.size()))];
      switch (below(8)) {
        case 0: append(tracked); break;
        case 1:
        case 2: decode(tracked); break;
        case 3: rewind(tracked); break;
        case 4: fork(tracked); break;
        case 5: save(tracked); break;
        case 6: load(tracked); break;
        default: prompt(tracked); break;
      }
    }
  }

 private:
  uint32_t below(uint32_t limit) { return static_cast<uint32_t>(random_() % limit); }
  // Few different ids, so that prefixes meet by chance.
  Ids some(uint32_t count) {
    Ids ids(count);
    for (int32_t& id : ids) id = static_cast<int32_t>(below(3));
    return ids;
  }

  void expectLogits(const Tracked& tracked, std::span<const float> logits) {
    const auto found = cts::bitsOf(logits);
    ASSERT_TRUE(oracle_.rewind(0).isOk());
    std::vector<uint32_t> expected;
    for (size_t done = 0; done < tracked.ids.size();) {
      const size_t count = std::min<size_t>(tracked.ids.size() - done, done == 0 ? kMaxPrompt : 1);
      const auto result =
          count > 1 ? oracle_.prefill(std::span(tracked.ids).first(count)) : oracle_.decode(tracked.ids[done]);
      ASSERT_TRUE(result.isOk()) << result.status().toString();
      done += count;
      if (done == tracked.ids.size()) expected = cts::bitsOf(*result);
    }
    ASSERT_EQ(found, expected);
    ASSERT_EQ(Ids(tracked.session->ids().begin(), tracked.session->ids().end()), tracked.ids);
    ASSERT_EQ(tracked.session->exactTokens(), tracked.ids.size());
  }

  void append(Tracked& tracked) {
    if (tracked.ids.size() >= kMaxPrompt) return;
    const Ids more = some(1 + below(kMaxPrompt - static_cast<uint32_t>(tracked.ids.size())));
    tracked.ids.insert(tracked.ids.end(), more.begin(), more.end());
    const auto logits = tracked.session->prefill(more);
    ASSERT_TRUE(logits.isOk()) << logits.status().toString();
    expectLogits(tracked, *logits);
  }
  void decode(Tracked& tracked) {
    for (uint32_t left = 1 + below(20); left > 0 && tracked.ids.size() < cts::kKvRows; --left) {
      tracked.ids.push_back(static_cast<int32_t>(below(3)));
      const auto logits = tracked.session->decode(tracked.ids.back());
      ASSERT_TRUE(logits.isOk()) << logits.status().toString();
      if (left == 1) expectLogits(tracked, *logits);
    }
  }
  void rewind(Tracked& tracked) {
    const uint32_t kept = below(static_cast<uint32_t>(tracked.ids.size()) + 1);
    ASSERT_TRUE(tracked.session->rewind(kept).isOk());
    tracked.ids.resize(kept);
  }
  void fork(Tracked& tracked) {
    auto copy = tracked.session->fork();
    ASSERT_TRUE(copy.isOk());
    Tracked forked{*std::move(copy), tracked.ids};
    if (sessions_.size() < 3) {
      sessions_.push_back(std::move(forked));
    } else {
      sessions_[below(3)] = std::move(forked);
    }
  }
  void save(Tracked& tracked) {
    ASSERT_TRUE(tracked.session->save(path_).isOk());
    saved_ = tracked.ids;
    isSaved_ = true;
  }
  void load(Tracked& tracked) {
    if (!isSaved_) return;
    const Status status = tracked.session->load(path_);
    ASSERT_TRUE(status.isOk()) << status.toString();
    tracked.ids = saved_;
  }
  void prompt(Tracked& tracked) {
    // What some session holds, cut somewhere, and something new.
    Ids ids = sessions_[below(static_cast<uint32_t>(sessions_.size()))].ids;
    ids.resize(below(std::min<uint32_t>(static_cast<uint32_t>(ids.size()), kMaxPrompt) + 1));
    const Ids more = some(below(8));
    ids.insert(ids.end(), more.begin(), more.end());
    if (ids.empty()) ids = some(1);
    if (ids.size() > kMaxPrompt) ids.resize(kMaxPrompt);
    const auto common = static_cast<uint32_t>(
        std::mismatch(ids.begin(), ids.end(), tracked.ids.begin(), tracked.ids.end()).first - ids.begin());
    const auto result = tracked.session->prompt(ids);
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    ASSERT_EQ(result->cachedTokens, std::min<uint32_t>(common, static_cast<uint32_t>(ids.size()) - 1));
    tracked.ids = ids;
    expectLogits(tracked, result->logits);
  }

  std::shared_ptr<Model> model_;
  Session& oracle_;
  std::mt19937 random_;
  std::string path_;
  std::vector<Tracked> sessions_;
  Ids saved_;
  bool isSaved_ = false;
};

class SessionPropertyTest : public SessionTest {};

TEST_P(SessionPropertyTest, EverySequenceGivesTheBitsOfAFreshSession) {
  const auto model = openTiny(GetParam());
  const auto oracle = open();  // of another model: nothing is shared
  const std::string path =
      (std::filesystem::temp_directory_path() / ("firn_property_" + std::to_string(getpid()))).string();
  for (uint32_t seed = 1; seed <= sequences(); ++seed) {
    SCOPED_TRACE("sequence " + std::to_string(seed));
    Sequence(model, *oracle, seed, path).run();
    if (HasFatalFailure()) break;
  }
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Devices, SessionPropertyTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
