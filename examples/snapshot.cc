// A conversation saved to a file and taken up again.
#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

#include "examples/example.h"

namespace {

using namespace firn;
using namespace firn::examples;

Status run(const std::shared_ptr<engine::Model>& model) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("firn_example_" + std::to_string(getpid()))).string();
  const std::vector<int32_t> ids = {1, 2, 3, 4, 5, 6, 7, 8};
  {
    FIRN_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model));
    FIRN_RETURN_IF_ERROR(session->prompt(ids).status());
    FIRN_RETURN_IF_ERROR(session->save(path));
  }
  FIRN_ASSIGN_OR_RETURN(const auto session, engine::Session::create(model));
  const Status loaded = session->load(path);
  std::filesystem::remove(path);
  FIRN_RETURN_IF_ERROR(loaded);
  FIRN_ASSIGN_OR_RETURN(const auto prompted, session->prompt(ids));
  std::printf("%u tokens from the file, 1 computed\n", prompted.cachedTokens);
  if (prompted.cachedTokens != ids.size() - 1) return internalError("a loaded row was not used");
  return Status::ok();
}

}  // namespace

int main(int argc, char** argv) { return exampleMain(argc, argv, run); }
