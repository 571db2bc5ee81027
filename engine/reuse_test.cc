// What a session keeps of its last conversation is worth the same bits as computing it again.
#include <cstring>

#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

using Ids = std::vector<int32_t>;

class ReuseTest : public SessionTest {
 protected:
  std::unique_ptr<Session> session = open();

  /// The prompt's logits are those of a fresh session, and `cached` tokens were kept.
  void expectPrompt(const Ids& ids, uint32_t cached, const std::string& name) {
    const auto result = session->prompt(ids);
    ASSERT_TRUE(result.isOk()) << name << ": " << result.status().toString();
    EXPECT_EQ(result->cachedTokens, cached) << name;
    EXPECT_EQ(cts::bitsOf(result->logits), fresh(ids)) << name;
    EXPECT_EQ(session->position(), ids.size()) << name;
    EXPECT_EQ(Ids(session->ids().begin(), session->ids().end()), ids) << name;
  }
};

TEST_P(ReuseTest, KeepsTheLongestCommonPrefix) {
  const Ids ids = cts::someIds(50);
  Ids longer = ids;
  longer.push_back(3);
  Ids changed = ids;
  changed[20] ^= 1;
  const Ids other = cts::someIds(30, 5);
  expectPrompt(ids, 0, "the first prompt");
  expectPrompt(ids, 49, "the same again");
  expectPrompt(Ids(ids.begin(), ids.begin() + 30), 29, "a proper prefix");
  expectPrompt(ids, 30, "longer again");
  expectPrompt(longer, 50, "one token more");
  expectPrompt(changed, 20, "another token in the middle");
  expectPrompt(other, 0, "another first token");
  ASSERT_TRUE(session->rewind(0).isOk());
  expectPrompt(other, 0, "the same after a rewind to nothing");
  expectPrompt({other[0]}, 0, "a single token");
}

TEST_P(ReuseTest, GeneratedTokensAreKept) {
  Ids ids = cts::someIds(20);
  ASSERT_TRUE(session->prompt(ids).isOk());
  for (const int32_t id : cts::someIds(15, 9)) {
    ASSERT_TRUE(session->decode(id).isOk());
    ids.push_back(id);
  }
  const Ids turn = cts::someIds(10, 40);
  ids.insert(ids.end(), turn.begin(), turn.end());
  expectPrompt(ids, 35, "the second turn");
}

TEST_P(ReuseTest, ARefusedPromptChangesNothing) {
  const Ids ids = cts::someIds(30);
  ASSERT_TRUE(session->prompt(ids).isOk());
  EXPECT_EQ(session->prompt({}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(session->prompt(cts::someIds(kMaxPrompt + 1)).status().code(), Code::kOutOfRange);
  EXPECT_EQ(session->prompt(Ids{1, -1}).status().code(), Code::kOutOfRange);
  expectPrompt(ids, 29, "as before");
}

TEST_P(ReuseTest, ACancelledPromptKeepsWhatIsDone) {
  session = open({.prefillChunks = {16}, .contexts = {}});
  const Ids ids = cts::someIds(50);
  int calls = 0;
  const auto result = session->prompt(ids, {.progress = [&](uint32_t, uint32_t) { return ++calls < 3; }});
  EXPECT_EQ(result.status().code(), Code::kCancelled);
  const uint32_t kept = session->position();
  EXPECT_GT(kept, 0U);
  expectPrompt(ids, kept, "again");
}

TEST_P(ReuseTest, StagesAreTimed) {
  const Ids ids = cts::someIds(50);
  const auto plan = session->plan(50);
  ASSERT_TRUE(plan.isOk());
  ASSERT_TRUE(session->prompt(ids).isOk());
  const StageTimes& times = session->times();
  ASSERT_EQ(times.chunks.size(), plan->steps.size());
  uint64_t predicted = 0;
  for (size_t i = 0; i < times.chunks.size(); ++i) {
    EXPECT_EQ(times.chunks[i].entry, plan->steps[i].variant->entry);
    EXPECT_EQ(times.chunks[i].valid, plan->steps[i].valid);
    EXPECT_GT(times.chunks[i].nanoseconds, 0U);
    predicted += times.chunks[i].predictedPicoseconds;
  }
  EXPECT_EQ(predicted, plan->picoseconds);
  EXPECT_GT(times.planNanoseconds, 0U);
  EXPECT_EQ(times.decodeSteps, 0U);
  EXPECT_EQ(times.bytesCopied, 0U);
  // Each pass reads the weights of its layers, and their cache rows.
  const uint64_t before = times.bytesMoved;
  EXPECT_GT(before, plan->steps.size() * 2 * cts::kEmbed * cts::kEmbed);
  for (int32_t id = 0; id < 3; ++id) ASSERT_TRUE(session->decode(id).isOk());
  EXPECT_EQ(times.decodeSteps, 3U);
  EXPECT_GT(times.decodeNanoseconds, 0U);
  EXPECT_GT(times.bytesMoved, before);
  ASSERT_TRUE(session->prompt(ids).isOk());
  EXPECT_EQ(times.chunks.size(), 1U);
  EXPECT_EQ(times.decodeSteps, 0U);
}

TEST_P(ReuseTest, AForkGoesItsOwnWay) {
  const Ids ids = cts::someIds(40);
  ASSERT_TRUE(session->prompt(ids).isOk());
  auto forked = session->fork();
  ASSERT_TRUE(forked.isOk()) << forked.status().toString();
  EXPECT_EQ((*forked)->position(), 40U);
  EXPECT_EQ((*forked)->exactTokens(), 40U);
  Ids left = ids, right = ids;
  for (int32_t i = 0; i < 10; ++i) {
    left.push_back(i);
    right.push_back(79 - i);
    const auto a = session->decode(left.back());
    ASSERT_TRUE(a.isOk());
    const auto bitsOfA = cts::bitsOf(*a);
    const auto b = (*forked)->decode(right.back());
    ASSERT_TRUE(b.isOk());
    if (i == 9) {
      EXPECT_EQ(bitsOfA, fresh(left));
      EXPECT_EQ(cts::bitsOf(*b), fresh(right));
    }
  }
  // The fork lives without its parent.
  session.reset();
  right.push_back(7);
  const auto last = (*forked)->decode(7);
  ASSERT_TRUE(last.isOk());
  EXPECT_EQ(cts::bitsOf(*last), fresh(right));
}

TEST_P(ReuseTest, AForkOfAnEmptySessionIsEmpty) {
  const auto forked = session->fork();
  ASSERT_TRUE(forked.isOk());
  EXPECT_EQ((*forked)->position(), 0U);
  EXPECT_TRUE((*forked)->prompt(cts::someIds(3)).isOk());
}

INSTANTIATE_TEST_SUITE_P(Devices, ReuseTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
