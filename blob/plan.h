// Where a blob runs: which functions its entries are cut into, on which target, and why.
// Not here: the records themselves (dump.h), how the compiler decides (compiler/placement.h).
#pragma once

#include <string>

#include "blob/reader.h"

namespace firn::blob {

/// A paragraph for each set of entries that are cut alike: their names, then a line for each function.
std::string planText(const Blob& blob);

}  // namespace firn::blob
