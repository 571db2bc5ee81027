#include "blob/npu_task_rules.h"

namespace firn::blob {

namespace {

using machine::Engine;

constexpr std::array<DType, 2> kF32 = {DType::kF32, DType::kF32};
constexpr std::array<DType, 2> kF16 = {DType::kF16, DType::kF16};
constexpr std::array<DType, 2> kI32 = {DType::kI32, DType::kI32};
constexpr std::array<DType, 2> kBytes = {DType::kU8, DType::kU8};
constexpr std::array<DType, 2> kEither = {DType::kF32, DType::kF16};

constexpr NpuOperandRule in(std::string_view name, std::string_view dims, std::array<DType, 2> types = kF32) {
  return {name, dims, types};
}
constexpr NpuOperandRule out(std::string_view name, std::string_view dims, std::array<DType, 2> types = kF32) {
  return {name, dims, types, Access::kWrite};
}
constexpr NpuOperandRule inPlace(std::string_view name, std::string_view dims, std::array<DType, 2> types = kF32) {
  return {name, dims, types, Access::kReadWrite};
}
constexpr NpuOperandRule optional(NpuOperandRule rule) {
  rule.isOptional = true;
  return rule;
}
constexpr NpuOperandRule at(NpuPlace place, NpuOperandRule rule) {
  rule.places = static_cast<uint8_t>(place);
  return rule;
}
constexpr NpuOperandRule orTransposed(NpuOperandRule rule) {
  rule.mayBeTransposed = true;
  return rule;
}
/// An end of a copy.
constexpr NpuOperandRule end(std::string_view name, Access access, uint8_t places) {
  return {.name = name, .dims = kAnyDims, .access = access, .places = places, .isAnyType = true};
}

constexpr uint8_t kSources =
    NpuPlace::kAnyTile | NpuPlace::kScratch | NpuPlace::kWeights | NpuPlace::kKv | NpuPlace::kSymbol;
constexpr uint8_t kSinks = NpuPlace::kAnyTile | NpuPlace::kScratch | NpuPlace::kSymbol;

constexpr NamedAttr number(std::string_view name) { return {name, AttrRule::kWindow}; }
constexpr NamedAttr flag(std::string_view name) { return {name, AttrRule::kFlag}; }
constexpr NamedAttr kAccumulate = {"accumulate", AttrRule::kFlag};

constexpr NpuTaskRule elementwise(TaskOp op, NpuOperandRule result, NamedAttr attr = {}) {
  return {op, Engine::kShave, true, {in("in", "mn"), result}, {attr}};
}
constexpr NpuTaskRule pairwise(TaskOp op, std::array<std::string_view, 2> names, std::array<DType, 2> types) {
  return {op, Engine::kShave, true, {in(names[0], "mn"), in(names[1], "mn"), out("out", "mn", types)}, {}};
}

constexpr NpuTaskRule kRules[] = {
    {TaskOp::kNpuCopy,
     Engine::kDma,
     false,
     {end("src", Access::kRead, kSources), end("dst", Access::kWrite, kSinks)},
     {NamedAttr{"tiles", AttrRule::kTiles}}},
    {TaskOp::kNpuKvWrite,
     Engine::kDma,
     false,
     {at(NpuPlace::kAnyTile, in("in", "mhd", kF16)), at(NpuPlace::kKv, out("cache", "hTd", kF16))},
     {number("firstRow")}},

    {TaskOp::kNpuMatmul,
     Engine::kDpu,
     false,
     {in("a", "mk", kF16), orTransposed(in("w", "nk", kF16)), out("out", "mn", kEither)},
     {kAccumulate}},
    {TaskOp::kNpuMatmulGroups,
     Engine::kDpu,
     false,
     {in("a", "mk", kF16), in("codes", "nb", kBytes), out("out", "gmn")},
     {NamedAttr{"bits", AttrRule::kCodeBits}, NamedAttr{"zero", AttrRule::kCodeZero}}},

    {TaskOp::kNpuEmbed,
     Engine::kShave,
     false,
     {in("ids", "m", kI32), at(NpuPlace::kWeights, in("table", "Vb", kBytes)), out("out", "mk")},
     {NamedAttr{"type", AttrRule::kWeightType}}},
    {TaskOp::kNpuRmsNorm,
     Engine::kShave,
     true,
     {in("in", "mn"), in("weight", "n"), out("out", "mn", kEither)},
     {NamedAttr{"eps", AttrRule::kPositive}}},
    {TaskOp::kNpuRope,
     Engine::kShave,
     true,
     {in("in", "mhd"), in("positions", "m", kI32), in("freqs", "p"), out("out", "mhd", kEither)},
     {flag("pairing"), NamedAttr{"dims", AttrRule::kRotated}, NamedAttr{"magnitude", AttrRule::kPositive}}},
    {TaskOp::kNpuExpand,
     Engine::kShave,
     false,
     {in("in", "nb", kBytes), out("out", "nk", kF16)},
     {NamedAttr{"type", AttrRule::kWeightType}}},
    {TaskOp::kNpuAccumulate,
     Engine::kShave,
     false,
     {in("partials", "gmn"), in("scales", "ng", kF16), optional(in("mins", "ng", kF16)), optional(in("sums", "mg")),
      inPlace("out", "mn")},
     {kAccumulate}},
    {TaskOp::kNpuGroupSums, Engine::kShave, false, {in("a", "mk", kF16), out("sums", "mg")}, {}},
    {TaskOp::kNpuBias, Engine::kShave, false, {inPlace("x", "mn"), in("bias", "n")}, {}},
    pairwise(TaskOp::kNpuAdd, {"a", "b"}, kF32),
    pairwise(TaskOp::kNpuMul, {"a", "b"}, kF32),
    pairwise(TaskOp::kNpuSiluMul, {"gate", "up"}, kEither),
    pairwise(TaskOp::kNpuGeluMul, {"gate", "up"}, kEither),
    elementwise(TaskOp::kNpuScale, out("out", "mn"), {"factor", AttrRule::kFinite}),
    elementwise(TaskOp::kNpuSoftcap, out("out", "mn"), {"cap", AttrRule::kPositive}),
    elementwise(TaskOp::kNpuCast, out("out", "mn", kF16)),
    {TaskOp::kNpuSoftmax,
     Engine::kShave,
     false,
     {in("scores", "mr"), in("mask", "r", kBytes), in("row0", "1", kI32), inPlace("max", "m"), inPlace("sum", "m"),
      out("factor", "m"), out("probs", "mr", kF16)},
     {NamedAttr{"scale", AttrRule::kPositive}, NamedAttr{"firstRow", AttrRule::kFirstCacheRow}, number("firstToken"),
      NamedAttr{"group", AttrRule::kGroup}, number("window"), flag("isFirst")}},
    {TaskOp::kNpuRescale, Engine::kShave, false, {inPlace("acc", "md"), in("factor", "m")}, {}},
    {TaskOp::kNpuFinish, Engine::kShave, false, {in("acc", "md"), in("sum", "m"), out("out", "md", kF16)}, {}},
    {TaskOp::kNpuClean,
     Engine::kShave,
     false,
     {inPlace("v", "rd", kF16), in("mask", "r", kBytes), in("row0", "1", kI32)},
     {number("firstRow"), number("firstToken"), NamedAttr{"window", AttrRule::kWindow}}},
    {TaskOp::kNpuTopK,
     Engine::kShave,
     false,
     {in("in", "mn"), out("values", "mt"), out("ids", "mt", kI32)},
     {NamedAttr{"first", AttrRule::kFirstId}}},
    {TaskOp::kNpuTopKMerge,
     Engine::kShave,
     false,
     {in("values", "pmt"), in("ids", "pmt", kI32), out("values", "mt"), out("ids", "mt", kI32)},
     {}},
    {TaskOp::kNpuEmbedGroups,
     Engine::kShave,
     false,
     {in("ids", "m", kI32), at(NpuPlace::kWeights, in("codes", "Vb", kBytes)),
      at(NpuPlace::kWeights, in("scales", "Vg", kF16)), optional(at(NpuPlace::kWeights, in("mins", "Vg", kF16))),
      out("out", "mk")},
     {NamedAttr{"bits", AttrRule::kCodeBits}, NamedAttr{"zero", AttrRule::kCodeZero}}},
    {TaskOp::kNpuExpandGroups,
     Engine::kShave,
     false,
     {in("codes", "nb", kBytes), in("scales", "ng", kF16), optional(in("mins", "ng", kF16)), out("out", "nk", kF16)},
     {NamedAttr{"bits", AttrRule::kCodeBits}, NamedAttr{"zero", AttrRule::kCodeZero}}},
};

}  // namespace

const NpuTaskRule* npuTaskRule(TaskOp op) {
  for (const NpuTaskRule& rule : kRules) {
    if (rule.op == op) return &rule;
  }
  return nullptr;
}

Access npuAccess(TaskOp op, uint32_t index, uint32_t count, std::span<const uint64_t> attrs) {
  constexpr size_t kIsFirst = 5;  // of softmax
  const Access access = npuTaskRule(op)->operand(index, count).access;
  if (access == Access::kRead) return access;
  if (op == TaskOp::kNpuMatmul || op == TaskOp::kNpuAccumulate) {
    return attrs[0] != 0 ? Access::kReadWrite : Access::kWrite;
  }
  return op == TaskOp::kNpuSoftmax && attrs[kIsFirst] != 0 ? Access::kWrite : access;
}

}  // namespace firn::blob
