#include "blob/verify/task_op_verify.h"

#include <array>
#include <optional>
#include <string>

#include "base/concat.h"
#include "blob/extent.h"
#include "blob/names.h"
#include "blob/task_op_rules.h"
#include "blob/verify/cache_views.h"
#include "blob/verify/operand_kinds.h"
#include "blob/verify/operand_overlap.h"
#include "blob/verify/real_attr.h"

namespace firn::blob {

namespace {

constexpr uint64_t kMaxHeadIndex = 1ULL << 31;
constexpr uint64_t kMaxWindow = 1ULL << 31;

std::string_view roleName(Dim role) {
  constexpr std::array<std::string_view, kDimRoles> kNames = {
      "",         "rows",          "columns",     "out",        "padded columns",
      "groups",   "planes",        "heads",       "KV heads",   "head dim",
      "KV rows",  "vocabulary",    "table rows",  "pairs",      "two",
      "partials", "other columns", "all columns", "top tokens", ""};
  return kNames[static_cast<size_t>(role)];
}

/// Checks one task: binds the dim roles in order of the operands, then what ties them together.
class TaskCheck {
 public:
  TaskCheck(const TaskContext& context, const TaskOpRule& rule, std::span<const OperandRecord> operands,
            std::span<const uint64_t> attrs)
      : context_(context), rule_(rule), operands_(operands), attrs_(attrs) {}

  Status run(BodyNeeds& needs) {
    FIRN_RETURN_IF_ERROR(matchOperands());
    for (size_t i = 0; i < operands_.size(); ++i) FIRN_RETURN_IF_ERROR(checkOperand(*rules_[i], operands_[i]));
    FIRN_RETURN_IF_ERROR(checkGroupStrides());
    FIRN_RETURN_IF_ERROR(checkDerivedDims());
    FIRN_RETURN_IF_ERROR(checkAttrs());
    FIRN_RETURN_IF_ERROR(checkHeads());
    FIRN_RETURN_IF_ERROR(checkCache());
    FIRN_RETURN_IF_ERROR(checkAliases());
    return report(needs);
  }

 private:
  uint32_t& dim(Dim role) { return bound_[static_cast<size_t>(role)]; }

  /// Pairs each operand with its rule; missing ones can only be the optional ones.
  Status matchOperands() {
    const DType kvType = context_.header.kvType;
    const uint32_t full = rule_.operandCount(kvType, true);
    const uint32_t least = rule_.operandCount(kvType, false);
    if (operands_.size() != full && operands_.size() != least) {
      return corrupt(
          concat(operands_.size(), " operands, expected ", full, full != least ? concat(" or ", least) : ""));
    }
    const bool hasOptional = full != least && operands_.size() == full;
    if (attrs_.size() != rule_.attrCount(hasOptional)) {
      return corrupt(concat(attrs_.size(), " attributes, expected ", rule_.attrCount(hasOptional)));
    }
    size_t count = 0;
    for (uint32_t i = 0; i < rule_.operandCount(); ++i) {
      const OperandRule& operand = rule_.operands[i];
      if (operand.isThere(kvType) && (hasOptional || !operand.isOptional())) rules_[count++] = &operand;
    }
    return Status::ok();
  }

  Status checkOperand(const OperandRule& rule, const OperandRecord& operand) {
    const auto wrong = [&](auto... pieces) { return corrupt(concat("operand ", rule.name, ": ", pieces...)); };
    if (!dtypeFits(rule.kind, operand.dtype, context_.header)) {
      const DTypeInfo* info = dtypeInfo(operand.dtype);
      return wrong("type ", info != nullptr ? info->name : "(unknown)", " does not fit the op, expected ",
                   typeText(rule.kind, context_.header));
    }
    if (!placeFits(rule.kind, operand)) {
      const std::string_view space = spaceName(operand.space);
      return wrong("lies in ", space.empty() ? "no known space" : space, " at ", operand.offset, ", expected ",
                   placeText(rule.kind));
    }
    const Layout layout = isPanels(rule.kind) ? Layout::kPanels : Layout::kStrided;
    if (operand.layout != layout) {
      return wrong("layout is ", static_cast<uint32_t>(operand.layout), ", expected ", static_cast<uint32_t>(layout),
                   isPanels(rule.kind) ? " (panels)" : " (strided)");
    }
    if (operand.rank != rule.rank()) return wrong("rank ", operand.rank, ", expected ", rule.rank());
    FIRN_RETURN_IF_ERROR(checkStrides(rule, operand));
    for (uint32_t i = 0; i < operand.rank; ++i) {
      FIRN_RETURN_IF_ERROR(bindDim(rule, i, operand.dims[i]));
    }
    const auto extent = operandBytes(operand);
    // Not more either: a device may go by the bytes, and other checks by the dims.
    if (!extent || operand.bytes != *extent) {
      return wrong("bytes is ", operand.bytes, ", its dims and strides span ",
                   extent ? std::to_string(*extent) : "no valid extent");
    }
    return Status::ok();
  }

  Status checkStrides(const OperandRule& rule, const OperandRecord& operand) const {
    const auto wrong = [&](auto... pieces) { return corrupt(concat("operand ", rule.name, ": ", pieces...)); };
    for (uint32_t i = operand.rank; i < operand.dims.size(); ++i) {
      if (operand.dims[i] != 1 || operand.strides[i] != 0) {
        return wrong("dim ", i, " is unused: dims is ", operand.dims[i], " and strides ", operand.strides[i],
                     ", expected 1 and 0");
      }
    }
    if (operand.layout == Layout::kPanels) {
      if (operand.strides != std::array<uint32_t, 4>{}) {
        return wrong("strides are ", operand.strides[0], ", ", operand.strides[1], ", those of panels are 0, 0");
      }
      return operand.offset % kTensorAlignment == 0 ? Status::ok()
                                                    : wrong("offset ", operand.offset, " is no multiple of 64");
    }
    const uint32_t last = operand.rank - 1;  // no op takes rank 0
    if (operand.strides[last] != 1) return wrong("strides[", last, "] is ", operand.strides[last], ", expected 1");
    // Nested dims: no element of the view lies on another one.
    for (uint32_t i = last; i-- > 0;) {
      const uint64_t inner = static_cast<uint64_t>(operand.dims[i + 1]) * operand.strides[i + 1];
      if (operand.strides[i] < inner) {
        return wrong("strides[", i, "] is ", operand.strides[i], ", expected at least ", inner);
      }
    }
    if (rule.kind == Kind::kCache) return checkCacheStrides(rule, operand);
    if (rule.kind == Kind::kCacheScales && operand.strides[0] != context_.header.kvRows) {
      return wrong("strides[0] is ", operand.strides[0], ", expected T, ", context_.header.kvRows);
    }
    if (rule.dims[0] == Dim::kTable && operand.strides[1] != 2) {
      return wrong("strides[1] is ", operand.strides[1], ", expected 2: pairs stand side by side");
    }
    return Status::ok();
  }

  Status checkCacheStrides(const OperandRule& rule, const OperandRecord& operand) const {
    const uint64_t rowStride = context_.header.headDim;
    const uint64_t headStride = rowStride * context_.header.kvRows;
    if (operand.strides[1] == rowStride && operand.strides[0] == headStride) return Status::ok();
    return corrupt(concat("operand ", rule.name, ": strides are ", operand.strides[0], ", ", operand.strides[1],
                          ", those of the cache are ", headStride, ", ", rowStride));
  }

  Status bindDim(const OperandRule& rule, uint32_t index, uint32_t value) {
    const Dim role = rule.dims[index];
    const auto wrong = [&](std::string_view relation, uint64_t expected) {
      return corrupt(concat("operand ", rule.name, ": dims[", index, "] is ", value, ", expected ", relation, expected,
                            " (", roleName(role), ")"));
    };
    const ProgramHeader& header = context_.header;
    if (role == Dim::kTop && header.topTokens == 0) {
      return corrupt(concat("operand ", rule.name, ": the program has no lists of the best, topTokens is 0"));
    }
    if (value == 0) return wrong("at least ", 1);
    switch (role) {
      case Dim::kHeadDim: return value == header.headDim ? Status::ok() : wrong("", header.headDim);
      case Dim::kKvRows: return value == header.kvRows ? Status::ok() : wrong("", header.kvRows);
      case Dim::kVocab: return value >= header.vocab ? Status::ok() : wrong("at least ", header.vocab);
      case Dim::kTable: return value >= header.kvRows ? Status::ok() : wrong("at least ", header.kvRows);
      case Dim::kTop: return value == header.topTokens ? Status::ok() : wrong("", header.topTokens);
      case Dim::kTwo: return value == 2 ? Status::ok() : wrong("", 2);
      case Dim::kPlanes:
        if (value > 2) return wrong("at most ", 2);
        break;
      default: break;
    }
    if (role == Dim::kFree) return Status::ok();
    if (dim(role) == 0) dim(role) = value;
    return dim(role) == value ? Status::ok() : wrong("", dim(role));
  }

  Status expectDim(Dim role, uint64_t expected) {
    if (dim(role) == 0 || dim(role) == expected) return Status::ok();
    return corrupt(concat(roleName(role), " is ", dim(role), ", expected ", expected));
  }

  /// One stride serves both scales and sums of quantized activations.
  Status checkGroupStrides() const {
    const OperandRecord* scales = nullptr;
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (rules_[i]->dims[1] != Dim::kGroups) continue;
      if (scales != nullptr && operands_[i].strides != scales->strides) {
        return corrupt(concat("operand sums: strides[0] is ", operands_[i].strides[0], ", expected that of scales, ",
                              scales->strides[0]));
      }
      scales = &operands_[i];
    }
    return Status::ok();
  }

  Status checkDerivedDims() {
    const uint64_t columns = dim(Dim::kColumns);
    const uint64_t groups = (columns + 31) / 32;
    FIRN_RETURN_IF_ERROR(expectDim(Dim::kPadded, groups * 32));
    FIRN_RETURN_IF_ERROR(expectDim(Dim::kGroups, groups));
    return expectDim(Dim::kTotal, columns + dim(Dim::kOther));
  }

  Status checkAttrs() {
    for (uint32_t i = 0; i < attrs_.size(); ++i) {
      const NamedAttr& attr = rule_.attrs[i];
      const auto expected = attrFault(attr.rule, attrs_[i]);
      if (!expected) continue;
      return corrupt(
          concat("attribute ", attr.name, ": is ", attrText(attr.rule, attrs_[i]), ", expected ", *expected));
    }
    return Status::ok();
  }

  /// What the attribute should have been, or nullopt when it is fine.
  std::optional<std::string> attrFault(AttrRule rule, uint64_t value) {
    const auto unless = [](bool fine, std::string_view expected) {
      return fine ? std::nullopt : std::optional<std::string>(expected);
    };
    switch (rule) {
      case AttrRule::kNone: return std::nullopt;
      case AttrRule::kFinite:
      case AttrRule::kPositive: return realFault(rule, value);
      case AttrRule::kFlag: return unless(value <= 1, "0 or 1");
      case AttrRule::kRotated:
        return unless(value >= 2 && value % 2 == 0 && value <= context_.header.headDim && value / 2 == dim(Dim::kPairs),
                      concat("an even number up to ", context_.header.headDim, ", twice ", dim(Dim::kPairs)));
      case AttrRule::kFirstColumn:
        return unless(value <= dim(Dim::kColumns) && dim(Dim::kOut) <= dim(Dim::kColumns) - value,
                      concat("a column with ", dim(Dim::kOut), " columns from it, of ", dim(Dim::kColumns)));
      case AttrRule::kFirstHead: return unless(value < kMaxHeadIndex, "a head index");
      case AttrRule::kFirstId:
        return unless(value <= context_.header.vocab && dim(Dim::kColumns) <= context_.header.vocab - value,
                      concat("an id with ", dim(Dim::kColumns), " ids from it, of ", context_.header.vocab));
      case AttrRule::kGroup: return unless(value >= 1 && value <= kMaxHeadIndex, "1 or more");
      case AttrRule::kWindow: return unless(value <= kMaxWindow, "a number of rows");
      default: break;  // of the npu
    }
    return "a known rule";
  }

  Status checkHeads() {
    const uint64_t heads = dim(Dim::kHeads);
    const uint64_t kvHeads = dim(Dim::kKvHeads);
    if (rule_.op == TaskOp::kRefAttention && heads % kvHeads != 0) {
      return corrupt(concat(heads, " heads are no multiple of ", kvHeads, " KV heads"));
    }
    if (rule_.op != TaskOp::kCpuAttention) return Status::ok();
    const uint64_t first = attrs_[1];
    const uint64_t group = attrs_[2];
    const uint64_t last = (first + heads - 1) / group - first / group;
    if (last < kvHeads) return Status::ok();
    return corrupt(concat("heads ", first, "..", first + heads - 1, " in groups of ", group, " need ", last + 1,
                          " KV heads, the view has ", kvHeads));
  }

  Status checkCache() const {
    std::array<const OperandRecord*, kMaxOperands> rows{};
    std::array<const OperandRecord*, kMaxOperands> scales{};
    size_t rowsCount = 0;
    size_t scalesCount = 0;
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (rules_[i]->kind == Kind::kCache) rows[rowsCount++] = &operands_[i];
      if (rules_[i]->kind == Kind::kCacheScales) scales[scalesCount++] = &operands_[i];
    }
    return verifyCacheViews(context_.header, std::span(rows).first(rowsCount), std::span(scales).first(scalesCount));
  }

  Status checkAliases() const {
    for (size_t i = 0; i < operands_.size(); ++i) {
      if (rules_[i]->access == Access::kRead) continue;
      for (size_t j = 0; j < operands_.size(); ++j) {
        if (i == j || !overlap(operands_[i], operands_[j])) continue;
        if (rule_.mayAlias && isSameView(operands_[i], operands_[j])) continue;
        return corrupt(concat("operand ", rules_[i]->name, " is written and overlaps operand ", rules_[j]->name));
      }
    }
    return Status::ok();
  }

  Status report(BodyNeeds& needs) {
    const uint32_t rows = dim(Dim::kRows);
    if (rows != 0) {
      if (needs.rows == 0) needs.rows = rows;
      if (needs.rows != rows) {
        return corrupt(concat(rows, " rows, but the tasks before it in this body have ", needs.rows));
      }
    }
    for (size_t i = 0; i < operands_.size(); ++i) {
      const OperandRecord& operand = operands_[i];
      if (operand.space == Space::kSymbol && rules_[i]->access != Access::kRead) {
        needs.symbolsWritten |= 1U << operand.base;
      }
      if (operand.space == Space::kKv) needs.usesKv = true;
    }
    return Status::ok();
  }

  const TaskContext& context_;
  const TaskOpRule& rule_;
  std::span<const OperandRecord> operands_;
  std::span<const uint64_t> attrs_;
  std::array<const OperandRule*, kMaxOperands> rules_{};
  std::array<uint32_t, kDimRoles> bound_{};
};

}  // namespace

Status verifyTask(const TaskContext& context, TaskOp op, std::span<const OperandRecord> operands,
                  std::span<const uint64_t> attrs, BodyNeeds& needs) {
  const TaskOpRule* rule = taskOpRule(op);
  if (rule == nullptr) return corrupt(concat("op ", static_cast<uint32_t>(op), " is no task op"));
  const Target target = op >= TaskOp::kCpuEmbed ? Target::kCpu : Target::kReference;
  if (target != context.target) {
    return corrupt(concat("the op does not belong to target ", targetName(context.target)));
  }
  return TaskCheck(context, *rule, operands, attrs).run(needs);
}

}  // namespace firn::blob
