// The table behind verify/npu_task_verify.h: one row per task op of the npu. Adding an op is a row here and a number in
// task_op.h. Not here: what ops compute (docs/arithmetic.md, docs/npu.md).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/dtype.h"
#include "blob/machine/machine.h"
#include "blob/task_op.h"
#include "blob/task_op_rules.h"

namespace firn::blob {

/// Where an operand of the npu may lie; bits.
enum class NpuPlace : uint8_t {
  kOwnTile = 1,  ///< CMX of the task's tile
  kAnyTile = 2,  ///< CMX of any tile
  kScratch = 4,
  kWeights = 8,
  kKv = 16,
  kSymbol = 32,  ///< one that is no cache; of those that are written, an output
};

constexpr uint8_t operator|(NpuPlace a, NpuPlace b) {
  return static_cast<uint8_t>(static_cast<uint8_t>(a) | static_cast<uint8_t>(b));
}
constexpr uint8_t operator|(uint8_t a, NpuPlace b) { return static_cast<uint8_t>(a | static_cast<uint8_t>(b)); }
constexpr bool allows(uint8_t places, NpuPlace place) { return (places & static_cast<uint8_t>(place)) != 0; }

/// Dims of any number and size.
inline constexpr std::string_view kAnyDims = "*";

struct NpuOperandRule {
  std::string_view name;
  /// A letter for each dim: dims of one letter are equal within a task. 1, T, t and V are those that npu_task_verify.cc
  /// says; or kAnyDims.
  std::string_view dims;
  std::array<DType, 2> types{};  ///< one of them; equal: that one
  Access access = Access::kRead;
  uint8_t places = static_cast<uint8_t>(NpuPlace::kOwnTile);
  bool isOptional = false;  ///< all of these are there, or none
  bool isAnyType = false;
  bool mayBeTransposed = false;  ///< of two dims, the first of which may be the one without gaps
};

inline constexpr size_t kMaxNpuOperands = 8;

struct NpuTaskRule {
  TaskOp op{};
  machine::Engine engine{};
  bool mayAlias = false;  ///< what is written may be the very view that is read
  std::array<NpuOperandRule, kMaxNpuOperands> operands{};
  std::array<NamedAttr, 6> attrs{};

  constexpr uint32_t operandCount(bool withOptional) const {
    uint32_t count = 0;
    for (const NpuOperandRule& rule : operands) count += !rule.name.empty() && (withOptional || !rule.isOptional);
    return count;
  }
  constexpr uint32_t attrCount() const {
    uint32_t count = 0;
    while (count < attrs.size() && !attrs[count].name.empty()) ++count;
    return count;
  }
  /// The rule of operand `index` of a task with `count` operands.
  constexpr const NpuOperandRule& operand(uint32_t index, uint32_t count) const {
    const bool withOptional = count == operandCount(true);
    uint32_t at = 0;
    for (const NpuOperandRule& rule : operands) {
      if (!withOptional && rule.isOptional) continue;
      if (at++ == index) return rule;
    }
    return operands[0];
  }
};

/// The row of `op`, or nullptr when it is no op of the npu.
const NpuTaskRule* npuTaskRule(TaskOp op);

/// How a task with these attributes treats operand `index` of `count`: what accumulates reads what it writes, but where
/// it begins it only writes.
Access npuAccess(TaskOp op, uint32_t index, uint32_t count, std::span<const uint64_t> attrs);

}  // namespace firn::blob
