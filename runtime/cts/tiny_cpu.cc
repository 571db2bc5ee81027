// The tiny model for the cpu target: heads, FFN columns and vocabulary panels split by lanes, partial sums exchanged.
#include <string_view>
#include <utility>

#include "kernels/quant/panel.h"
#include "runtime/cts/tiny_cpu_scratch.h"
#include "runtime/cts/tiny_cpu_weights.h"

namespace firn::runtime::cts {
namespace {

using blob::OperandRecord;
using blob::Space;
using blob::SymbolKind;
using blob::TaskOp;
using Dims = std::vector<uint32_t>;

OperandRecord scratch(uint64_t offset, const Dims& dims, DType type = DType::kF32) {
  return blob::stridedOperand(Space::kScratch, type, dims, offset);
}

class Builder {
 public:
  Builder(const TinyWeights& weights, const TinyOptions& options, blob::Program& program, WeightArena& arena)
      : weights_(weights), options_(options), program_(program), packed_(packTinyCpuWeights(weights, options, arena)) {}

  void build();

 private:
  /// The weights of one layer in one lane, by param index.
  enum Param : uint32_t { kQ, kK, kV, kO, kGate, kUp, kDown, kKeyBias, kLaneParams };
  struct Bodies {
    uint32_t embed, block, last;
  };

  void task(TaskOp op, std::string_view name, std::vector<OperandRecord> operands, std::vector<uint64_t> attrs = {}) {
    program_.addTask({.op = op, .name = name, .operands = operands, .attrs = attrs});
  }
  void norm(const char* name, const OperandRecord& in, const OperandRecord& weight, const OperandRecord& out) {
    task(TaskOp::kCpuRmsNorm, name, {in, weight, out}, {blob::doubleAttr(kEpsilon)});
  }
  bool isQuantized() const { return options_.weights == DType::kQ8_0; }
  /// Codes, scales and sums of m x columns values.
  std::vector<OperandRecord> codes(const CodesAt& at, uint32_t m, uint32_t columns) const;
  void quantize(const char* name, const CodesAt& at, uint64_t in, uint32_t m, uint32_t columns);
  /// out[m, N] = in[m, K] * weight, from the codes where the weights are quantized.
  void linear(const char* name, const LaneScratch& s, uint64_t in, const OperandRecord& weight,
              const OperandRecord& out) {
    product(name, s, in, {weight, out});
  }
  /// The same of weight, bias and out.
  void product(const char* name, const LaneScratch& s, uint64_t in, const std::vector<OperandRecord>& others);

  OperandRecord fixed(const Dims& dims, uint64_t offset) const {
    return blob::stridedOperand(Space::kWeights, DType::kF32, dims, offset);
  }
  OperandRecord headPanels(const Share& rows) const;

  uint32_t embedBody(const Scratch& s);
  uint32_t blockBody(const Scratch& s);
  void attentionInputs(const Scratch& s, uint32_t lane);
  void attentionOutputs(const Scratch& s, uint32_t lane);
  void ffn(const Scratch& s, uint32_t lane);
  uint32_t copyOutBody(const Scratch& s);
  uint32_t headBody(const Scratch& s, bool readsHidden);
  /// The best logits of a lane, and those of all lanes.
  void topOfLane(const Scratch& s, uint32_t lane, const Share& ids, const OperandRecord& logits);
  void mergeTop(const Scratch& s);
  void addEntry(blob::EntryKind kind, uint32_t context, const Scratch& s, const Bodies& bodies);

  uint32_t workspaceFloats(const Scratch& s) const {
    return static_cast<uint32_t>(s.workspaceFloats()) - (options_.smallWorkspace ? 1 : 0);
  }
  OperandRecord cache(bool isV, const Share& kvHeads) const;
  /// Those of the cache; none where its type has none.
  std::vector<OperandRecord> scales(bool isV, const Share& kvHeads) const;
  OperandRecord keyBias(uint32_t lane, const Dims& dims) const;
  /// True when the cache holds keys without their bias.
  bool addsBiasToKeys() const { return options_.keyBias && options_.cacheType() == DType::kI8; }
  void write(const char* name, const OperandRecord& in, bool isV, const Share& kvHeads);
  OperandRecord weightParam(uint32_t lane, Param param, uint32_t rows, uint32_t columns) const;

  const TinyWeights& weights_;
  const TinyOptions& options_;
  blob::Program& program_;
  TinyCpuWeights packed_;
};

std::vector<OperandRecord> Builder::codes(const CodesAt& at, uint32_t m, uint32_t columns) const {
  return {scratch(at.codes, {options_.activationPlanes, m, columns}, DType::kI8), scratch(at.scales, {m, columns / 32}),
          scratch(at.sums, {m, columns / 32}, DType::kI32)};
}

void Builder::quantize(const char* name, const CodesAt& at, uint64_t in, uint32_t m, uint32_t columns) {
  if (!isQuantized()) return;
  std::vector<OperandRecord> operands = codes(at, m, columns);
  operands.insert(operands.begin(), scratch(in, {m, columns}));
  task(TaskOp::kCpuQuantize, name, std::move(operands));
}

void Builder::product(const char* name, const LaneScratch& s, uint64_t in, const std::vector<OperandRecord>& others) {
  const uint32_t m = others.back().dims[0], columns = others.front().dims[1];
  std::vector<OperandRecord> operands = {scratch(in, {m, columns})};
  if (isQuantized()) operands = codes(s.codes, m, columns);
  operands.insert(operands.end(), others.begin(), others.end());
  task(isQuantized() ? TaskOp::kCpuLinearI8 : TaskOp::kCpuLinearF32, name, std::move(operands));
}

void Builder::build() {
  for (const uint32_t rows : {1U, kChunks[0], kChunks[1]}) {
    const Scratch s(rows, options_.lanes);
    Bodies bodies{};
    bodies.embed = embedBody(s);
    bodies.block = blockBody(s);
    bodies.last = rows == 1 ? headBody(s, false) : copyOutBody(s);
    for (const uint32_t context : kContexts) {
      addEntry(rows == 1 ? blob::EntryKind::kGenerate : blob::EntryKind::kPrefill, context, s, bodies);
    }
  }
  for (const uint32_t rows : kBatchRows) {
    const Scratch s(rows, options_.lanes);
    Bodies bodies{};
    bodies.embed = embedBody(s);
    bodies.block = blockBody(s);
    bodies.last = headBody(s, false);
    for (const uint32_t context : kContexts) addEntry(blob::EntryKind::kBatch, context, s, bodies);
  }
  for (const uint32_t rows : kHeadRows) {
    const Scratch s(rows, options_.lanes);
    addEntry(blob::EntryKind::kHead, 0, s, {.embed = 0, .block = 0, .last = headBody(s, true)});
  }
}

OperandRecord Builder::headPanels(const Share& rows) const {
  const uint64_t panel = quant::panelBytes(weights_.embedding.type, 16, kEmbed).value_or(0);
  return blob::panelOperand(weights_.embedding.type, rows.count, kEmbed, packed_.embedding + rows.first / 16 * panel);
}

OperandRecord Builder::weightParam(uint32_t lane, Param param, uint32_t rows, uint32_t columns) const {
  OperandRecord operand = blob::panelOperand(options_.weights, rows, columns, 0);
  operand.base = static_cast<uint16_t>(4 + lane * kLaneParams + param);
  return operand;
}

OperandRecord Builder::cache(bool isV, const Share& kvHeads) const {
  OperandRecord operand = blob::stridedOperand(Space::kKv, options_.cacheType(), Dims{kvHeads.count, kKvRows, kHeadDim},
                                               kvPart(options_.cacheType()).rowsBytes / kKvHeads * kvHeads.first);
  operand.base = isV ? 3 : 2;
  return operand;
}

std::vector<OperandRecord> Builder::scales(bool isV, const Share& kvHeads) const {
  const blob::KvPart part = kvPart(options_.cacheType());
  if (part.scalesBytes == 0) return {};
  OperandRecord operand = blob::stridedOperand(Space::kKv, DType::kF32, Dims{kvHeads.count, kKvRows},
                                               part.rowsBytes + part.scalesBytes / kKvHeads * kvHeads.first);
  operand.base = isV ? 3 : 2;
  return {operand};
}

OperandRecord Builder::keyBias(uint32_t lane, const Dims& dims) const {
  OperandRecord operand = blob::stridedOperand(Space::kWeights, DType::kF32, dims, 0);
  operand.base = static_cast<uint16_t>(4 + lane * kLaneParams + kKeyBias);
  return operand;
}

void Builder::write(const char* name, const OperandRecord& in, bool isV, const Share& kvHeads) {
  std::vector<OperandRecord> operands = {in, cache(isV, kvHeads)};
  for (const OperandRecord& s : scales(isV, kvHeads)) operands.push_back(s);
  task(TaskOp::kCpuKvWrite, name, std::move(operands));
}

uint32_t Builder::embedBody(const Scratch& s) {
  const uint32_t body = program_.beginBody("embed");
  program_.beginSegment();
  for (uint32_t lane = 0; lane < options_.lanes; ++lane) {
    program_.beginLane();
    task(TaskOp::kCpuEmbed, "embed",
         {blob::symbolOperand(SymbolKind::kIds, DType::kI32, Dims{s.rows}), headPanels({.first = 0, .count = kVocab}),
          scratch(s.lane(lane).x, {s.rows, kEmbed})});
  }
  return body;
}

uint32_t Builder::blockBody(const Scratch& s) {
  const uint32_t body = program_.beginBody("block");
  const uint32_t lanes = options_.lanes;
  program_.addParam(Space::kWeights, kEmbed * sizeof(float));
  program_.addParam(Space::kWeights, kEmbed * sizeof(float));
  const uint64_t cacheBytes = kvPart(options_.cacheType()).bytes();
  program_.addParam(Space::kKv, cacheBytes);
  program_.addParam(Space::kKv, cacheBytes);
  const uint32_t q = kHeads * kHeadDim / lanes, kv = kKvHeads * kHeadDim / lanes, f = kFfn / lanes;
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    const std::pair<uint32_t, uint32_t> shapes[] = {{q, kEmbed}, {kv, kEmbed}, {kv, kEmbed}, {kEmbed, q},
                                                    {f, kEmbed}, {f, kEmbed},  {kEmbed, f}};
    for (const auto& [rows, columns] : shapes) {
      program_.addParam(Space::kWeights, blob::panelOperand(options_.weights, rows, columns, 0).bytes);
    }
    program_.addParam(Space::kWeights, kv * sizeof(float));
  }
  for (auto part : {&Builder::attentionInputs, &Builder::attentionOutputs, &Builder::ffn}) {
    program_.beginSegment();
    for (uint32_t lane = 0; lane < lanes; ++lane) {
      program_.beginLane();
      (this->*part)(s, lane);
    }
  }
  program_.beginSegment();
  for (uint32_t lane = 0; lane < lanes; ++lane) {
    program_.beginLane();
    task(TaskOp::kCpuAddPartials, "ffn_add",
         {scratch(s.lane(lane).x, {s.rows, kEmbed}), scratch(s.ffnPartialOf(0), {lanes, s.rows, kEmbed})});
  }
  return body;
}

void Builder::attentionInputs(const Scratch& s, uint32_t lane) {
  const uint32_t m = s.rows, lanes = options_.lanes;
  const LaneScratch& at = s.lane(lane);
  const Share heads = share(kHeads, lanes, lane), kvHeads = share(kKvHeads, lanes, lane);
  OperandRecord attnNorm = fixed({kEmbed}, 0);
  attnNorm.base = 0;
  norm("attn_norm", scratch(at.x, {m, kEmbed}), attnNorm, scratch(at.n, {m, kEmbed}));
  quantize("attn_in", at.codes, at.n, m, kEmbed);
  linear("attn_q", at, at.n, weightParam(lane, kQ, heads.count * kHeadDim, kEmbed),
         scratch(at.q, {m, heads.count * kHeadDim}));
  const uint32_t keyWidth = kvHeads.count * kHeadDim;
  std::vector<OperandRecord> key = {weightParam(lane, kK, keyWidth, kEmbed), scratch(at.k, {m, keyWidth})};
  if (options_.keyBias && !addsBiasToKeys()) key.insert(key.begin() + 1, keyBias(lane, {keyWidth}));
  product("attn_k", at, at.n, key);
  linear("attn_v", at, at.n, weightParam(lane, kV, kvHeads.count * kHeadDim, kEmbed),
         scratch(at.v, {m, kvHeads.count * kHeadDim}));
  const OperandRecord positions = blob::symbolOperand(SymbolKind::kPositions, DType::kI32, Dims{m});
  const OperandRecord table = fixed({kKvRows, kHeadDim / 2, 2}, packed_.ropeTable);
  task(TaskOp::kCpuRope, "rope_q", {scratch(at.q, {m, heads.count, kHeadDim}), positions, table}, {0, kHeadDim});
  task(TaskOp::kCpuRope, "rope_k", {scratch(at.k, {m, kvHeads.count, kHeadDim}), positions, table}, {0, kHeadDim});
  write("write_k", scratch(at.k, {m, kvHeads.count, kHeadDim}), false, kvHeads);
  write("write_v", scratch(at.v, {m, kvHeads.count, kHeadDim}), true, kvHeads);
}

void Builder::attentionOutputs(const Scratch& s, uint32_t lane) {
  const uint32_t m = s.rows, lanes = options_.lanes;
  const LaneScratch& at = s.lane(lane);
  const Share heads = share(kHeads, lanes, lane), kvHeads = share(kKvHeads, lanes, lane);
  const uint32_t inner = heads.count * kHeadDim;
  std::vector<OperandRecord> operands = {
      scratch(at.q, {m, heads.count, kHeadDim}), cache(false, kvHeads), cache(true, kvHeads),
      blob::symbolOperand(SymbolKind::kMask, DType::kU8, Dims{kKvRows}), scratch(at.workspace, {workspaceFloats(s)})};
  std::vector<uint64_t> attrs = {blob::doubleAttr(0.25), heads.first, kHeads / kKvHeads, 0};
  for (const bool isV : {false, true}) {
    for (const OperandRecord& scale : scales(isV, kvHeads)) operands.push_back(scale);
  }
  if (addsBiasToKeys()) {
    operands.push_back(keyBias(lane, {kvHeads.count, kHeadDim}));
    operands.push_back(fixed({kKvRows, kHeadDim / 2, 2}, packed_.ropeTable));
    attrs.insert(attrs.end(), {0, kHeadDim});
  }
  operands.push_back(scratch(at.a, {m, heads.count, kHeadDim}));
  task(TaskOp::kCpuAttention, "attention", std::move(operands), std::move(attrs));
  quantize("attn_out", at.codes, at.a, m, inner);
  linear("attn_o", at, at.a, weightParam(lane, kO, kEmbed, inner), scratch(s.partialOf(lane), {m, kEmbed}));
}

void Builder::ffn(const Scratch& s, uint32_t lane) {
  const uint32_t m = s.rows, lanes = options_.lanes;
  const LaneScratch& at = s.lane(lane);
  const uint32_t f = kFfn / lanes;
  OperandRecord ffnNorm = fixed({kEmbed}, 0);
  ffnNorm.base = 1;
  task(TaskOp::kCpuAddPartials, "attn_add", {scratch(at.x, {m, kEmbed}), scratch(s.partialOf(0), {lanes, m, kEmbed})});
  norm("ffn_norm", scratch(at.x, {m, kEmbed}), ffnNorm, scratch(at.n, {m, kEmbed}));
  quantize("ffn_in", at.codes, at.n, m, kEmbed);
  linear("gate", at, at.n, weightParam(lane, kGate, f, kEmbed), scratch(at.gate, {m, f}));
  linear("up", at, at.n, weightParam(lane, kUp, f, kEmbed), scratch(at.up, {m, f}));
  task(TaskOp::kCpuSiluMul, "silu_mul", {scratch(at.gate, {m, f}), scratch(at.up, {m, f}), scratch(at.gate, {m, f})});
  quantize("ffn_mid", at.codes, at.gate, m, f);
  linear("down", at, at.gate, weightParam(lane, kDown, kEmbed, f), scratch(s.ffnPartialOf(lane), {m, kEmbed}));
}

uint32_t Builder::copyOutBody(const Scratch& s) {
  const uint32_t body = program_.beginBody("hidden");
  program_.beginSegment();
  for (uint32_t lane = 0; lane < options_.lanes; ++lane) {
    program_.beginLane();
    if (lane != 0) continue;
    task(TaskOp::kCpuCopy, "hidden",
         {scratch(s.lane(0).x, {s.rows, kEmbed}),
          blob::symbolOperand(SymbolKind::kHidden, DType::kF32, Dims{s.rows, kEmbed})});
  }
  return body;
}

uint32_t Builder::headBody(const Scratch& s, bool readsHidden) {
  const Dims dims = {s.rows, kEmbed};
  const uint32_t body = program_.beginBody("head");
  program_.beginSegment();
  for (uint32_t lane = 0; lane < options_.lanes; ++lane) {
    // 80 rows are 5 panels: the first lane takes 3 of them when there are two.
    const uint32_t cut = options_.lanes == 1 ? kVocab : 48;
    const Share rows = lane == 0 ? Share{.first = 0, .count = cut} : Share{.first = cut, .count = kVocab - cut};
    const LaneScratch& at = s.lane(lane);
    program_.beginLane();
    norm("output_norm", readsHidden ? blob::symbolOperand(SymbolKind::kHidden, DType::kF32, dims) : scratch(at.x, dims),
         fixed({kEmbed}, packed_.outputNorm), scratch(at.n, dims));
    quantize("head_in", at.codes, at.n, s.rows, kEmbed);
    OperandRecord logits =
        blob::stridedOperand(Space::kSymbol, DType::kF32, Dims{s.rows, rows.count}, rows.first * sizeof(float));
    logits.base = static_cast<uint16_t>(SymbolKind::kLogits);
    logits.strides[0] = kVocab;
    logits.bytes = ((s.rows - 1) * kVocab + rows.count) * sizeof(float);
    linear("head", at, at.n, headPanels(rows), logits);
    if (options_.topTokens != 0) topOfLane(s, lane, rows, logits);
  }
  if (options_.topTokens != 0) mergeTop(s);
  return body;
}

void Builder::topOfLane(const Scratch& s, uint32_t lane, const Share& ids, const OperandRecord& logits) {
  const uint32_t top = options_.topTokens;
  const uint64_t skip = uint64_t{lane} * s.rows * top * sizeof(float);
  task(TaskOp::kCpuTopK, "top_k",
       {logits, scratch(s.topLogits + skip, {s.rows, top}), scratch(s.topIds + skip, {s.rows, top}, DType::kI32)},
       {ids.first});
}

void Builder::mergeTop(const Scratch& s) {
  const uint32_t top = options_.topTokens;
  const Dims parts = {options_.lanes, s.rows, top};
  program_.beginSegment();
  for (uint32_t lane = 0; lane < options_.lanes; ++lane) {
    program_.beginLane();
    if (lane + 1 != options_.lanes) continue;
    task(TaskOp::kCpuTopKMerge, "top_k",
         {scratch(s.topLogits, parts), scratch(s.topIds, parts, DType::kI32),
          blob::symbolOperand(SymbolKind::kTopLogits, DType::kF32, Dims{s.rows, top}),
          blob::symbolOperand(SymbolKind::kTopIds, DType::kI32, Dims{s.rows, top})});
  }
}

void Builder::addEntry(blob::EntryKind kind, uint32_t context, const Scratch& s, const Bodies& bodies) {
  program_.beginEntry(kind, s.rows, context);
  program_.entries.back().scratchBytes = s.arena.end();
  program_.entries.back().predictedPicoseconds = 1000 * s.rows + context;
  program_.addStandardSymbols();
  if (kind != blob::EntryKind::kHead) {
    program_.addCall(bodies.embed, blob::kNoLayer, {});
    for (uint32_t layer = 0; layer < kLayers; ++layer) program_.addCall(bodies.block, layer, packed_.layerArgs[layer]);
  }
  program_.addCall(bodies.last, blob::kNoLayer, {});
}

}  // namespace

void addCpuProgram(const TinyWeights& weights, const TinyOptions& options, blob::Program& program, WeightArena& arena) {
  Builder(weights, options, program, arena).build();
}

}  // namespace firn::runtime::cts
