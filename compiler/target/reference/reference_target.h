// The target `reference`: every graph op is one task of one lane, in fp32, with weights as in the source file.
#pragma once

#include "compiler/target/body_lowering.h"

namespace firn::target {

/// KV f32; one rule per op.
const Target& referenceTarget();

}  // namespace firn::target
