// A chat: each turn gives the whole history, and only its new tokens are computed.
#include "examples/example.h"

namespace {

using namespace firn;
using namespace firn::examples;

Status run(const std::shared_ptr<engine::Model>& model) {
  FIRN_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model));
  std::vector<int32_t> history;
  for (int32_t turn = 0; turn < 3; ++turn) {
    history.insert(history.end(), 10, turn + 1);  // the message of the user
    FIRN_ASSIGN_OR_RETURN(const auto prompted, session->prompt(history));
    std::printf("turn %d: %zu tokens, %u of them were in the cache\n", turn, history.size(), prompted.cachedTokens);
    // All but the last new token, and what came before, must have been there.
    if (prompted.cachedTokens + 11 < history.size()) return internalError("a cached row was not used");
    FIRN_RETURN_IF_ERROR(continueWith(*session, prompted.logits, 5, history));
  }
  return Status::ok();
}

}  // namespace

int main(int argc, char** argv) { return exampleMain(argc, argv, run); }
