// Tokens dropped from the middle of a session: derived rows, the context shift, and the numbers of both.
#include <unistd.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <random>

#include "engine/naive_decoder_for_test.h"
#include "engine/prefix_store.h"
#include "engine/session_cases_for_test.h"

namespace firn::engine {
namespace {

using Ids = std::vector<int32_t>;

class ShiftTest : public SessionTest {
 protected:
  std::shared_ptr<Model> model = openTiny(GetParam());
  std::unique_ptr<Session> session = sessionOf(model);

  std::unique_ptr<Session> shifting(uint32_t keepRows = 4) {
    auto created = Session::create(model, {.contextShift = true, .keepRows = keepRows});
    EXPECT_TRUE(created.isOk()) << created.status().toString();
    return *std::move(created);
  }
  static Ids idsOf(const Session& session) { return {session.ids().begin(), session.ids().end()}; }
  std::vector<uint32_t> bitsAfter(Session& of, int32_t id) {
    const auto logits = of.decode(id);
    EXPECT_TRUE(logits.isOk()) << logits.status().toString();
    return cts::bitsOf(*logits);
  }
};

TEST_P(ShiftTest, DropsTheMiddle) {
  const Ids ids = cts::someIds(50);
  ASSERT_TRUE(session->prompt(ids).isOk());
  ASSERT_TRUE(session->truncate(10, 25).isOk());
  Ids expected = ids;
  expected.erase(expected.begin() + 10, expected.begin() + 25);
  EXPECT_EQ(idsOf(*session), expected);
  EXPECT_EQ(session->position(), 35U);
  EXPECT_EQ(session->exactTokens(), 10U);
  ASSERT_TRUE(session->decode(1).isOk());
  EXPECT_EQ(session->exactTokens(), 10U);  // what saw derived rows is derived
}

TEST_P(ShiftTest, DerivedRowsNeverStandForAPrompt) {
  const Ids ids = cts::someIds(50);
  ASSERT_TRUE(session->prompt(ids).isOk());
  ASSERT_TRUE(session->truncate(10, 25).isOk());
  PrefixStore prefixes(model, 1 << 20);
  EXPECT_EQ(prefixes.save(*session, 11).code(), Code::kOutOfRange);
  EXPECT_TRUE(prefixes.save(*session, 10).isOk());
  // Not in a fork, not out of a file.
  const std::string path =
      (std::filesystem::temp_directory_path() / ("firn_shift_" + std::to_string(getpid()))).string();
  ASSERT_TRUE(session->save(path).isOk());
  const auto loaded = sessionOf(model);
  ASSERT_TRUE(loaded->load(path).isOk());
  std::filesystem::remove(path);
  auto forked = session->fork();
  ASSERT_TRUE(forked.isOk());
  const Ids now = idsOf(*session);
  for (Session* each : {session.get(), loaded.get(), forked->get()}) {
    EXPECT_EQ(each->exactTokens(), 10U);
    const auto result = each->prompt(now);
    ASSERT_TRUE(result.isOk());
    EXPECT_EQ(result->cachedTokens, 10U);
    EXPECT_EQ(cts::bitsOf(result->logits), fresh(now));
    EXPECT_EQ(each->exactTokens(), now.size());
  }
}

TEST_P(ShiftTest, ForkAndFileGoOnAlike) {
  ASSERT_TRUE(session->prompt(cts::someIds(50)).isOk());
  ASSERT_TRUE(session->truncate(3, 20).isOk());
  auto forked = session->fork();
  ASSERT_TRUE(forked.isOk());
  for (int32_t id = 0; id < 5; ++id) EXPECT_EQ(bitsAfter(*session, id), bitsAfter(**forked, id));
}

TEST_P(ShiftTest, RewindBehindTheDropIsExactAgain) {
  const Ids ids = cts::someIds(50);
  ASSERT_TRUE(session->prompt(ids).isOk());
  ASSERT_TRUE(session->truncate(10, 25).isOk());
  ASSERT_TRUE(session->rewind(9).isOk());
  Ids now(ids.begin(), ids.begin() + 9);
  now.push_back(2);
  EXPECT_EQ(bitsAfter(*session, 2), fresh(now));
  EXPECT_EQ(session->exactTokens(), 10U);
}

TEST_P(ShiftTest, TheEndIsARewindAndNothingIsNothing) {
  const Ids ids = cts::someIds(30);
  ASSERT_TRUE(session->prompt(ids).isOk());
  ASSERT_TRUE(session->truncate(5, 5).isOk());
  EXPECT_EQ(session->exactTokens(), 30U);
  ASSERT_TRUE(session->truncate(20, 30).isOk());
  EXPECT_EQ(session->exactTokens(), 20U);
  EXPECT_EQ(session->position(), 20U);
  EXPECT_EQ(session->truncate(3, 21).code(), Code::kOutOfRange);
  EXPECT_EQ(session->truncate(UINT32_MAX, 3).code(), Code::kOutOfRange);
}

TEST_P(ShiftTest, GoesOnWithoutEnd) {
  const auto endless = shifting();
  const Ids ids = cts::someIds(60);
  ASSERT_TRUE(endless->prompt(ids).isOk());
  uint32_t largest = 0;
  for (uint32_t step = 0; step < 1000; ++step) {
    const auto logits = endless->decode(static_cast<int32_t>(step % cts::kVocab));
    ASSERT_TRUE(logits.isOk()) << step << ": " << logits.status().toString();
    ASSERT_TRUE(std::ranges::all_of(*logits, [](float x) { return std::isfinite(x); })) << step;
    largest = std::max(largest, endless->position());
  }
  EXPECT_EQ(largest, cts::kKvRows);
  EXPECT_EQ(Ids(endless->ids().begin(), endless->ids().begin() + 4), Ids(ids.begin(), ids.begin() + 4));
  EXPECT_EQ(endless->exactTokens(), 4U);
  // The next conversation is as good as any.
  const Ids other = cts::someIds(40);
  const auto result = endless->prompt(other);
  ASSERT_TRUE(result.isOk());
  EXPECT_EQ(cts::bitsOf(result->logits), fresh(other));
}

TEST_P(ShiftTest, RefusesByName) {
  const auto tooMany = Session::create(model, {.contextShift = true, .keepRows = 96});
  EXPECT_EQ(tooMany.status().code(), Code::kInvalidArgument);
  EXPECT_NE(tooMany.status().message().find("at most 95"), std::string::npos) << tooMany.status().message();
  EXPECT_EQ(Session::create(model, {.contextShift = true, .keepRows = 0x7FFFFFFF}).status().code(),
            Code::kInvalidArgument);
  for (const uint32_t keep : {0U, 95U}) {
    const auto edge = shifting(keep);
    for (uint32_t i = 0; i < 300; ++i) ASSERT_TRUE(edge->decode(1).isOk());
  }
  SessionCase without = GetParam();
  without.blob.cardHasRope = false;
  const auto other = openTiny(without);
  EXPECT_EQ(Session::create(other, {.contextShift = true}).status().code(), Code::kUnsupported);
  const auto plain = sessionOf(other);
  ASSERT_TRUE(plain->prompt(cts::someIds(20)).isOk());
  const Status status = plain->truncate(1, 2);
  EXPECT_EQ(status.code(), Code::kUnsupported);
  EXPECT_NE(status.message().find("rope"), std::string::npos);
  EXPECT_EQ(plain->exactTokens(), 20U);
  EXPECT_TRUE(plain->truncate(10, 20).isOk());
}

// Of the thread that opens the model, and of the one that drops rows.
TEST_P(ShiftTest, DropsAreTheSameBitsInEveryRoundingMode) {
  const auto cacheOf = [&](int rounding) {
    auto blob = cts::makeTinyBlob(GetParam().blob);
    EXPECT_TRUE(blob.isOk()) << blob.status().toString();
    std::fesetround(rounding);
    const auto opened = Model::create(*std::move(blob), {.device = GetParam().device});
    const auto created = Session::create(*opened, {.contextShift = true});
    Session& each = **created;
    bool isOk = each.prompt(cts::someIds(64)).isOk() && each.truncate(10, 25).isOk();
    for (uint32_t step = 0; step < 100; ++step) isOk = isOk && each.decode(1).isOk();
    std::fesetround(FE_TONEAREST);
    EXPECT_TRUE(isOk) << rounding;
    EXPECT_EQ(each.exactTokens(), 4U) << "the cache was full once";
    return std::vector<std::byte>(each.cache().begin(), each.cache().end());
  };
  const auto expected = cacheOf(FE_TONEAREST);
  for (const int rounding : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    EXPECT_TRUE(cacheOf(rounding) == expected) << rounding;
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, ShiftTest, testing::ValuesIn(kSessionCases), sessionCaseName);

/// Random truncations and steps against the plain loop. The bound is what rounding may do: four times what rounding the
/// cache does to the plain loop itself (all but f32), and 2^-12 of the largest logit for everything in fp32 (sums of up
/// to 128 terms in three products a layer, and angles up to 128 rounded to fp32: 128 * 2^-24 each).
class ReplayTest : public SessionTest {};

TEST_P(ReplayTest, ShiftsAreThoseOfThePlainLoop) {
  const auto model = openTiny(GetParam());
  const DType kvType = GetParam().blob.cacheType();
  const bool isRounded = kvType != DType::kF32;
  const bool keyBias = GetParam().blob.keyBias;
  std::mt19937 random(7);
  for (uint32_t sequence = 0; sequence < 5; ++sequence) {
    const auto created = Session::create(model, {.contextShift = true, .keepRows = 4});
    ASSERT_TRUE(created.isOk());
    Session& session = **created;
    NaiveDecoder exact(DType::kF32, keyBias), rounded(kvType, keyBias);
    for (uint32_t step = 0; step < 200; ++step) {
      const uint32_t position = session.position();
      if (position == cts::kKvRows) {
        for (NaiveDecoder* each : {&exact, &rounded}) each->truncate(4, 4 + cts::kKvRows / 4);
      } else if (position > 20 && random() % 25 == 0) {
        const auto first = static_cast<uint32_t>(random() % (position - 10));
        const auto last = first + 1 + static_cast<uint32_t>(random() % 8);
        ASSERT_TRUE(session.truncate(first, last).isOk());
        for (NaiveDecoder* each : {&exact, &rounded}) each->truncate(first, last);
      }
      const auto id = static_cast<int32_t>(random() % cts::kVocab);
      const auto logits = session.decode(id);
      ASSERT_TRUE(logits.isOk()) << logits.status().toString();
      const auto expected = exact.decode(id), withNoise = rounded.decode(id);
      float largest = 0, noise = 0, error = 0;
      for (uint32_t i = 0; i < cts::kVocab; ++i) {
        largest = std::max(largest, std::abs(expected[i]));
        noise = std::max(noise, std::abs(withNoise[i] - expected[i]));
        error = std::max(error, std::abs((*logits)[i] - (isRounded ? withNoise : expected)[i]));
      }
      ASSERT_LE(error, (isRounded ? 4 * noise : 0) + 0x1p-12F * largest)
          << "sequence " << sequence << ", step " << step;
    }
  }
}

std::vector<SessionCase> floatCases() {
  std::vector<SessionCase> cases(std::begin(kSessionCases), std::end(kSessionCases));
  std::erase_if(cases, [](const SessionCase& each) { return each.blob.weights != DType::kF32; });
  return cases;
}

INSTANTIATE_TEST_SUITE_P(Devices, ReplayTest, testing::ValuesIn(floatCases()), sessionCaseName);

}  // namespace
}  // namespace firn::engine
