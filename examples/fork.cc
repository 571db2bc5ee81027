// Two answers to one prompt, which is computed once.
#include "examples/example.h"

namespace {

using namespace firn;
using namespace firn::examples;

Status run(const std::shared_ptr<engine::Model>& model) {
  FIRN_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model));
  const std::vector<int32_t> ids = {1, 2, 3, 4, 5};
  FIRN_ASSIGN_OR_RETURN(const auto prompted, session->prompt(ids));
  const int32_t first = likeliest(prompted.logits);
  FIRN_ASSIGN_OR_RETURN(const auto other, session->fork());
  FIRN_ASSIGN_OR_RETURN(const auto a, session->decode(first));
  const int32_t second = likeliest(a);
  FIRN_ASSIGN_OR_RETURN(const auto b, other->decode(first == 0 ? 1 : 0));
  std::printf("%d %d, or %d %d\n", first, second, first == 0 ? 1 : 0, likeliest(b));
  return Status::ok();
}

}  // namespace

int main(int argc, char** argv) { return exampleMain(argc, argv, run); }
