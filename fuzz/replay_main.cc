// Runs a fuzz target over files without libFuzzer: every seed as it is, then a fixed number of mutations of it, the
// same in every run. For ctest; a search for new inputs is libFuzzer's.
//   <name>_replay FOLDER_OR_FILE...
// A seed that its target refuses leads nowhere and fails the run, as one does after a change of a format; those named
// refused_* are meant to be.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <vector>

#include "fuzz/accepted.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

constexpr int kMutationsPerSeed = 300;

std::vector<std::filesystem::path> filesOf(int count, char** arguments) {
  std::vector<std::filesystem::path> files;
  for (int i = 1; i < count; ++i) {
    if (!std::filesystem::is_directory(arguments[i])) {
      files.emplace_back(arguments[i]);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(arguments[i])) {
      if (entry.is_regular_file()) files.push_back(entry.path());
    }
  }
  std::ranges::sort(files);
  return files;
}

std::vector<uint8_t> contentOf(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// One to four changes: a byte, a word of a telling value, a cut, or a repeat.
void mutate(std::vector<uint8_t>& bytes, std::mt19937& random) {
  constexpr uint32_t kTelling[] = {0, 1, 0x7F, 0xFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
  const uint32_t changes = 1 + random() % 4;
  for (uint32_t i = 0; i < changes && !bytes.empty(); ++i) {
    const size_t at = random() % bytes.size();
    switch (random() % 8) {
      case 0: bytes.resize(at); break;
      case 1: {
        const std::vector<uint8_t> head(bytes.begin(),
                                        bytes.begin() + static_cast<ptrdiff_t>(std::min<size_t>(at, 64)));
        bytes.insert(bytes.end(), head.begin(), head.end());
        break;
      }
      case 2:
      case 3: {
        const uint32_t word = kTelling[random() % std::size(kTelling)];
        for (size_t b = 0; b < 4 && at + b < bytes.size(); ++b) bytes[at + b] = static_cast<uint8_t>(word >> (8 * b));
        break;
      }
      case 4: bytes[at] = static_cast<uint8_t>(random()); break;
      default: bytes[at] ^= static_cast<uint8_t>(1U << random() % 8); break;
    }
  }
}

}  // namespace

int main(int count, char** arguments) {
  const auto files = filesOf(count, arguments);
  if (files.empty()) {
    std::fprintf(stderr, "no seeds given\n");
    return 1;
  }
  std::mt19937 random(1);
  int dead = 0;
  for (const auto& file : files) {
    const std::vector<uint8_t> seed = contentOf(file);
    firn::fuzz::acceptedInputs = 0;
    LLVMFuzzerTestOneInput(seed.data(), seed.size());
    if (firn::fuzz::acceptedInputs == 0 && !file.filename().string().starts_with("refused_")) {
      std::fprintf(stderr, "%s: the target refuses this seed: make it again, or name it refused_*\n", file.c_str());
      ++dead;
    }
    for (int i = 0; i < kMutationsPerSeed; ++i) {
      std::vector<uint8_t> bytes = seed;
      mutate(bytes, random);
      LLVMFuzzerTestOneInput(bytes.data(), bytes.size());
    }
  }
  std::printf("%zu seeds, %d mutations each\n", files.size(), kMutationsPerSeed);
  return dead == 0 ? 0 : 1;
}
