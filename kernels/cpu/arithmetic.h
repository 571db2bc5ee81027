// The constants of the bit-exact arithmetic of the cpu target, stated in docs/arithmetic.md.
// Not here: the kernels themselves (kernels.h).
#pragma once

#include <cstdint>

namespace firn::cpu {

/// Version of docs/arithmetic.md. Any change that can change one bit of one result raises it.
inline constexpr uint32_t kArithmeticId = 1;

/// Weights and activations share one scale per row and group of this many columns.
inline constexpr uint32_t kGroup = 32;
/// Output rows of one weight panel, and the number of virtual lanes of every fp32 sum.
inline constexpr uint32_t kLanes = 16;
/// KV rows of one softmax partial; blocks are aligned to absolute cache rows.
inline constexpr uint32_t kAttentionBlock = 64;

/// Largest code of an activation with one plane, and of a combined code (256 * hi + lo) with two.
inline constexpr int32_t kMaxCode1 = 127;
inline constexpr int32_t kMaxCode2 = 127 * 256;
/// A group whose largest magnitude is below this is quantized to zeros, so scales are never subnormal.
inline constexpr float kMinGroupMagnitude = 0x1p-100F;

/// The own exp gives exactly 0 below kExpLow and exactly +Inf above kExpHigh.
inline constexpr float kExpLow = -104.0F;
inline constexpr float kExpHigh = 88.7228317F;

/// The tanh form of gelu is g / (1 + exp(-g (kGeluLinear + kGeluCubic g^2))): 2 sqrt(2/pi), and that times 0.044715.
inline constexpr float kGeluLinear = 1.59576912F;
inline constexpr float kGeluCubic = 0.0713548163F;

}  // namespace firn::cpu
