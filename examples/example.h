// What every example does: open the blob that is its first argument, run, and say what failed.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <span>
#include <vector>

#include "base/status.h"
#include "engine/model.h"
#include "engine/session.h"

namespace firn::examples {

/// The index of the largest logit: the likeliest next token.
inline int32_t likeliest(std::span<const float> logits) {
  return static_cast<int32_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

/// Appends `count` likeliest tokens to `ids`, the first from `logits`, and runs all but the last of them.
inline Status continueWith(engine::Session& session, std::span<const float> logits, uint32_t count,
                           std::vector<int32_t>& ids) {
  for (uint32_t i = 0; i < count; ++i) {
    ids.push_back(likeliest(logits));
    if (i + 1 == count) break;
    FIRN_ASSIGN_OR_RETURN(logits, session.decode(ids.back()));
  }
  return Status::ok();
}

/// main() of an example: `run` gets the model of the blob argv[1]. The exit code is 0, 1 (failure) or 2 (usage).
inline int exampleMain(int argc, char** argv, Status (*run)(const std::shared_ptr<engine::Model>& model)) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s MODEL.firn      (firn compile makes one from a GGUF)\n", argv[0]);
    return 2;
  }
  const auto model = engine::Model::open(argv[1], {});
  const Status status = model.isOk() ? run(*model) : model.status();
  if (!status.isOk()) std::fprintf(stderr, "%s\n", status.toString().c_str());
  return status.isOk() ? 0 : 1;
}

}  // namespace firn::examples
