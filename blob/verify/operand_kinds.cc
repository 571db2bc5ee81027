#include "blob/verify/operand_kinds.h"

namespace firn::blob {

namespace {

bool isFloatWeight(DType type) { return type == DType::kF32 || type == DType::kF16 || type == DType::kBf16; }
bool isQuantWeight(DType type) {
  const DTypeInfo* info = dtypeInfo(type);
  return info != nullptr && info->isQuantized;
}

bool isSymbol(const OperandRecord& operand, SymbolKind kind) {
  return operand.space == Space::kSymbol && operand.base == static_cast<uint16_t>(kind);
}

}  // namespace

bool dtypeFits(Kind kind, DType type, const ProgramHeader& header) {
  switch (kind) {
    case Kind::kActivation:
    case Kind::kTopLogits:
    case Kind::kScratchF32:
    case Kind::kWeightF32: return type == DType::kF32;
    case Kind::kTopIds:
    case Kind::kScratchI32:
    case Kind::kIds:
    case Kind::kPositions: return type == DType::kI32;
    case Kind::kScratchI8: return type == DType::kI8;
    case Kind::kMask: return type == DType::kU8;
    case Kind::kCache: return type == header.kvType;
    case Kind::kCacheScales: return type == DType::kF32 && header.kvType == DType::kI8;
    case Kind::kPanelsI8: return isQuantWeight(type);
    case Kind::kPanelsFloat:
    case Kind::kWeightFloat: return isFloatWeight(type);
    case Kind::kPanelsAny:
    case Kind::kWeightAny: return isFloatWeight(type) || isQuantWeight(type);
  }
  return false;
}

std::string typeText(Kind kind, const ProgramHeader& header) {
  std::string text;
  for (uint32_t number = 0; number < 256; ++number) {
    const auto type = static_cast<DType>(number);
    if (!dtypeFits(kind, type, header)) continue;
    text.append(text.empty() ? "" : ", ").append(dtypeInfo(type)->name);
  }
  return text;
}

bool isPanels(Kind kind) { return kind == Kind::kPanelsAny || kind == Kind::kPanelsI8 || kind == Kind::kPanelsFloat; }

bool placeFits(Kind kind, const OperandRecord& operand) {
  switch (kind) {
    case Kind::kActivation:
      return operand.space == Space::kScratch || isSymbol(operand, SymbolKind::kHidden) ||
             isSymbol(operand, SymbolKind::kLogits);
    case Kind::kTopLogits: return operand.space == Space::kScratch || isSymbol(operand, SymbolKind::kTopLogits);
    case Kind::kTopIds: return operand.space == Space::kScratch || isSymbol(operand, SymbolKind::kTopIds);
    case Kind::kScratchF32:
    case Kind::kScratchI32:
    case Kind::kScratchI8: return operand.space == Space::kScratch;
    case Kind::kIds: return isSymbol(operand, SymbolKind::kIds) && operand.offset == 0;
    case Kind::kPositions: return isSymbol(operand, SymbolKind::kPositions) && operand.offset == 0;
    case Kind::kMask: return isSymbol(operand, SymbolKind::kMask) && operand.offset == 0;
    case Kind::kCache:
    case Kind::kCacheScales: return operand.space == Space::kKv;
    default: return operand.space == Space::kWeights;
  }
}

std::string_view placeText(Kind kind) {
  switch (kind) {
    case Kind::kActivation: return "scratch, or the hidden or logits symbol";
    case Kind::kTopLogits: return "scratch, or the top_logits symbol";
    case Kind::kTopIds: return "scratch, or the top_ids symbol";
    case Kind::kScratchF32:
    case Kind::kScratchI32:
    case Kind::kScratchI8: return "scratch";
    case Kind::kIds: return "the ids symbol from its start";
    case Kind::kPositions: return "the positions symbol from its start";
    case Kind::kMask: return "the mask symbol from its start";
    case Kind::kCache:
    case Kind::kCacheScales: return "the KV cache";
    default: return "weights";
  }
}

}  // namespace firn::blob
