// A blob with entries for two targets, for tests of what a device does with those of another. Nothing is said of
// values.
#pragma once

#include "blob/layout.h"
#include "blob/reader.h"

namespace firn::runtime::cts {

/// blob/two_target_program.h in the arithmetic of the cpu device. Any failure is a test failure.
blob::Blob makeTwoTargetBlob(blob::Target first, blob::Target second);

}  // namespace firn::runtime::cts
