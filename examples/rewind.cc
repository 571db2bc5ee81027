// Taking back the end of a conversation, and another end.
#include "examples/example.h"

namespace {

using namespace firn;
using namespace firn::examples;

Status run(const std::shared_ptr<engine::Model>& model) {
  FIRN_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model));
  FIRN_RETURN_IF_ERROR(session->prompt(std::vector<int32_t>{1, 2, 3, 4, 5}).status());
  FIRN_RETURN_IF_ERROR(session->rewind(3));  // 1, 2, 3 stay; no row moves
  FIRN_ASSIGN_OR_RETURN(const auto logits, session->prefill(std::vector<int32_t>{6, 7}));
  std::printf("%u tokens, the next is likely %d\n", session->position(), likeliest(logits));
  return Status::ok();
}

}  // namespace

int main(int argc, char** argv) { return exampleMain(argc, argv, run); }
