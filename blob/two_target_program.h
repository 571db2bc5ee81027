// The sample of sample_program.h cut behind its first layer, for tests and fuzz seeds: the first part of every entry
// with layers is for one target, the second for the other.
#pragma once

#include "base/dtype.h"
#include "blob/layout.h"
#include "blob/writer.h"

namespace firn::blob {

/// prefill.16.64, prefill.16.128, generate.128 and batch.2.64, each in two parts, and head.2, which is for `first`. Two
/// lanes, of which reference leaves one without tasks; an f32 cache. Weights of `first`, then of the other.
Contents twoTargetContents(Target first);

}  // namespace firn::blob
