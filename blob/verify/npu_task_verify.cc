#include "blob/verify/npu_task_verify.h"

#include <array>
#include <optional>
#include <string>

#include "base/concat.h"
#include "blob/npu_task_rules.h"
#include "blob/verify/cache_views.h"
#include "blob/verify/npu_operand_verify.h"
#include "blob/verify/operand_overlap.h"
#include "blob/verify/real_attr.h"

namespace firn::blob {

namespace {

// Above any number of rows and heads, low enough that sums of two fit 32 bits.
constexpr uint64_t kMaxNumber = 1ULL << 31;
constexpr uint32_t kByteBits = 8;

class NpuTaskCheck {
 public:
  NpuTaskCheck(const NpuContext& context, const NpuTaskRule& rule, const NpuTask& task)
      : context_(context), header_(context.header), rule_(rule), task_(task) {}

  Status run(BodyNeeds& needs) {
    FIRN_RETURN_IF_ERROR(checkQueue());
    FIRN_RETURN_IF_ERROR(checkCounts());
    FIRN_RETURN_IF_ERROR(checkBarriers("wait", task_.waits));
    FIRN_RETURN_IF_ERROR(checkBarriers("signal", task_.signals));
    for (uint32_t i = 0; i < task_.operands.size(); ++i) {
      FIRN_RETURN_IF_ERROR(verifyNpuOperand(context_.machine, context_.queue, ruleOf(i), task_.operands[i]));
      FIRN_RETURN_IF_ERROR(bindDims(ruleOf(i), task_.operands[i]));
    }
    FIRN_RETURN_IF_ERROR(checkAttrs());
    FIRN_RETURN_IF_ERROR(checkTies());
    FIRN_RETURN_IF_ERROR(checkAliases());
    report(needs);
    return Status::ok();
  }

 private:
  const NpuOperandRule& ruleOf(uint32_t index) const {
    return rule_.operand(index, static_cast<uint32_t>(task_.operands.size()));
  }
  uint32_t& dim(char letter) { return dims_[static_cast<unsigned char>(letter)]; }
  /// The value of the attribute of that name; 0 when the op has none.
  uint64_t attr(std::string_view name) const {
    for (uint32_t i = 0; i < task_.attrs.size(); ++i) {
      if (rule_.attrs[i].name == name) return task_.attrs[i];
    }
    return 0;
  }

  Status checkQueue() const {
    if (machine::ownerOf(context_.machine, context_.queue).engine == rule_.engine) return Status::ok();
    return corrupt(
        concat("queue ", machine::queueName(context_.machine, context_.queue), " has no ", taskOpName(task_.op)));
  }

  Status checkCounts() const {
    const uint32_t least = rule_.operandCount(false);
    const uint32_t full = rule_.operandCount(true);
    if (task_.operands.size() != least && task_.operands.size() != full) {
      return corrupt(
          concat(task_.operands.size(), " operands, expected ", full, full != least ? concat(" or ", least) : ""));
    }
    if (task_.attrs.size() == rule_.attrCount()) return Status::ok();
    return corrupt(concat(task_.attrs.size(), " attributes, expected ", rule_.attrCount()));
  }

  Status checkBarriers(std::string_view kind, std::span<const BarrierUse> uses) const {
    const bool isWait = kind == "wait";
    for (const BarrierUse& use : uses) {
      if (use.barrier >= context_.machine.barriers) {
        return corrupt(concat(kind, ": barrier is ", use.barrier, ", expected one of the ", context_.machine.barriers,
                              " of the machine"));
      }
      if (isWait == (use.count != 0)) continue;
      return corrupt(concat(kind, " of barrier ", use.barrier, ": count is ", use.count, ", expected ",
                            isWait ? "1 or more" : "0"));
    }
    return Status::ok();
  }

  Status bindDims(const NpuOperandRule& rule, const OperandRecord& operand) {
    if (rule.dims == kAnyDims) return Status::ok();
    for (uint32_t i = 0; i < operand.rank; ++i) {
      const char letter = rule.dims[i];
      const uint32_t value = operand.dims[i];
      const auto wrong = [&](std::string_view relation, uint64_t expected) {
        return corrupt(concat("operand ", rule.name, ": dims[", i, "] is ", value, ", expected ", relation, expected,
                              " (", std::string_view(&letter, 1), ")"));
      };
      if (letter == 't' && header_.topTokens == 0) {
        return corrupt(concat("operand ", rule.name, ": the program has no lists of the best, topTokens is 0"));
      }
      // Ids below the vocabulary index these rows.
      if (letter == 'V' && value < header_.vocab) return wrong("at least ", header_.vocab);
      if (dim(letter) == 0) dim(letter) = expectedDim(letter).value_or(value);
      if (dim(letter) != value) return wrong("", dim(letter));
    }
    return Status::ok();
  }

  /// What the model, or the op, says of a dim.
  std::optional<uint32_t> expectedDim(char letter) const {
    switch (letter) {
      case '1': return 1;
      case 'T': return header_.kvRows;
      case 't': return header_.topTokens;
      default: return std::nullopt;
    }
  }

  Status checkAttrs() {
    for (uint32_t i = 0; i < task_.attrs.size(); ++i) {
      const NamedAttr& attr = rule_.attrs[i];
      const std::optional<std::string> expected = attrFault(attr.rule, task_.attrs[i]);
      if (!expected) continue;
      return corrupt(
          concat("attribute ", attr.name, ": is ", attrText(attr.rule, task_.attrs[i]), ", expected ", *expected));
    }
    return Status::ok();
  }

  /// What the attribute should have been, or nullopt when it is fine.
  std::optional<std::string> attrFault(AttrRule rule, uint64_t value) {
    const auto unless = [](bool fine, std::string_view expected) {
      return fine ? std::nullopt : std::optional<std::string>(expected);
    };
    switch (rule) {
      case AttrRule::kFinite:
      case AttrRule::kPositive: return realFault(rule, value);
      case AttrRule::kFlag: return unless(value <= 1, "0 or 1");
      case AttrRule::kRotated:
        return unless(value <= dim('d') && value == uint64_t{2} * dim('p'),
                      concat("twice the frequencies, ", dim('p'), ", and at most the ", dim('d'), " of a head"));
      case AttrRule::kCodeBits: return unless(value == 4 || value == kByteBits, "4 or 8");
      case AttrRule::kCodeZero: return unless(value >> attr("bits") == 0, concat("a code of ", attr("bits"), " bits"));
      case AttrRule::kWeightType: return unless(isWeightType(value), "the number of a type of weights");
      case AttrRule::kTiles:
        return unless(isTileSet(value), "0, or bits of tiles that the machine has, that of dst in CMX among them");
      case AttrRule::kGroup:
        return unless(value >= 1 && dim('m') % value == 0, concat("a divisor of ", dim('m'), " rows of scores"));
      case AttrRule::kFirstId:
        return unless(value <= header_.vocab && dim('n') <= header_.vocab - value,
                      concat("an id with ", dim('n'), " ids from it, of ", header_.vocab));
      case AttrRule::kFirstCacheRow:
        return unless(value <= header_.kvRows && dim('r') <= header_.kvRows - value,
                      concat("a row with ", dim('r'), " rows from it, of ", header_.kvRows));
      default: return unless(value <= kMaxNumber, "a number of rows");
    }
  }

  static bool isWeightType(uint64_t value) {
    const DTypeInfo* info = value <= UINT8_MAX ? dtypeInfo(static_cast<DType>(value)) : nullptr;
    return info != nullptr && info->ggmlType >= 0 && info->type != DType::kI32 && info->type != DType::kI8;
  }

  bool isTileSet(uint64_t value) const {
    const OperandRecord& dst = task_.operands[1];
    if (value == 0) return true;
    return dst.space == Space::kCmx && value >> context_.machine.tiles == 0 && (value >> dst.base & 1) == 1;
  }

  /// What ties dims to each other and to attributes.
  Status checkTies() {
    switch (task_.op) {
      case TaskOp::kNpuCopy: return checkCopy();
      case TaskOp::kNpuKvWrite: return checkCacheRows();
      case TaskOp::kNpuMatmul:
        if (attr("accumulate") == 0 || task_.operands[2].dtype == DType::kF32) return Status::ok();
        return corrupt("operand out: type f16, expected f32, since it accumulates");
      case TaskOp::kNpuEmbedGroups:
      case TaskOp::kNpuExpandGroups:
      case TaskOp::kNpuMatmulGroups: return checkCodes();
      case TaskOp::kNpuGroupSums: return checkGroups(1);
      case TaskOp::kNpuEmbed:
      case TaskOp::kNpuExpand: return checkRowBytes(static_cast<DType>(attr("type")));
      case TaskOp::kNpuSoftmax: return checkTokens();
      default: return Status::ok();
    }
  }

  Status checkCopy() const {
    const OperandRecord& src = task_.operands[0];
    const OperandRecord& dst = task_.operands[1];
    if (src.dtype == dst.dtype && src.rank == dst.rank && src.dims == dst.dims) return Status::ok();
    return corrupt("operand dst: type or dims are not those of src");
  }

  /// Groups of one size, a multiple of `unit`.
  Status checkGroups(uint32_t unit) {
    const uint64_t step = uint64_t{dim('g')} * unit;
    if (dim('k') % step == 0) return Status::ok();
    return corrupt(
        concat(dim('g'), " groups of ", dim('k'), " columns, expected columns that are a multiple of ", step));
  }

  Status checkCodes() {
    FIRN_RETURN_IF_ERROR(checkGroups(2));  // whole bytes of two codes
    const uint64_t bytes = uint64_t{dim('k')} * attr("bits") / kByteBits;
    if (dim('b') == bytes) return Status::ok();
    return corrupt(
        concat("operand codes: dims[1] is ", dim('b'), ", expected ", bytes, ", the bytes of ", dim('k'), " codes"));
  }

  /// Rows of raw bytes hold k numbers in whole blocks.
  Status checkRowBytes(DType type) {
    const auto bytes = dtypeBytes(type, dim('k'));
    if (bytes && *bytes == dim('b')) return Status::ok();
    return corrupt(concat("raw rows have ", dim('b'), " bytes, ", dim('k'), " numbers of ", dtypeInfo(type)->name,
                          bytes ? concat(" take ", *bytes) : " are no whole blocks"));
  }

  Status checkTokens() {
    const uint64_t tokens = dim('m') / attr("group");
    const uint64_t first = attr("firstToken");
    if (first + tokens <= header_.maxPromptTokens) return Status::ok();
    return corrupt(concat("attribute firstToken: is ", first, ", expected one with ", tokens, " tokens from it, of ",
                          header_.maxPromptTokens));
  }

  Status checkCacheRows() const {
    const OperandRecord& cache = task_.operands[1];
    if (header_.kvType != DType::kF16) {
      return corrupt(concat("the cache is ", dtypeInfo(header_.kvType)->name, ", expected f16"));
    }
    if (cache.dims[2] != header_.headDim || cache.strides[1] != header_.headDim ||
        cache.strides[0] != uint64_t{header_.headDim} * header_.kvRows) {
      return corrupt(concat("operand cache: rows of ", cache.dims[2], ", strides ", cache.strides[0], ", ",
                            cache.strides[1], ", expected those of the cache, ", header_.headDim, ", ",
                            uint64_t{header_.headDim} * header_.kvRows, ", ", header_.headDim));
    }
    const std::array<const OperandRecord*, 1> rows = {&cache};
    return verifyCacheViews(header_, rows, {});
  }

  /// Whether what is written to `written`, in all tiles that get it, touches `other`.
  bool touches(const OperandRecord& written, const OperandRecord& other) const {
    OperandRecord twin = written;
    const bool isSent = written.space == Space::kCmx && other.space == Space::kCmx;
    if (isSent && (attr("tiles") >> other.base & 1) == 1) twin.base = other.base;
    return overlap(twin, other);
  }

  Status checkAliases() const {
    for (uint32_t i = 0; i < task_.operands.size(); ++i) {
      if (ruleOf(i).access == Access::kRead) continue;
      for (uint32_t j = 0; j < task_.operands.size(); ++j) {
        if (i == j || !touches(task_.operands[i], task_.operands[j])) continue;
        if (rule_.mayAlias && isSameView(task_.operands[i], task_.operands[j])) continue;
        return corrupt(concat("operand ", ruleOf(i).name, " is written and overlaps operand ", ruleOf(j).name));
      }
    }
    return Status::ok();
  }

  void report(BodyNeeds& needs) {
    for (uint32_t i = 0; i < task_.operands.size(); ++i) {
      const OperandRecord& operand = task_.operands[i];
      const bool isWritten = ruleOf(i).access != Access::kRead;
      if (operand.space == Space::kSymbol && isWritten) needs.symbolsWritten |= 1U << operand.base;
      if (operand.space == Space::kKv) needs.usesKv = true;
    }
    if (task_.op != TaskOp::kNpuKvWrite) return;
    needs.rowsEnd = std::max<uint64_t>(needs.rowsEnd, attr("firstRow") + dim('m'));
  }

  const NpuContext& context_;
  const ProgramHeader& header_;
  const NpuTaskRule& rule_;
  const NpuTask& task_;
  std::array<uint32_t, 256> dims_{};  ///< by letter; 0: not met yet
};

}  // namespace

Status verifyNpuTask(const NpuContext& context, const NpuTask& task, BodyNeeds& needs) {
  const NpuTaskRule* rule = npuTaskRule(task.op);
  if (rule == nullptr) {
    return corrupt(concat("op ", static_cast<uint32_t>(task.op), " is no task op of target npu"));
  }
  return NpuTaskCheck(context, *rule, task).run(needs);
}

}  // namespace firn::blob
