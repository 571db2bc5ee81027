// What the tests of schedulers share.
#pragma once

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "engine/scheduler.h"
#include "engine/scheduler_rounds.h"
#include "engine/session_cases_for_test.h"

namespace firn::engine {

inline constexpr auto kGreedy = [](const NextTokenInput& input) -> std::optional<int32_t> { return input.top[0].id; };

inline Request greedy(std::vector<int32_t> prompt, uint32_t maxTokens) {
  return {
      .prompt = std::move(prompt), .next = kGreedy, .progress = {}, .maxTokens = maxTokens, .answers = 1, .topK = 1};
}

class SchedulerTest : public SessionTest {
 protected:
  using Ids = std::vector<int32_t>;

  std::unique_ptr<Scheduler> start(const SchedulerOptions& options, const Ladders& ladders = {}) {
    auto scheduler = Scheduler::create(openTiny(GetParam(), ladders), options);
    EXPECT_TRUE(scheduler.isOk()) << scheduler.status().toString();
    return *std::move(scheduler);
  }

  static Ticket need(Result<Ticket> ticket) {
    EXPECT_TRUE(ticket.isOk()) << ticket.status().toString();
    return *ticket;
  }
  static Response responseOf(const Ticket& ticket) {
    auto result = ticket.wait();
    EXPECT_TRUE(result.isOk()) << result.status().toString();
    return *std::move(result);
  }

  /// Tokens of a prompt that were computed.
  static uint32_t computed(const Response& response) {
    uint32_t tokens = 0;
    for (const ChunkTime& chunk : response.promptTimes.chunks) tokens += chunk.valid;
    return tokens;
  }
  static Ids joined(Ids head, const Ids& tail) {
    head.insert(head.end(), tail.begin(), tail.end());
    return head;
  }

  /// The greedy tokens behind `prompt` of a session alone, the first of them `first` where it is not negative.
  static Ids alone(Session& session, const Ids& prompt, uint32_t count, int32_t first = -1) {
    EXPECT_TRUE(session.rewind(0).isOk());
    auto logits = session.prefill(prompt);
    Ids tokens;
    while (logits.isOk()) {
      ScoredToken best;
      bestTokens(*logits, {&best, 1});
      tokens.push_back(tokens.empty() && first >= 0 ? first : best.id);
      const bool isFull = !session.options().contextShift && session.position() == cts::kKvRows;
      if (isFull || tokens.size() == count) break;
      logits = session.decode(tokens.back());
    }
    EXPECT_TRUE(logits.isOk()) << logits.status().toString();
    return tokens;
  }
};

}  // namespace firn::engine
