#include "engine/prefix_store.h"

#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

using Ids = std::vector<int32_t>;

class PrefixStoreTest : public SessionTest {
 protected:
  std::shared_ptr<Model> model = openTiny(GetParam());
  std::unique_ptr<Session> session = sessionOf(model);
  /// Bytes of a stored prefix of `tokens` tokens.
  uint64_t bytesOf(uint32_t tokens) const {
    return KvLayout::of(model->blob().header()).packedBytes(tokens) + tokens * sizeof(int32_t);
  }
  void store(PrefixStore& prefixes, const Ids& ids) {
    ASSERT_TRUE(session->prompt(ids).isOk());
    const Status status = prefixes.save(*session, static_cast<uint32_t>(ids.size()));
    ASSERT_TRUE(status.isOk()) << status.toString();
  }
};

TEST_P(PrefixStoreTest, AnotherSessionStartsFromIt) {
  PrefixStore prefixes(model, 1 << 20);
  const Ids system = cts::someIds(40);
  store(prefixes, system);
  for (const uint32_t question : {1U, 7U, 20U}) {
    Ids ids = system;
    const Ids more = cts::someIds(question, 50 + question);
    ids.insert(ids.end(), more.begin(), more.end());
    const auto other = sessionOf(model);
    const auto result = other->prompt(ids, {.progress = {}, .prefixes = &prefixes});
    ASSERT_TRUE(result.isOk()) << result.status().toString();
    EXPECT_EQ(result->cachedTokens, 40U);
    EXPECT_EQ(cts::bitsOf(result->logits), fresh(ids));
    EXPECT_EQ(other->times().bytesCopied, KvLayout::of(model->blob().header()).packedBytes(40));
  }
}

TEST_P(PrefixStoreTest, APartOfAPrefixServesToo) {
  PrefixStore prefixes(model, 1 << 20);
  store(prefixes, cts::someIds(40));
  Ids ids = cts::someIds(25);
  ids.push_back(1);
  const auto other = sessionOf(model);
  ASSERT_TRUE(other->prompt(cts::someIds(10)).isOk());  // it holds some of them itself
  const auto result = other->prompt(ids, {.progress = {}, .prefixes = &prefixes});
  ASSERT_TRUE(result.isOk());
  EXPECT_EQ(result->cachedTokens, 25U);
  EXPECT_EQ(cts::bitsOf(result->logits), fresh(ids));
  // The whole prompt is stored: the last token is computed.
  const auto whole = sessionOf(model)->prompt(cts::someIds(30), {.progress = {}, .prefixes = &prefixes});
  ASSERT_TRUE(whole.isOk());
  EXPECT_EQ(whole->cachedTokens, 29U);
}

TEST_P(PrefixStoreTest, TheLeastRecentlyUsedGoes) {
  PrefixStore prefixes(model, 3 * bytesOf(20));
  const Ids a = cts::someIds(20, 1), b = cts::someIds(20, 2), c = cts::someIds(20, 3), d = cts::someIds(20, 4);
  for (const Ids& ids : {a, b, c}) store(prefixes, ids);
  EXPECT_EQ(prefixes.size(), 3U);
  EXPECT_EQ(prefixes.bytes(), 3 * bytesOf(20));
  EXPECT_EQ(prefixes.find(a).tokens, 20U);
  store(prefixes, d);
  EXPECT_EQ(prefixes.size(), 3U);
  EXPECT_EQ(prefixes.find(b).tokens, 0U);
  for (const Ids& ids : {a, c, d}) EXPECT_EQ(prefixes.find(ids).tokens, 20U);
}

TEST_P(PrefixStoreTest, KeepsALongerOneInsteadOfItsPrefix) {
  PrefixStore prefixes(model, 1 << 20);
  store(prefixes, cts::someIds(20));
  store(prefixes, cts::someIds(30));
  EXPECT_EQ(prefixes.size(), 1U);
  EXPECT_EQ(prefixes.bytes(), bytesOf(30));
  store(prefixes, cts::someIds(10));
  EXPECT_EQ(prefixes.size(), 1U);
  EXPECT_EQ(prefixes.find(cts::someIds(30)).tokens, 30U);
}

TEST_P(PrefixStoreTest, RefusesWhatItCannotHold) {
  PrefixStore prefixes(model, bytesOf(10));
  ASSERT_TRUE(session->prompt(cts::someIds(20)).isOk());
  EXPECT_EQ(prefixes.save(*session, 0).code(), Code::kInvalidArgument);
  EXPECT_EQ(prefixes.save(*session, 21).code(), Code::kOutOfRange);
  EXPECT_EQ(prefixes.save(*session, 11).code(), Code::kResourceExhausted);
  const auto stranger = open();
  EXPECT_EQ(prefixes.save(*stranger, 1).code(), Code::kInvalidArgument);
  EXPECT_EQ(stranger->prompt(cts::someIds(5), {.progress = {}, .prefixes = &prefixes}).status().code(),
            Code::kInvalidArgument);
  EXPECT_TRUE(prefixes.save(*session, 10).isOk());
  EXPECT_EQ(prefixes.save(*session, 11).code(), Code::kResourceExhausted);
  EXPECT_EQ(prefixes.find(cts::someIds(10)).tokens, 10U);
}

INSTANTIATE_TEST_SUITE_P(Devices, PrefixStoreTest, testing::ValuesIn(kSessionCases), sessionCaseName);

}  // namespace
}  // namespace firn::engine
