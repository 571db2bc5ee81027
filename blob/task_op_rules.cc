#include "blob/task_op_rules.h"

#include <span>

namespace firn::blob {

namespace {

using enum Dim;
constexpr Access kRead = Access::kRead;
constexpr Access kWrite = Access::kWrite;
constexpr Access kInPlace = Access::kReadWrite;

constexpr std::array<Dim, 4> kMatrix = {kRows, kColumns};
constexpr std::array<Dim, 4> kResult = {kRows, kOut};
constexpr std::array<Dim, 4> kByHead = {kRows, kHeads, kHeadDim};
constexpr std::array<Dim, 4> kCacheView = {kKvHeads, kKvRows, kHeadDim};

constexpr OperandRule in(std::string_view name, std::array<Dim, 4> dims = kMatrix) {
  return {name, Kind::kActivation, kRead, dims};
}
constexpr OperandRule out(std::array<Dim, 4> dims = kMatrix) { return {"out", Kind::kActivation, kWrite, dims}; }
constexpr OperandRule weight(std::string_view name, Kind kind, std::array<Dim, 4> dims) {
  return {name, kind, kRead, dims};
}
constexpr OperandRule bias(Kind kind, Dim dim) { return {"bias", kind, kRead, {dim}, Presence::kOptional}; }
constexpr OperandRule cacheRows(std::string_view name) { return {name, Kind::kCache, kRead, kCacheView}; }
constexpr OperandRule scalesOf(std::string_view name) {
  return {name, Kind::kCacheScales, kRead, {kKvHeads, kKvRows}, Presence::kIfI8};
}
/// Of keys that an i8 cache holds without their bias.
constexpr OperandRule keyBias(std::string_view name, Kind kind, std::array<Dim, 4> dims) {
  return {name, kind, kRead, dims, Presence::kMaybeIfI8};
}
constexpr OperandRule kScalesWritten = {"scales", Kind::kCacheScales, kWrite, {kKvHeads, kKvRows}, Presence::kIfI8};
constexpr OperandRule kIdsIn = {"ids", Kind::kIds, kRead, {kRows}};
constexpr OperandRule kPositionsIn = {"positions", Kind::kPositions, kRead, {kRows}};
constexpr OperandRule kMaskIn = {"mask", Kind::kMask, kRead, {kKvRows}};

constexpr OperandRule codes(Access access) { return {"codes", Kind::kScratchI8, access, {kPlanes, kRows, kPadded}}; }
constexpr OperandRule scales(Access access) { return {"scales", Kind::kScratchF32, access, {kRows, kGroups}}; }
constexpr OperandRule sums(Access access) { return {"sums", Kind::kScratchI32, access, {kRows, kGroups}}; }

/// Lists of the best of each row: their logits and ids.
constexpr OperandRule topValues(Access access, std::array<Dim, 4> dims) {
  return {"values", Kind::kTopLogits, access, dims};
}
constexpr OperandRule topIds(Access access, std::array<Dim, 4> dims) { return {"ids", Kind::kTopIds, access, dims}; }
constexpr std::array<Dim, 4> kTopList = {kRows, kTop};
constexpr std::array<Dim, 4> kTopParts = {kPartials, kRows, kTop};

constexpr NamedAttr kScaleAttr = {"scale", AttrRule::kPositive};
constexpr NamedAttr kTurnPairing = {"pairing", AttrRule::kFlag, true};
constexpr NamedAttr kTurnDims = {"dims", AttrRule::kRotated, true};
constexpr NamedAttr kEps = {"eps", AttrRule::kPositive};
constexpr NamedAttr kWindowAttr = {"window", AttrRule::kWindow};

constexpr TaskOpRule kRules[] = {
    {TaskOp::kRefEmbed, false, {kIdsIn, weight("table", Kind::kWeightAny, {kVocab, kColumns}), out()}, {}},
    {TaskOp::kRefRmsNorm, true, {in("in"), weight("weight", Kind::kWeightFloat, {kColumns}), out()}, {kEps}},
    {TaskOp::kRefLayerNorm,
     true,
     {in("in"), weight("weight", Kind::kWeightFloat, {kColumns}), bias(Kind::kWeightFloat, kColumns), out()},
     {kEps}},
    {TaskOp::kRefLinear,
     false,
     {in("in"), weight("weight", Kind::kWeightAny, {kOut, kColumns}), bias(Kind::kWeightFloat, kOut), out(kResult)},
     {}},
    {TaskOp::kRefRope,
     true,
     {in("in", kByHead), kPositionsIn, weight("freqs", Kind::kWeightF32, {kPairs}), out(kByHead)},
     {NamedAttr{"pairing", AttrRule::kFlag}, {"dims", AttrRule::kRotated}, {"magnitude", AttrRule::kPositive}}},
    {TaskOp::kRefStateWrite,
     false,
     {in("in", {kRows, kKvHeads, kHeadDim}), {"cache", Kind::kCache, kWrite, kCacheView}, kScalesWritten},
     {}},
    {TaskOp::kRefAttention,
     false,
     {in("q", kByHead), cacheRows("K"), cacheRows("V"), kMaskIn,
      OperandRule{"workspace",
                  Kind::kScratchF32,
                  kWrite,
                  {kTwo, kKvHeads, kKvRows, kHeadDim},  // the values of K and of V
                  Presence::kUnlessF32},
      scalesOf("K scales"), scalesOf("V scales"), keyBias("bias", Kind::kWeightFloat, {kKvHeads, kHeadDim}),
      keyBias("freqs", Kind::kWeightF32, {kPairs}), out(kByHead)},
     {kScaleAttr, kWindowAttr, kTurnPairing, kTurnDims, NamedAttr{"magnitude", AttrRule::kPositive, true}}},
    {TaskOp::kRefSilu, true, {in("in"), out()}, {}},
    {TaskOp::kRefGelu, true, {in("in"), out()}, {NamedAttr{"tanh", AttrRule::kFlag}}},
    {TaskOp::kRefMul, true, {in("a"), in("b"), out()}, {}},
    {TaskOp::kRefAdd, true, {in("a"), in("b"), out()}, {}},
    {TaskOp::kRefScale, true, {in("in"), out()}, {NamedAttr{"factor", AttrRule::kFinite}}},
    {TaskOp::kRefSoftcap, true, {in("in"), out()}, {NamedAttr{"cap", AttrRule::kPositive}}},
    {TaskOp::kRefSlice, false, {in("in"), out(kResult)}, {NamedAttr{"first", AttrRule::kFirstColumn}}},
    {TaskOp::kRefConcat, false, {in("a"), in("b", {kRows, kOther}), out({kRows, kTotal})}, {}},
    {TaskOp::kRefCopy, true, {in("in"), out()}, {}},
    {TaskOp::kRefTopK, false, {in("in"), topValues(kWrite, kTopList), topIds(kWrite, kTopList)}, {}},

    {TaskOp::kCpuEmbed, false, {kIdsIn, weight("table", Kind::kPanelsAny, {kVocab, kColumns}), out()}, {}},
    {TaskOp::kCpuRmsNorm, true, {in("in"), weight("weight", Kind::kWeightF32, {kColumns}), out()}, {kEps}},
    {TaskOp::kCpuQuantize, false, {in("in"), codes(kWrite), scales(kWrite), sums(kWrite)}, {}},
    {TaskOp::kCpuLinearI8,
     false,
     {codes(kRead), scales(kRead), sums(kRead), weight("weight", Kind::kPanelsI8, {kOut, kColumns}),
      bias(Kind::kWeightF32, kOut), out(kResult)},
     {}},
    {TaskOp::kCpuLinearF32,
     false,
     {in("in"), weight("weight", Kind::kPanelsFloat, {kOut, kColumns}), bias(Kind::kWeightF32, kOut), out(kResult)},
     {}},
    {TaskOp::kCpuRope,
     false,
     {OperandRule{"x", Kind::kActivation, kInPlace, kByHead}, kPositionsIn,
      weight("table", Kind::kWeightF32, {kTable, kPairs, kTwo})},
     {NamedAttr{"pairing", AttrRule::kFlag}, {"dims", AttrRule::kRotated}}},
    {TaskOp::kCpuKvWrite,
     false,
     {in("in", {kRows, kKvHeads, kHeadDim}), {"cache", Kind::kCache, kWrite, kCacheView}, kScalesWritten},
     {}},
    {TaskOp::kCpuAttention,
     false,
     {in("q", kByHead), cacheRows("K"), cacheRows("V"), kMaskIn,
      OperandRule{"workspace", Kind::kScratchF32, kWrite, {kFree}}, scalesOf("K scales"), scalesOf("V scales"),
      keyBias("bias", Kind::kWeightF32, {kKvHeads, kHeadDim}),
      keyBias("table", Kind::kWeightF32, {kTable, kPairs, kTwo}), out(kByHead)},
     {kScaleAttr,
      {"firstHead", AttrRule::kFirstHead},
      {"group", AttrRule::kGroup},
      kWindowAttr,
      kTurnPairing,
      kTurnDims}},
    {TaskOp::kCpuSiluMul, true, {in("gate"), in("up"), out()}, {}},
    {TaskOp::kCpuAddPartials,
     false,
     {OperandRule{"x", Kind::kActivation, kInPlace, kMatrix},
      {"partials", Kind::kScratchF32, kRead, {kPartials, kRows, kColumns}}},
     {}},
    {TaskOp::kCpuCopy, true, {in("in"), out()}, {}},
    {TaskOp::kCpuGeluMul, true, {in("gate"), in("up"), out()}, {}},
    {TaskOp::kCpuScale, true, {in("in"), out()}, {NamedAttr{"factor", AttrRule::kFinite}}},
    {TaskOp::kCpuTopK,
     false,
     {in("in"), topValues(kWrite, kTopList), topIds(kWrite, kTopList)},
     {NamedAttr{"first", AttrRule::kFirstId}}},
    {TaskOp::kCpuTopKMerge,
     false,
     {topValues(kRead, kTopParts), topIds(kRead, kTopParts), topValues(kWrite, kTopList), topIds(kWrite, kTopList)},
     {}},
};

}  // namespace

const TaskOpRule* taskOpRule(TaskOp op) {
  for (const TaskOpRule& rule : kRules) {
    if (rule.op == op) return &rule;
  }
  return nullptr;
}

}  // namespace firn::blob
