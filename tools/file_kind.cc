#include "tools/file_kind.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/mapped_file.h"
#include "base/quote.h"
#include "engine/snapshot.h"

namespace firn::tools {

Result<FileKind> fileKind(const std::string& path) {
  constexpr std::array<unsigned char, 4> kElf = {0x7F, 'E', 'L', 'F'};
  FIRN_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  if (file.size() == 0) return FileKind::kEmpty;
  std::array<std::byte, sizeof(engine::kSnapshotMagic)> start{};
  FIRN_RETURN_IF_ERROR(file.readAt(0, std::span(start).first(std::min<uint64_t>(start.size(), file.size()))));
  if (std::memcmp(start.data(), kElf.data(), kElf.size()) == 0) return FileKind::kBlob;
  const bool isSession = std::memcmp(start.data(), &engine::kSnapshotMagic, start.size()) == 0;
  return isSession ? FileKind::kSession : FileKind::kOther;
}

Result<bool> isBlob(const std::string& path) {
  FIRN_ASSIGN_OR_RETURN(const FileKind kind, fileKind(path));
  const std::string name = printablePath(path);
  if (kind == FileKind::kEmpty) {
    return corrupt(name + " is empty, expected a model: fetch it or compile it again");
  }
  if (kind == FileKind::kSession) {
    return unsupported(name + " is a session, expected a model: firn run MODEL PROMPT --prompt-cache " + name +
                       " goes on with it, with the model that it was saved with");
  }
  return kind == FileKind::kBlob;
}

Status checkIsNoBlob(const std::string& path) {
  FIRN_ASSIGN_OR_RETURN(const bool blob, isBlob(path));
  if (!blob) return Status::ok();
  const std::string name = printablePath(path);
  return unsupported(name + " is a blob, compiled already: firn run " + name +
                     " PROMPT runs it. For other options compile the GGUF model that it was made of");
}

}  // namespace firn::tools
