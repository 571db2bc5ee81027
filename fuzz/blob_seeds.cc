// Writes seeds for blob_fuzz and device_fuzz: FOLDER/program/ and FOLDER/npu/ have the program sections of sample
// blobs, which both take, FOLDER/file/ the small ones and those of two targets as whole blobs without weights, which
// only blob_fuzz does.
//   blob_seeds FOLDER
#include <cstdio>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/atomic_file.h"
#include "base/concat.h"
#include "blob/names.h"
#include "blob/reader.h"
#include "blob/sample_file.h"
#include "blob/sample_program.h"
#include "blob/two_target_program.h"

namespace firn::blob {
namespace {

/// The input of blob_fuzz: a byte that says what follows (blob_fuzz.cc), then the bytes.
Status writeSeed(const std::string& path, uint8_t mode, std::span<const std::byte> bytes) {
  std::vector<std::byte> seed{static_cast<std::byte>(mode)};
  seed.insert(seed.end(), bytes.begin(), bytes.end());
  return writeFileAtomically(path, seed);
}

/// Of the program section of a blob for `target`, as blob_fuzz.cc reads it.
uint8_t modeOf(Target target) {
  switch (target) {
    case Target::kReference: return 1;
    case Target::kCpu: return 2;
    case Target::kNpu: break;
  }
  return 3;
}

/// The program section of the blob, and where it is small the blob without its weights.
Status writeSeedsOf(const std::string& folder, const std::string& name, const Contents& contents) {
  FIRN_ASSIGN_OR_RETURN(const std::vector<std::byte> file, blobFile(contents, sampleWeights(contents)));
  FIRN_ASSIGN_OR_RETURN(const Blob blob, Blob::fromMemory(file));
  const SectionPlace& program = blob.frame().place(SectionId::kProgram);
  FIRN_RETURN_IF_ERROR(writeSeed(concat(folder, blob.machine().empty() ? "/program/" : "/npu/", name),
                                 modeOf(blob.ident().target), std::span(file).subspan(program.offset, program.bytes)));
  if (blob.entries().size() > 1 && blob.targets().size() == 1) return Status::ok();
  return writeSeed(concat(folder, "/file/", name), 0, std::span(file).first(blob.frame().outsideBytes()));
}

/// Whether there is such a sample, of its own.
bool isSample(Target target, SampleSize size, DType kvType) {
  if (target == Target::kNpu) return kvType == DType::kF16;
  return size == SampleSize::kFull || kvType == DType::kF32;  // a head has no cache: one type of it is enough
}

Status writeSeeds(const std::string& folder) {
  for (const char* kind : {"/program", "/npu", "/file"}) std::filesystem::create_directories(folder + kind);
  for (const Target target : {Target::kReference, Target::kCpu, Target::kNpu}) {
    for (const SampleSize size : {SampleSize::kHeadOnly, SampleSize::kFull}) {
      for (const DType kvType : {DType::kF32, DType::kF16, DType::kI8}) {
        if (!isSample(target, size, kvType)) continue;
        const std::string name =
            concat(targetName(target), "_", size == SampleSize::kFull ? "full" : "head", "_", dtypeInfo(kvType)->name);
        FIRN_RETURN_IF_ERROR(writeSeedsOf(folder, name, sampleContents(target, size, kvType)));
      }
    }
  }
  FIRN_RETURN_IF_ERROR(writeSeedsOf(folder, "two_targets", twoTargetContents(Target::kCpu, Target::kReference)));
  return writeSeedsOf(folder, "two_targets_npu", twoTargetContents(Target::kCpu, Target::kNpu));
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
