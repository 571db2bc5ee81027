// What a model card may say, for those who write one and those who read it. Not here: its size and depth (verifier.cc).
#pragma once

namespace firn::blob {

/// Of the frequencies under the key "rope", in magnitude. An angle of a larger one says nothing in fp32, and is
/// infinite in the end.
inline constexpr float kMostRopeFrequency = 1e6F;

}  // namespace firn::blob
