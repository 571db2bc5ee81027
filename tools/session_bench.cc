#include "tools/session_bench.h"

#include <algorithm>
#include <chrono>

#include "engine/session.h"
#include "genai/sampler/sampler.h"
#include "tools/command.h"

namespace firn::tools {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kWarmUpSteps = 8;

Status decodeAll(std::span<engine::Session* const> sessions, std::span<const int32_t> ids) {
  std::vector<int32_t> same(sessions.size());
  std::span<const float> last;
  for (const int32_t id : ids) {
    if (interrupted().load()) return cancelled("the benchmark was interrupted");
    std::ranges::fill(same, id);
    FIRN_ASSIGN_OR_RETURN(last, engine::Session::decodeTogether(sessions, same));
  }
  return ids.empty() ? Status::ok() : genai::checkLogits(last).withPlace("the last step of all sessions");
}

Status start(std::span<engine::Session* const> sessions, std::span<const int32_t> prompt) {
  for (engine::Session* session : sessions) {
    FIRN_RETURN_IF_ERROR(session->rewind(0));
    const auto logits = session->prefill(prompt);
    if (!logits) return logits.status();
  }
  return Status::ok();
}

}  // namespace

Result<std::vector<SessionRate>> benchSessions(const std::shared_ptr<engine::Model>& model,
                                               std::span<const uint32_t> counts, std::span<const int32_t> prompt,
                                               std::span<const int32_t> ids) {
  std::vector<SessionRate> rates;
  for (const uint32_t count : counts) {
    FIRN_ASSIGN_OR_RETURN(const auto pool, engine::SlotPool::create(model, count));
    std::vector<std::unique_ptr<engine::Session>> sessions(count);
    std::vector<engine::Session*> members;
    for (auto& session : sessions) {
      FIRN_ASSIGN_OR_RETURN(session, engine::Session::create(pool));
      members.push_back(session.get());
    }
    FIRN_RETURN_IF_ERROR(start(members, prompt));
    FIRN_RETURN_IF_ERROR(decodeAll(members, ids.first(std::min(kWarmUpSteps, ids.size()))));
    FIRN_RETURN_IF_ERROR(start(members, prompt));
    uint64_t bytes = 0;
    for (const engine::Session* session : members) bytes -= session->times().bytesMoved;
    const Clock::time_point begin = Clock::now();
    FIRN_RETURN_IF_ERROR(decodeAll(members, ids));
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    for (const engine::Session* session : members) bytes += session->times().bytesMoved;
    rates.push_back({count, static_cast<double>(count * ids.size()) / seconds, static_cast<double>(bytes) / seconds});
  }
  return rates;
}

}  // namespace firn::tools
