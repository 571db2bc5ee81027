// How the replay knows a dead seed: a target counts here the inputs that got past every refusal of its parser. Included
// by one target and replay_main.cc; libFuzzer does not look at it.
#pragma once

#include <cstdint>

namespace firn::fuzz {

inline uint64_t acceptedInputs = 0;

}  // namespace firn::fuzz
