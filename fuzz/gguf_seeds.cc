// Writes seeds for gguf_fuzz: the smallest file of each architecture, with all that its import looks for.
//   gguf_seeds FOLDER
#include <cstdio>
#include <filesystem>
#include <string>
#include <utility>

#include "base/atomic_file.h"
#include "compiler/import/gguf_writer_for_test.h"

int main(int count, char** arguments) {
  using namespace firn::import;
  if (count != 2) {
    std::fprintf(stderr, "usage: gguf_seeds FOLDER\n");
    return 2;
  }
  const std::string folder = arguments[1];
  std::filesystem::create_directories(folder);
  const std::pair<const char*, GgufWriter> seeds[] = {
      {"llama", tinyLlama()}, {"qwen2", tinyQwen2()}, {"gemma3", tinyGemma3(2)}};
  for (const auto& [name, file] : seeds) {
    const firn::Status status = firn::writeFileAtomically(folder + "/" + name + ".gguf", file.bytes());
    if (status.isOk()) continue;
    std::fprintf(stderr, "%s\n", status.toString().c_str());
    return 1;
  }
  return 0;
}
