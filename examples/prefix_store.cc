// A system prompt, computed once for all sessions.
#include "engine/prefix_store.h"
#include "examples/example.h"

namespace {

using namespace firn;
using namespace firn::examples;

Status run(const std::shared_ptr<engine::Model>& model) {
  const std::vector<int32_t> system(20, 1);
  engine::PrefixStore prefixes(model, 64ULL << 20);
  {
    FIRN_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model));
    FIRN_RETURN_IF_ERROR(session->prompt(system).status());
    FIRN_RETURN_IF_ERROR(prefixes.save(*session, static_cast<uint32_t>(system.size())));
  }
  for (int32_t user = 0; user < 3; ++user) {
    std::vector<int32_t> ids = system;
    ids.insert(ids.end(), 5, user + 2);
    FIRN_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model));
    FIRN_ASSIGN_OR_RETURN(const auto prompted, session->prompt(ids, {.progress = {}, .prefixes = &prefixes}));
    std::printf("user %d: %u tokens from the store\n", user, prompted.cachedTokens);
    if (prompted.cachedTokens != system.size()) return internalError("the stored prefix was not used");
  }
  return Status::ok();
}

}  // namespace

int main(int argc, char** argv) { return exampleMain(argc, argv, run); }
