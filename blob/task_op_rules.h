// The table behind verify/task_op_verify.h: one row per task op. Adding an op is a row here and a number in task_op.h.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "blob/layout.h"
#include "blob/task_op.h"

namespace firn::blob {

/// A dim by its role. Dims of one role are equal within a task; some are tied to the model as well.
enum class Dim : uint8_t {
  kNone = 0,
  kRows,      ///< m: the same in all tasks of a body, and the rows of the entries that call it
  kColumns,   ///< n or K
  kOut,       ///< N of a linear, columns of a slice
  kPadded,    ///< Kp: kColumns rounded up to 32
  kGroups,    ///< kPadded / 32
  kPlanes,    ///< 1 or 2
  kHeads,     ///< heads of this view
  kKvHeads,   ///< KV heads of this view
  kHeadDim,   ///< the model's head_dim
  kKvRows,    ///< T of the model
  kVocab,     ///< at least the model's vocab, since ids below it index these rows
  kTable,     ///< at least T, since positions below it index these rows
  kPairs,     ///< half of the rotated dims
  kTwo,       ///< 2: cos and sin
  kPartials,  ///< partial sums added up, at least 1
  kOther,     ///< second operand of concat
  kTotal,     ///< kColumns + kOther
  kTop,       ///< the program's K, the length of lists of the best
  kFree,      ///< any
};
inline constexpr uint32_t kDimRoles = static_cast<uint32_t>(Dim::kFree) + 1;

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

/// What an operand is made of and where it may lie.
enum class Kind : uint8_t {
  kActivation,   ///< f32, scratch or a hidden/logits symbol
  kTopLogits,    ///< f32, scratch or the top_logits symbol
  kTopIds,       ///< i32, scratch or the top_ids symbol
  kScratchF32,   ///< f32, scratch
  kScratchI32,   ///< i32, scratch
  kScratchI8,    ///< i8, scratch
  kIds,          ///< the ids symbol from its start
  kPositions,    ///< the positions symbol from its start
  kMask,         ///< the mask symbol from its start
  kCache,        ///< rows of the KV cache, type kvType, headDim apart, heads T rows apart
  kCacheScales,  ///< f32 scales in the KV cache, whose type is i8; heads T apart
  kPanelsAny,    ///< weights in panels of any type
  kPanelsI8,     ///< weights in panels of any quantized type
  kPanelsFloat,  ///< weights in panels of f32, f16 or bf16
  kWeightAny,    ///< strided weights of any weight type
  kWeightFloat,  ///< strided weights of f32, f16 or bf16
  kWeightF32,    ///< strided weights of f32
};

/// When an operand is there. Absent ones are left out.
enum class Presence : uint8_t {
  kAlways,
  kOptional,   ///< all of these of a task are, or none; the number of operands tells
  kIfI8,       ///< where the KV type is i8
  kMaybeIfI8,  ///< as kOptional where the KV type is i8, else never
  kUnlessF32,  ///< where the KV type is not f32
};

struct OperandRule {
  std::string_view name;
  Kind kind = Kind::kActivation;
  Access access = Access::kRead;
  std::array<Dim, 4> dims{};
  Presence presence = Presence::kAlways;

  /// True where the KV type does not rule it out.
  constexpr bool isThere(DType kvType) const {
    if (presence == Presence::kIfI8 || presence == Presence::kMaybeIfI8) return kvType == DType::kI8;
    return presence != Presence::kUnlessF32 || kvType != DType::kF32;
  }
  constexpr bool isOptional() const { return presence == Presence::kOptional || presence == Presence::kMaybeIfI8; }
  constexpr uint8_t rank() const {
    uint8_t count = 0;
    while (count < dims.size() && dims[count] != Dim::kNone) ++count;
    return count;
  }
};

/// How an attribute is checked.
enum class AttrRule : uint8_t {
  kNone = 0,
  kFinite,       ///< a double, finite in the f32 that kernels compute with
  kPositive,     ///< the same, and above 0
  kFlag,         ///< 0 or 1
  kRotated,      ///< rotated dims: even, 2..kHeadDim, twice kPairs
  kFirstColumn,  ///< plus kOut at most kColumns
  kFirstHead,    ///< below 2^31
  kFirstId,      ///< plus kColumns at most the vocabulary
  kGroup,        ///< 1..2^31
  kWindow,       ///< 0..2^31, 0 for none
  // Of the npu alone:
  kCodeBits,       ///< 4 or 8
  kCodeZero,       ///< a code of so many bits
  kWeightType,     ///< number of a type that weights have
  kTiles,          ///< 0 or bits of tiles, that of the operand among them
  kFirstCacheRow,  ///< plus the rows of a block at most T
};

/// True of attributes that are doubles; the others are integers.
constexpr bool isReal(AttrRule rule) { return rule == AttrRule::kFinite || rule == AttrRule::kPositive; }

struct NamedAttr {
  std::string_view name;
  AttrRule rule = AttrRule::kNone;
  bool isOptional = false;  ///< there when the optional operands are
};

/// Of any op.
inline constexpr size_t kMaxOperands = 10;

struct TaskOpRule {
  TaskOp op{};
  bool mayAlias = false;  ///< a written operand may be the very view that is read
  std::array<OperandRule, kMaxOperands> operands{};
  std::array<NamedAttr, 6> attrs{};

  constexpr uint32_t operandCount() const {
    uint32_t count = 0;
    while (count < operands.size() && !operands[count].name.empty()) ++count;
    return count;
  }
  /// Those that are there with this KV type, with or without the optional ones.
  constexpr uint32_t operandCount(DType kvType, bool withOptional) const {
    uint32_t count = 0;
    for (uint32_t i = 0; i < operandCount(); ++i) {
      count += operands[i].isThere(kvType) && (withOptional || !operands[i].isOptional()) ? 1 : 0;
    }
    return count;
  }
  constexpr uint32_t attrCount(bool withOptional) const {
    uint32_t count = 0;
    for (const NamedAttr& attr : attrs) {
      count += attr.rule != AttrRule::kNone && (withOptional || !attr.isOptional) ? 1 : 0;
    }
    return count;
  }
};

/// The row of `op`, or nullptr when the number is no op.
const TaskOpRule* taskOpRule(TaskOp op);

}  // namespace firn::blob
