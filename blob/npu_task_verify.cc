#include "blob/npu_task_verify.h"

#include <array>
#include <optional>
#include <string>

#include "base/concat.h"
#include "blob/cache_views.h"
#include "blob/extent.h"
#include "blob/names.h"
#include "blob/npu_task_rules.h"
#include "blob/operand_overlap.h"
#include "blob/real_attr.h"

namespace firn::blob {

namespace {

using machine::Engine;

constexpr uint64_t kMaxNumber = 1ULL << 31;
constexpr uint32_t kByteBits = 8;

/// Which of the places an operand lies in; 0: none that exists.
uint8_t placeOf(const OperandRecord& operand, const NpuContext& context, uint32_t tile) {
  switch (operand.space) {
    case Space::kCmx:
      if (operand.base >= context.machine.tiles) return 0;
      return operand.base == tile ? NpuPlace::kOwnTile | NpuPlace::kAnyTile : static_cast<uint8_t>(NpuPlace::kAnyTile);
    case Space::kScratch: return static_cast<uint8_t>(NpuPlace::kScratch);
    case Space::kWeights: return static_cast<uint8_t>(NpuPlace::kWeights);
    case Space::kKv: return operand.base == kNoBase ? 0 : static_cast<uint8_t>(NpuPlace::kKv);
    case Space::kSymbol:
      if (operand.base >= static_cast<uint16_t>(SymbolKind::kKv)) return 0;
      return NpuPlace::kInput | NpuPlace::kOutput;  // which one, the entry says
  }
  return 0;
}

class NpuTaskCheck {
 public:
  NpuTaskCheck(const NpuContext& context, const NpuTaskRule& rule, const NpuTask& task)
      : context_(context), rule_(rule), task_(task) {}

  Status run(BodyNeeds& needs) {
    FIRN_RETURN_IF_ERROR(checkQueue());
    FIRN_RETURN_IF_ERROR(checkCounts());
    FIRN_RETURN_IF_ERROR(checkBarriers());
    for (uint32_t i = 0; i < task_.operands.size(); ++i) {
      FIRN_RETURN_IF_ERROR(checkOperand(ruleOf(i), task_.operands[i]));
    }
    FIRN_RETURN_IF_ERROR(checkAttrs());
    FIRN_RETURN_IF_ERROR(checkDims());
    FIRN_RETURN_IF_ERROR(checkAliases());
    return report(needs);
  }

 private:
  const NpuOperandRule& ruleOf(uint32_t index) const {
    return rule_.operand(index, static_cast<uint32_t>(task_.operands.size()));
  }
  static size_t slot(char letter) { return static_cast<unsigned char>(letter); }
  uint32_t dim(char letter) const { return bound_[slot(letter)]; }

  Status checkQueue() {
    const machine::QueueOwner queue = machine::ownerOf(context_.machine, context_.queue);
    tile_ = queue.engine == Engine::kDma ? context_.machine.tiles : queue.index;
    if (queue.engine == rule_.engine) return Status::ok();
    return corrupt(concat("the op is for another engine than queue ", context_.queue, ", ",
                          machine::queueName(context_.machine, context_.queue)));
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

  Status checkBarriers() const {
    for (const auto& [uses, name, isWait] : {std::tuple{task_.waits, "wait", true}, {task_.signals, "signal", false}}) {
      for (const BarrierUse& use : uses) {
        if (use.barrier >= context_.machine.barriers) {
          return corrupt(concat(name, ": barrier ", use.barrier, ", the machine has ", context_.machine.barriers));
        }
        if (isWait != (use.count != 0)) {
          return corrupt(concat(name, " of barrier ", use.barrier, ": count is ", use.count,
                                isWait ? ", expected at least 1" : ", expected 0"));
        }
      }
    }
    return Status::ok();
  }

  Status checkOperand(const NpuOperandRule& rule, const OperandRecord& operand) {
    const auto wrong = [&](auto... pieces) { return corrupt(concat("operand ", rule.name, ": ", pieces...)); };
    const DTypeInfo* info = dtypeInfo(operand.dtype);
    const bool fits = rule.isAnyType ? info != nullptr && !info->isQuantized
                                     : operand.dtype == rule.types[0] || operand.dtype == rule.types[1];
    if (!fits) {
      return wrong("type ", info != nullptr ? info->name : "(unknown)", " does not fit the op, expected ",
                   rule.isAnyType ? "a plain type" : dtypeInfo(rule.types[0])->name);
    }
    if ((placeOf(operand, context_, tile_) & rule.places) == 0) {
      return wrong("lies in ", spaceName(operand.space), " with base ", operand.base, ", where ",
                   taskOpName(task_.op), " of queue ", context_.queue, " does not reach it");
    }
    if (operand.layout != Layout::kStrided) return wrong("layout is not strided");
    const bool hasRank = rule.dims == "*" ? operand.rank >= 1 && operand.rank <= operand.dims.size()
                                          : operand.rank == rule.dims.size();
    if (!hasRank) return wrong("rank ", operand.rank, ", expected ", rule.dims.size());
    FIRN_RETURN_IF_ERROR(checkStrides(rule, operand));
    if (rule.dims != "*") {
      for (uint32_t i = 0; i < operand.rank; ++i) FIRN_RETURN_IF_ERROR(bindDim(rule, i, operand.dims[i]));
    }
    const auto extent = operandBytes(operand);
    if (!extent || operand.bytes != *extent) {
      return wrong("bytes is ", operand.bytes, ", its dims and strides span ",
                   extent ? std::to_string(*extent) : "no valid extent");
    }
    if (operand.space != Space::kCmx) return Status::ok();
    const auto end = checkedAdd(operand.offset, operand.bytes);
    if (end && *end <= context_.machine.cmxBytes) return Status::ok();
    return wrong("ends at byte ", end.value_or(0), " of CMX, a tile has ", context_.machine.cmxBytes);
  }

  Status checkStrides(const NpuOperandRule& rule, const OperandRecord& operand) const {
    const auto wrong = [&](auto... pieces) { return corrupt(concat("operand ", rule.name, ": ", pieces...)); };
    for (uint32_t i = operand.rank; i < operand.dims.size(); ++i) {
      if (operand.dims[i] != 1 || operand.strides[i] != 0) {
        return wrong("dim ", i, " is unused: dims is ", operand.dims[i], " and strides ", operand.strides[i]);
      }
    }
    const uint32_t last = operand.rank - 1;
    const bool isTransposed = task_.op == TaskOp::kNpuMatmul && rule.name == "w" && operand.strides[0] == 1;
    if (isTransposed) return Status::ok();
    if (operand.strides[last] != 1) return wrong("strides[", last, "] is ", operand.strides[last], ", expected 1");
    // Nested dims: no element of the view lies on another one.
    for (uint32_t i = last; i-- > 0;) {
      const uint64_t inner = static_cast<uint64_t>(operand.dims[i + 1]) * operand.strides[i + 1];
      if (operand.strides[i] < inner) {
        return wrong("strides[", i, "] is ", operand.strides[i], ", expected at least ", inner);
      }
    }
    return Status::ok();
  }

  Status bindDim(const NpuOperandRule& rule, uint32_t index, uint32_t value) {
    const char letter = rule.dims[index];
    uint32_t& bound = bound_[slot(letter)];
    if (bound == 0) bound = expectedDim(letter).value_or(value);
    if (value != 0 && bound == value) return Status::ok();
    return corrupt(concat("operand ", rule.name, ": dims[", index, "] is ", value, ", expected ",
                          value == 0 ? 1 : bound, " (", std::string_view(&letter, 1), ")"));
  }

  /// What the model, or the op, says of a dim.
  std::optional<uint32_t> expectedDim(char letter) const {
    switch (letter) {
      case '1': return 1;
      case 'T': return context_.header.kvRows;
      case 't': return context_.header.topTokens;
      default: return std::nullopt;
    }
  }

  Status checkAttrs() const {
    for (uint32_t i = 0; i < task_.attrs.size(); ++i) {
      const NamedAttr& attr = rule_.attrs[i];
      const std::optional<std::string> expected = attrFault(attr.rule, task_.attrs[i]);
      if (!expected) continue;
      return corrupt(concat("attribute ", attr.name, ": is ", attrText(attr.rule, task_.attrs[i]), ", expected ",
                            *expected));
    }
    return Status::ok();
  }

  std::optional<std::string> attrFault(AttrRule rule, uint64_t value) const {
    const auto unless = [](bool fine, std::string_view expected) {
      return fine ? std::nullopt : std::optional<std::string>(expected);
    };
    switch (rule) {
      case AttrRule::kFinite:
      case AttrRule::kPositive: return realFault(rule, value);
      case AttrRule::kFlag: return unless(value <= 1, "0 or 1");
      case AttrRule::kRotated:
        return unless(value >= 2 && value <= dim('d') && value == uint64_t{2} * dim('p'),
                      concat("twice the frequencies, up to ", dim('d')));
      case AttrRule::kGroup: return unless(value >= 1 && value <= kMaxNumber, "1 or more");
      case AttrRule::kCodeBits: return unless(value == 4 || value == 8, "4 or 8");
      case AttrRule::kWeightType: return unless(isWeightType(value), "a type of weights");
      case AttrRule::kTiles: return unless(isTileSet(value), "bits of tiles that the machine has, with that of dst");
      default: return unless(value <= kMaxNumber, "a number of rows");
    }
  }

  static bool isWeightType(uint64_t value) {
    const DTypeInfo* info = value < 256 ? dtypeInfo(static_cast<DType>(value)) : nullptr;
    return info != nullptr && info->ggmlType >= 0 && info->type != DType::kI32 && info->type != DType::kI8;
  }

  bool isTileSet(uint64_t value) const {
    const OperandRecord& dst = task_.operands[1];
    if (value == 0) return true;
    return dst.space == Space::kCmx && (value >> context_.machine.tiles) == 0 && (value >> dst.base & 1) == 1;
  }

  /// What ties dims to each other and to attributes.
  Status checkDims() const {
    const auto wrong = [](std::string_view what, uint64_t found, uint64_t expected) {
      return corrupt(concat(what, " is ", found, ", expected ", expected));
    };
    switch (task_.op) {
      case TaskOp::kNpuCopy: {
        const OperandRecord& src = task_.operands[0];
        const OperandRecord& dst = task_.operands[1];
        if (src.dtype == dst.dtype && src.rank == dst.rank && src.dims == dst.dims) return Status::ok();
        return corrupt("operand dst: type or dims are not those of src");
      }
      case TaskOp::kNpuEmbed:
      case TaskOp::kNpuExpand: return checkRowBytes(task_.attrs[0]);
      case TaskOp::kNpuEmbedGroups:
      case TaskOp::kNpuExpandGroups:
      case TaskOp::kNpuMatmulGroups: {
        const uint64_t bytes = uint64_t{dim('k')} * task_.attrs[0] / kByteBits;
        if (dim('k') % dim('g') != 0 || dim('k') / dim('g') % 2 != 0) return wrong("k", dim('k'), dim('g') * 2);
        return dim('b') == bytes ? Status::ok() : wrong("bytes of a row of codes", dim('b'), bytes);
      }
      case TaskOp::kNpuGroupSums:
        return dim('k') % dim('g') == 0 ? Status::ok() : wrong("k", dim('k'), dim('g'));
      case TaskOp::kNpuSoftmax:
        return dim('m') % task_.attrs[3] == 0 ? Status::ok() : wrong("rows of scores", dim('m'), task_.attrs[3]);
      case TaskOp::kNpuMatmul:
        if (task_.attrs[0] == 0 || task_.operands[2].dtype == DType::kF32) return Status::ok();
        return corrupt("operand out: is f16, expected f32, since it accumulates");
      case TaskOp::kNpuKvWrite: return checkCacheRows();
      default: return Status::ok();
    }
  }

  /// Rows of raw bytes hold whole blocks of k numbers.
  Status checkRowBytes(uint64_t type) const {
    const auto bytes = dtypeBytes(static_cast<DType>(type), dim('k'));
    if (bytes && *bytes == dim('b')) return Status::ok();
    return corrupt(concat("raw rows have ", dim('b'), " bytes, ", dim('k'), " numbers of the type take ",
                          bytes.value_or(0)));
  }

  Status checkCacheRows() const {
    const ProgramHeader& header = context_.header;
    const OperandRecord& cache = task_.operands[1];
    if (header.kvType != DType::kF16) return corrupt("the cache is not f16, which is all that the npu writes");
    if (dim('d') != header.headDim || cache.strides[1] != header.headDim ||
        cache.strides[0] != uint64_t{header.headDim} * header.kvRows) {
      return corrupt("operand cache: dims and strides are not those of the cache");
    }
    const std::array<const OperandRecord*, 1> rows = {&cache};
    return verifyCacheViews(header, rows, {});
  }

  Status checkAliases() const {
    for (uint32_t i = 0; i < task_.operands.size(); ++i) {
      if (ruleOf(i).access == Access::kRead) continue;
      for (uint32_t j = 0; j < task_.operands.size(); ++j) {
        if (i == j || !overlap(task_.operands[i], task_.operands[j])) continue;
        if (rule_.mayAlias && task_.operands[i].offset == task_.operands[j].offset &&
            task_.operands[i].strides == task_.operands[j].strides &&
            task_.operands[i].dtype == task_.operands[j].dtype) {
          continue;
        }
        return corrupt(
            concat("operand ", ruleOf(i).name, " is written and overlaps operand ", ruleOf(j).name));
      }
    }
    return Status::ok();
  }

  Status report(BodyNeeds& needs) const {
    for (uint32_t i = 0; i < task_.operands.size(); ++i) {
      const OperandRecord& operand = task_.operands[i];
      if (operand.space == Space::kSymbol && ruleOf(i).access != Access::kRead) {
        needs.symbolsWritten |= 1U << operand.base;
      }
      if (operand.space == Space::kKv) needs.usesKv = true;
    }
    if (task_.op == TaskOp::kNpuKvWrite) {
      needs.rowsEnd = std::max<uint64_t>(needs.rowsEnd, task_.attrs[0] + dim('m'));
    }
    return Status::ok();
  }

  const NpuContext& context_;
  const NpuTaskRule& rule_;
  const NpuTask& task_;
  uint32_t tile_ = 0;  ///< of the queue; of DMA none
  std::array<uint32_t, 128> bound_{};
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
