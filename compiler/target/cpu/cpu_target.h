// The target `cpu`: work split among lanes by heads and columns, activations quantized, weights in panels.
// docs/decisions/0004-cpu-lanes.md explains the split, docs/arithmetic.md the numbers.
#pragma once

#include "compiler/target/body_lowering.h"

namespace firn::target {

/// KV f16; one rule per op that has a kernel.
///
/// How a value is spread over the lanes follows from the ops: a norm needs and makes a copy per lane; a linear turns a
/// copy per lane into columns per lane (its rows are split), and columns per lane into one partial sum per lane (its
/// columns are split); an add of a partial sum is done by every lane in its own copy, behind a barrier. So a decoder
/// layer has three segments: norm, q, k, v, rope, cache write | attention, o | norm, gate, up, down.
const Target& cpuTarget();

}  // namespace firn::target
