// The bytes of a blob that was made in memory. Only for tests and fuzz seeds.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/status.h"
#include "blob/writer.h"

namespace firn::blob {

/// The whole file, written through Writer to a temporary file and read back.
Result<std::vector<std::byte>> blobFile(const Contents& contents, std::span<const std::byte> weights);

}  // namespace firn::blob
