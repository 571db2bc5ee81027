// Writes seeds for blob_fuzz: sample blobs without their weights, and their program sections alone.
//   blob_seeds FOLDER
#include <cstdio>
#include <filesystem>
#include <vector>

#include "base/atomic_file.h"
#include "blob/reader.h"
#include "blob/sample_program.h"

namespace firn::blob {
namespace {

/// The input of blob_fuzz: a byte that says what follows (blob_fuzz.cc), then the bytes.
Status writeSeed(const std::string& path, uint8_t mode, std::span<const std::byte> bytes) {
  std::vector<std::byte> seed{static_cast<std::byte>(mode)};
  seed.insert(seed.end(), bytes.begin(), bytes.end());
  return writeFileAtomically(path, seed);
}

Status writeSeeds(const std::string& folder) {
  std::filesystem::create_directories(folder);
  for (const Target target : {Target::kReference, Target::kCpu}) {
    for (const DType kvType : {DType::kF16, DType::kI8}) {
      FIRN_ASSIGN_OR_RETURN(const std::vector<std::byte> file, sampleBlob(target, SampleSize::kFull, kvType));
      FIRN_ASSIGN_OR_RETURN(const Blob blob, Blob::fromMemory(file));
      const SectionPlace& program = blob.frame().place(SectionId::kProgram);
      const bool isCpu = target == Target::kCpu;
      const std::string name = folder + (isCpu ? "/cpu_kv_" : "/reference_kv_") + std::string(dtypeInfo(kvType)->name);
      FIRN_RETURN_IF_ERROR(writeSeed(name, isCpu ? 2 : 1, std::span(file).subspan(program.offset, program.bytes)));
    }
    for (const SampleSize size : {SampleSize::kHeadOnly, SampleSize::kFull}) {
      FIRN_ASSIGN_OR_RETURN(const std::vector<std::byte> file, sampleBlob(target, size));
      FIRN_ASSIGN_OR_RETURN(const Blob blob, Blob::fromMemory(file));
      const std::string name =
          folder + (target == Target::kCpu ? "/cpu" : "/reference") + (size == SampleSize::kFull ? "_full" : "_head");
      const SectionPlace& program = blob.frame().place(SectionId::kProgram);
      const auto mode = static_cast<uint8_t>(target == Target::kCpu ? 2 : 1);
      FIRN_RETURN_IF_ERROR(writeSeed(name + "_program", mode, std::span(file).subspan(program.offset, program.bytes)));
      if (size == SampleSize::kFull) continue;
      FIRN_RETURN_IF_ERROR(writeSeed(name, 0, std::span(file).first(blob.frame().outsideBytes())));
    }
  }
  return Status::ok();
}

}  // namespace
}  // namespace firn::blob

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: blob_seeds FOLDER\n");
    return 2;
  }
  const firn::Status status = firn::blob::writeSeeds(arguments[1]);
  if (!status.isOk()) std::fprintf(stderr, "%s\n", status.toString().c_str());
  return status.isOk() ? 0 : 1;
}
