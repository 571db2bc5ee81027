// What the file is that a user names, by its first bytes: models are told apart, and what is none is named with what to
// do with it.
#pragma once

#include <string>

#include "base/status.h"

namespace firn::tools {

enum class FileKind {
  kEmpty,
  kBlob,     ///< begins like an ELF file
  kSession,  ///< begins like what engine/snapshot.h writes
  kOther,    ///< a GGUF model, if it is good for anything here
};

/// not_found or io when the file cannot be read, invalid_argument when it is none.
Result<FileKind> fileKind(const std::string& path);

/// True of a blob, false of what may be a GGUF model. corrupt for an empty file, unsupported for a session; the errors
/// of fileKind.
Result<bool> isBlob(const std::string& path);

/// Whether a GGUF model may be in the file: unsupported for a blob too.
Status checkIsNoBlob(const std::string& path);

}  // namespace firn::tools
