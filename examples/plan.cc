// The plan of a prompt before it runs, and where the time went after.
#include "examples/example.h"

namespace {

using namespace firn;
using namespace firn::examples;

Status run(const std::shared_ptr<engine::Model>& model) {
  FIRN_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model));
  const std::vector<int32_t> ids(40, 1);
  FIRN_ASSIGN_OR_RETURN(const engine::PrefillPlan plan, session->plan(static_cast<uint32_t>(ids.size())));
  std::printf("%zu steps, predicted %.3f ms\n", plan.steps.size(), static_cast<double>(plan.picoseconds) * 1e-9);
  FIRN_RETURN_IF_ERROR(session->prompt(ids).status());
  for (const engine::ChunkTime& chunk : session->times().chunks) {
    std::printf("rows %u to %u: %.3f ms\n", chunk.row0, chunk.row0 + chunk.valid - 1,
                static_cast<double>(chunk.nanoseconds) * 1e-6);
  }
  return Status::ok();
}

}  // namespace

int main(int argc, char** argv) { return exampleMain(argc, argv, run); }
