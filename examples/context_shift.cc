// Generation behind the end of the cache, and tokens dropped from the middle.
#include "examples/example.h"

namespace {

using namespace firn;
using namespace firn::examples;

Status run(const std::shared_ptr<engine::Model>& model) {
  FIRN_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model, {.contextShift = true, .keepRows = 4}));
  const uint32_t rows = session->model().limits().kvRows;
  FIRN_ASSIGN_OR_RETURN(std::span<const float> logits, session->prefill(std::vector<int32_t>{1, 2, 3, 4, 5}));
  for (uint32_t i = 0; i < 2 * rows; ++i) {
    FIRN_ASSIGN_OR_RETURN(logits, session->decode(likeliest(logits)));
  }
  std::printf("%u tokens ran in %u rows; %u are in the cache, the first %u as a new session would compute them\n",
              2 * rows + 5, rows, session->position(), session->exactTokens());
  FIRN_RETURN_IF_ERROR(session->truncate(10, 20));
  std::printf("%u after 10 were dropped\n", session->position());
  return Status::ok();
}

}  // namespace

int main(int argc, char** argv) { return exampleMain(argc, argv, run); }
