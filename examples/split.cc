// A model whose layers run on devices of their own: which part runs where and why, then an answer over the cuts.
#include "blob/plan.h"
#include "examples/example.h"

namespace {

using namespace firn;
using namespace firn::examples;

Status run(const std::shared_ptr<engine::Model>& model) {
  std::printf("%s\n", blob::planText(model->blob()).c_str());
  // All devices see one cache and one set of hidden rows: a cut costs one write and one read of those.
  std::printf("%zu devices, %.1f MB for the cache and the scratch of each\n", model->devices().count(),
              static_cast<double>(model->memoryBytes()) * 1e-6);
  FIRN_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model));
  std::vector<int32_t> ids = {1, 2, 3};
  FIRN_ASSIGN_OR_RETURN(const engine::Session::Prompted prompted, session->prompt(ids));
  FIRN_RETURN_IF_ERROR(continueWith(*session, prompted.logits, 5, ids));
  for (const int32_t id : ids) std::printf("%d ", id);
  std::printf("\n");
  return Status::ok();
}

}  // namespace

int main(int argc, char** argv) { return exampleMain(argc, argv, run); }
