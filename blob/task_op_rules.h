// The table behind task_op_verify.h: one row per task op. Adding an op is a row here and a number in task_op.h.
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
  kOut,       ///< N of a linear, columns of a slice, rows of select_rows
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
  kFree,      ///< any
};
inline constexpr uint32_t kDimRoles = static_cast<uint32_t>(Dim::kFree) + 1;

enum class Access : uint8_t { kRead, kWrite, kReadWrite };

/// What an operand is made of and where it may lie.
enum class Kind : uint8_t {
  kActivation,   ///< f32, scratch or a hidden/logits symbol
  kScratchF32,   ///< f32, scratch
  kScratchI32,   ///< i32, scratch
  kScratchI8,    ///< i8, scratch
  kIds,          ///< the ids symbol from its start
  kPositions,    ///< the positions symbol from its start
  kMask,         ///< the mask symbol from its start
  kCache,        ///< a view of the KV cache, type kvType, rows headDim apart, heads T rows apart
  kPanelsAny,    ///< weights in panels of any type
  kPanelsI8,     ///< weights in panels of any quantized type
  kPanelsFloat,  ///< weights in panels of f32, f16 or bf16
  kWeightAny,    ///< strided weights of any weight type
  kWeightFloat,  ///< strided weights of f32, f16 or bf16
  kWeightF32,    ///< strided weights of f32
};

struct OperandRule {
  std::string_view name;
  Kind kind = Kind::kActivation;
  Access access = Access::kRead;
  std::array<Dim, 4> dims{};
  bool isOptional = false;

  constexpr uint8_t rank() const {
    uint8_t count = 0;
    while (count < dims.size() && dims[count] != Dim::kNone) ++count;
    return count;
  }
};

/// How an attribute is checked.
enum class AttrRule : uint8_t {
  kNone = 0,
  kFinite,       ///< a finite double
  kNotNegative,  ///< a finite double, 0 or more
  kPositive,     ///< a finite double above 0
  kFlag,         ///< 0 or 1
  kRotated,      ///< rotated dims: even, 2..kHeadDim, twice kPairs
  kFirstColumn,  ///< plus kOut at most kColumns
  kFirstHead,    ///< below 2^31
  kGroup,        ///< 1..2^31
  kWindow,       ///< 0..2^31, 0 for none
};

struct NamedAttr {
  std::string_view name;
  AttrRule rule = AttrRule::kNone;
};

struct TaskOpRule {
  TaskOp op{};
  bool mayAlias = false;  ///< a written operand may be the very view that is read
  std::array<OperandRule, 6> operands{};
  std::array<NamedAttr, 4> attrs{};

  constexpr uint32_t operandCount() const {
    uint32_t count = 0;
    while (count < operands.size() && !operands[count].name.empty()) ++count;
    return count;
  }
  constexpr uint32_t attrCount() const {
    uint32_t count = 0;
    while (count < attrs.size() && attrs[count].rule != AttrRule::kNone) ++count;
    return count;
  }
};

/// The row of `op`, or nullptr when the number is no op.
const TaskOpRule* taskOpRule(TaskOp op);

}  // namespace firn::blob
