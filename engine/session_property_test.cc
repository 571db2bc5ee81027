// Random sequences of everything a session can do to its content, held against sessions that compute the same ids from
// nothing: the logits are the same bits. FIRN_SEQUENCES says how many sequences (default 40 per device and KV type).
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <random>

#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

using Ids = std::vector<int32_t>;
constexpr uint32_t kSteps = 12;    ///< operations of a sequence
constexpr uint32_t kSessions = 4;  ///< of a sequence, at most

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
  Sequence(const std::shared_ptr<SlotPool>& pool, Session& oracle, uint32_t seed, std::string path)
      : oracle_(oracle), random_(seed), path_(std::move(path)) {
    auto session = Session::create(pool);
    EXPECT_TRUE(session.isOk()) << session.status().toString();
    sessions_.push_back({*std::move(session), {}});
  }

  void run() {
    for (uint32_t step = 0; step < kSteps && !testing::Test::HasFailure(); ++step) {
      Tracked& tracked = sessions_[below(static_cast<uint32_t>(sessions_.size()))];
      switch (below(11)) {
        case 0: append(tracked); break;
        case 1:
        case 2: decode(tracked); break;
        case 3: rewind(tracked); break;
        case 4: fork(tracked); break;
        case 5: save(tracked); break;
        case 6: load(tracked); break;
        case 7:
        case 8: decodeTogether(); break;
        case 9: cancel(tracked); break;
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
  /// Some of the sessions, in any order, a few steps.
  void decodeTogether() {
    std::vector<Tracked*> members;
    for (Tracked& tracked : sessions_) members.push_back(&tracked);
    std::ranges::shuffle(members, random_);
    members.resize(1 + below(static_cast<uint32_t>(members.size())));
    for (uint32_t left = 1 + below(10); left > 0; --left) {
      std::erase_if(members, [](const Tracked* tracked) { return tracked->ids.size() == cts::kKvRows; });
      if (members.empty()) return;
      std::vector<Session*> sessions;
      const Ids ids = some(static_cast<uint32_t>(members.size()));
      for (size_t i = 0; i < members.size(); ++i) {
        sessions.push_back(members[i]->session.get());
        members[i]->ids.push_back(ids[i]);
      }
      const auto logits = Session::decodeTogether(sessions, ids);
      ASSERT_TRUE(logits.isOk()) << logits.status().toString();
      if (left != 1) continue;
      for (size_t i = 0; i < members.size(); ++i) {
        expectLogits(*members[i], logits->subspan(i * cts::kVocab, cts::kVocab));
      }
    }
  }
  /// A prompt that is cancelled somewhere, or not: what it leaves is a prefix of it.
  void cancel(Tracked& tracked) {
    const Ids ids = some(1 + below(kMaxPrompt));
    uint32_t chunks = below(4);
    const auto result = tracked.session->prompt(ids, {.progress = [&](uint32_t, uint32_t) { return chunks-- > 0; }});
    ASSERT_TRUE(result.isOk() || result.status().code() == Code::kCancelled) << result.status().toString();
    const auto left = tracked.session->ids();
    ASSERT_TRUE(std::equal(left.begin(), left.end(), ids.begin(), ids.begin() + std::min(left.size(), ids.size())));
    tracked.ids.assign(left.begin(), left.end());
    if (result.isOk()) {
      expectLogits(tracked, result->logits);
    } else {
      decode(tracked);
    }
  }
  void rewind(Tracked& tracked) {
    const uint32_t kept = below(static_cast<uint32_t>(tracked.ids.size()) + 1);
    ASSERT_TRUE(tracked.session->rewind(kept).isOk());
    tracked.ids.resize(kept);
  }
  void fork(Tracked& tracked) {
    // The pool has a slot more than there are sessions: the one that a fork takes the place of is still there.
    auto copy = tracked.session->fork();
    ASSERT_TRUE(copy.isOk()) << copy.status().toString();
    Tracked forked{*std::move(copy), tracked.ids};
    if (sessions_.size() < kSessions) {
      sessions_.push_back(std::move(forked));
    } else {
      sessions_[below(kSessions)] = std::move(forked);
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

  Session& oracle_;
  std::mt19937 random_;
  std::string path_;
  std::vector<Tracked> sessions_;
  Ids saved_;
  bool isSaved_ = false;
};

class SessionPropertyTest : public SessionTest {};

TEST_P(SessionPropertyTest, EverySequenceGivesTheBitsOfAFreshSession) {
  const auto pool = SlotPool::create(openTiny(GetParam()), kSessions + 1);
  ASSERT_TRUE(pool.isOk()) << pool.status().toString();
  const auto oracle = open();  // of another model: nothing is shared
  const std::string path =
      (std::filesystem::temp_directory_path() / ("firn_property_" + std::to_string(getpid()))).string();
  for (uint32_t seed = 1; seed <= sequences(); ++seed) {
    SCOPED_TRACE("sequence " + std::to_string(seed));
    Sequence(*pool, *oracle, seed, path).run();
    if (HasFatalFailure()) break;
    ASSERT_EQ((*pool)->freeSlots(), kSessions + 1) << "a slot was lost";
  }
  std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Devices, SessionPropertyTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
