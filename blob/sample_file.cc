#include "blob/sample_file.h"

#include <stdlib.h>
#include <unistd.h>

#include <string>

#include "base/concat.h"
#include "base/mapped_file.h"

namespace firn::blob {

Result<std::vector<std::byte>> blobFile(const Contents& contents, std::span<const std::byte> weights) {
  const char* folder = getenv("TMPDIR");
  const std::string path = concat(folder != nullptr ? folder : "/tmp", "/firn_sample_", getpid(), ".firn");
  FIRN_ASSIGN_OR_RETURN(Writer writer, Writer::create(path, contents));
  FIRN_RETURN_IF_ERROR(writer.appendWeights(weights));
  FIRN_RETURN_IF_ERROR(writer.finish());
  const Result<MappedFile> file = MappedFile::open(path);
  unlink(path.c_str());
  if (!file.isOk()) return file.status();
  return std::vector<std::byte>(file->bytes().begin(), file->bytes().end());
}

}  // namespace firn::blob
