// The sample of sample_program.h cut behind its first layer, for tests and fuzz seeds: the first part of every entry
// with layers is for one target, the second for another.
#pragma once

#include "base/dtype.h"
#include "blob/layout.h"
#include "blob/writer.h"

namespace firn::blob {

/// prefill.16.64, prefill.16.128, generate.128 and batch.2.64, each in two parts, and head.2, which is for `first`. Two
/// lanes, of which only cpu uses the second; an f32 cache, f16 where one is npu, which has no batch. Weights of
/// `first`, then of `second`.
Contents twoTargetContents(Target first, Target second);

}  // namespace firn::blob
