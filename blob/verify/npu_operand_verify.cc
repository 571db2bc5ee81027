#include "blob/verify/npu_operand_verify.h"

#include <optional>
#include <string>
#include <utility>

#include "base/concat.h"
#include "blob/extent.h"
#include "blob/names.h"

namespace firn::blob {

namespace {

using machine::Engine;

constexpr std::pair<NpuPlace, std::string_view> kPlaces[] = {
    {NpuPlace::kOwnTile, "CMX of the task's tile"},
    {NpuPlace::kAnyTile, "CMX"},
    {NpuPlace::kScratch, "scratch"},
    {NpuPlace::kWeights, "weights"},
    {NpuPlace::kKv, "a param of the cache"},
    {NpuPlace::kSymbol, "a symbol that is no cache"},
};

std::string placesText(uint8_t places) {
  std::string text;
  for (const auto& [place, name] : kPlaces) {
    if (allows(places, place)) text += concat(text.empty() ? "" : ", ", name);
  }
  return text;
}

class OperandCheck {
 public:
  OperandCheck(const machine::Machine& machine, const machine::QueueOwner& queue, const NpuOperandRule& rule,
               const OperandRecord& operand)
      : machine_(machine), queue_(queue), rule_(rule), operand_(operand) {}

  Status run() const {
    FIRN_RETURN_IF_ERROR(checkType());
    if ((placeOf() & rule_.places) == 0)
      return wrong("lies in ", foundPlace(), ", expected ", placesText(rule_.places));
    if (operand_.layout != Layout::kStrided) {
      return wrong("layout is ", static_cast<uint32_t>(operand_.layout), ", expected 0 (strided)");
    }
    FIRN_RETURN_IF_ERROR(checkRank());
    FIRN_RETURN_IF_ERROR(checkStrides());
    return checkExtent();
  }

 private:
  template <typename... Pieces>
  Status wrong(const Pieces&... pieces) const {
    return corrupt(concat("operand ", rule_.name, ": ", pieces...));
  }

  Status checkType() const {
    const DTypeInfo* info = dtypeInfo(operand_.dtype);
    const auto& [one, other] = rule_.types;
    const bool fits =
        rule_.isAnyType ? info != nullptr && !info->isQuantized : operand_.dtype == one || operand_.dtype == other;
    if (fits) return Status::ok();
    const std::string named = concat(dtypeInfo(one)->name, one == other ? "" : concat(" or ", dtypeInfo(other)->name));
    return wrong("type ", info != nullptr ? info->name : "(unknown)", " does not fit the op, expected ",
                 rule_.isAnyType ? "one that is not quantized" : named);
  }

  /// Which places the operand is in; 0: none that there is.
  uint8_t placeOf() const {
    switch (operand_.space) {
      case Space::kCmx: {
        if (operand_.base >= machine_.tiles) return 0;
        const bool isOwn = queue_.engine != Engine::kDma && operand_.base == queue_.index;
        return isOwn ? NpuPlace::kOwnTile | NpuPlace::kAnyTile : static_cast<uint8_t>(NpuPlace::kAnyTile);
      }
      case Space::kScratch: return static_cast<uint8_t>(NpuPlace::kScratch);
      case Space::kWeights: return static_cast<uint8_t>(NpuPlace::kWeights);
      case Space::kKv: return operand_.base == kNoBase ? 0 : static_cast<uint8_t>(NpuPlace::kKv);
      // Whether the entry has it, and lets it be written, is seen where it is called.
      case Space::kSymbol:
        return operand_.base < static_cast<uint16_t>(SymbolKind::kKv) ? static_cast<uint8_t>(NpuPlace::kSymbol) : 0;
    }
    return 0;
  }

  std::string foundPlace() const {
    const std::string_view space = spaceName(operand_.space);
    if (space.empty()) return "no known space";
    if (operand_.space != Space::kCmx) return concat(space, " with base ", operand_.base);
    return concat("CMX of tile ", operand_.base,
                  operand_.base < machine_.tiles ? "" : concat(", the machine has ", machine_.tiles));
  }

  Status checkRank() const {
    const bool isAny = rule_.dims == kAnyDims;
    const bool fits =
        isAny ? operand_.rank >= 1 && operand_.rank <= operand_.dims.size() : operand_.rank == rule_.dims.size();
    if (fits) return Status::ok();
    return wrong("rank ", operand_.rank, ", expected ", isAny ? "1 to 4" : std::to_string(rule_.dims.size()));
  }

  /// Dims are nested: no element of the view lies on another one.
  Status checkStrides() const {
    for (uint32_t i = operand_.rank; i < operand_.dims.size(); ++i) {
      if (operand_.dims[i] != 1 || operand_.strides[i] != 0) {
        return wrong("dim ", i, " is unused: dims is ", operand_.dims[i], " and strides ", operand_.strides[i],
                     ", expected 1 and 0");
      }
    }
    if (rule_.mayBeTransposed && operand_.strides[0] == 1 && operand_.strides[1] >= operand_.dims[0]) {
      return Status::ok();
    }
    const uint32_t last = operand_.rank - 1U;
    if (operand_.strides[last] != 1) {
      return wrong(
          "strides[", last, "] is ", operand_.strides[last], ", expected 1",
          rule_.mayBeTransposed ? concat(", or those of a transposed matrix, 1 and at least ", operand_.dims[0]) : "");
    }
    for (uint32_t i = last; i-- > 0;) {
      const uint64_t inner = static_cast<uint64_t>(operand_.dims[i + 1]) * operand_.strides[i + 1];
      if (operand_.strides[i] < inner) {
        return wrong("strides[", i, "] is ", operand_.strides[i], ", expected at least ", inner);
      }
    }
    return Status::ok();
  }

  Status checkExtent() const {
    const auto extent = operandBytes(operand_);
    if (!extent || operand_.bytes != *extent) {
      return wrong("bytes is ", operand_.bytes, ", its dims and strides span ",
                   extent ? std::to_string(*extent) : "no valid extent");
    }
    if (operand_.space != Space::kCmx) return Status::ok();
    const auto end = checkedAdd(operand_.offset, operand_.bytes);
    if (end && *end <= machine_.cmxBytes) return Status::ok();
    return wrong("bytes ", operand_.offset, " and ", operand_.bytes, " more of CMX, a tile has ", machine_.cmxBytes);
  }

  const machine::Machine& machine_;
  const machine::QueueOwner& queue_;
  const NpuOperandRule& rule_;
  const OperandRecord& operand_;
};

}  // namespace

Status verifyNpuOperand(const machine::Machine& machine, uint32_t queue, const NpuOperandRule& rule,
                        const OperandRecord& operand) {
  return OperandCheck(machine, machine::ownerOf(machine, queue), rule, operand).run();
}

}  // namespace firn::blob
