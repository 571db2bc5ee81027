// The speed of several sessions that decode in one step.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/model.h"

namespace firn::tools {

/// What so many sessions did together.
struct SessionRate {
  uint32_t sessions = 0;
  double tokensPerSecond = 0;  ///< of all together
  double bytesPerSecond = 0;   ///< weights, once a step, and cache rows
};

/// For each number of `counts`: so many sessions take `prompt`, then `ids` one by one, all in one step each time.
/// invalid_argument when the blob has no batch so large; cancelled when interrupted.
Result<std::vector<SessionRate>> benchSessions(const std::shared_ptr<engine::Model>& model,
                                               std::span<const uint32_t> counts, std::span<const int32_t> prompt,
                                               std::span<const int32_t> ids);

}  // namespace firn::tools
