// The tiny model for the reference target: every graph op one task, one lane.
#include <array>
#include <string_view>

#include "runtime/cts/tiny_model.h"

namespace firn::runtime::cts {
namespace {

using blob::OperandRecord;
using blob::Space;
using blob::SymbolKind;
using blob::TaskOp;
using Dims = std::vector<uint32_t>;

constexpr uint32_t kInner = kHeads * kHeadDim;
constexpr uint32_t kKvInner = kKvHeads * kHeadDim;

constexpr uint64_t kCacheElements = uint64_t{kKvHeads} * kKvRows * kHeadDim;

// Scratch of one entry of m rows. Bodies of the same m share it.
struct Scratch {
  explicit Scratch(uint32_t m) : rows(m) {}

  uint64_t floats(uint64_t columns) { return arena.take(rows * columns * sizeof(float)); }

  uint32_t rows;
  ScratchArena arena;
  uint64_t x = floats(kEmbed);
  uint64_t n = floats(kEmbed);
  uint64_t q = floats(kInner);
  uint64_t k = floats(kKvInner);
  uint64_t v = floats(kKvInner);
  uint64_t a = floats(kInner);
  uint64_t g = floats(kFfn);
  uint64_t u = floats(kFfn);
  uint64_t rowsF32 = arena.take(2 * kCacheElements * sizeof(float));
};

OperandRecord scratch(uint64_t offset, const Dims& dims) {
  return blob::stridedOperand(Space::kScratch, DType::kF32, dims, offset);
}

OperandRecord fixedWeight(const TinyTensor& tensor, uint64_t offset) {
  const Dims dims = tensor.rows == 1 ? Dims{tensor.columns} : Dims{tensor.rows, tensor.columns};
  return blob::stridedOperand(Space::kWeights, tensor.type, dims, offset);
}

class Builder {
 public:
  Builder(const TinyWeights& weights, const TinyOptions& options, blob::Program& program, WeightArena& arena)
      : weights_(weights),
        options_(options),
        kvType_(options.cacheType()),
        hasScales_(kvType_ == DType::kI8),
        program_(program),
        arena_(arena) {}

  void build();

 private:
  struct Bodies {
    uint32_t embed, block, copyOut, head;
  };

  void task(TaskOp op, std::string_view name, std::vector<OperandRecord> operands, std::vector<uint64_t> attrs = {}) {
    program_.addTask({.op = op, .name = name, .operands = operands, .attrs = attrs});
  }
  void beginTasks() {
    program_.beginSegment();
    program_.beginLane();
  }

  OperandRecord param(const TinyTensor& tensor) {
    OperandRecord operand = fixedWeight(tensor, 0);
    operand.base = program_.addParam(Space::kWeights, operand.bytes);
    return operand;
  }
  /// K or V of the layer: its rows and, where the type has them, their scales.
  struct Cache {
    OperandRecord rows;
    std::vector<OperandRecord> scales;
  };
  Cache cacheParam() {
    Cache cache{.rows = blob::stridedOperand(Space::kKv, kvType_, Dims{kKvHeads, kKvRows, kHeadDim}, 0), .scales = {}};
    cache.rows.base = program_.addParam(Space::kKv, kvPart(kvType_).bytes());
    if (hasScales_) {
      cache.scales = {
          blob::stridedOperand(Space::kKv, DType::kF32, Dims{kKvHeads, kKvRows}, kvPart(kvType_).rowsBytes)};
      cache.scales[0].base = cache.rows.base;
    }
    return cache;
  }
  void write(std::string_view name, const OperandRecord& in, const Cache& cache) {
    std::vector<OperandRecord> operands = {in, cache.rows};
    operands.insert(operands.end(), cache.scales.begin(), cache.scales.end());
    task(TaskOp::kRefStateWrite, name, std::move(operands));
  }
  uint32_t embedBody(const Scratch& s);
  uint32_t blockBody(const Scratch& s);
  uint32_t copyOutBody(const Scratch& s);
  uint32_t headBody(const Scratch& s, bool readsHidden);
  void addEntry(blob::EntryKind kind, uint32_t rows, uint32_t context, const Scratch& s, const Bodies& bodies);

  const TinyWeights& weights_;
  const TinyOptions& options_;
  DType kvType_;
  bool hasScales_;
  blob::Program& program_;
  WeightArena& arena_;
  uint64_t embedding_ = 0;
  uint64_t outputNorm_ = 0;
  uint64_t freqs_ = 0;
  std::vector<std::vector<uint64_t>> layerArgs_;
};

void Builder::build() {
  embedding_ = arena_.add(weights_.embedding.bytes);
  outputNorm_ = arena_.add(weights_.outputNorm.bytes);
  freqs_ = arena_.add(std::as_bytes(std::span(weights_.ropeFreqs)));
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    const TinyLayer& t = weights_.layers[layer];
    std::vector<uint64_t> args;
    for (const TinyTensor* tensor :
         {&t.attnNorm, &t.q, &t.k, &t.v, &t.o, &t.ffnNorm, &t.gate, &t.up, &t.down, &t.kBias}) {
      args.push_back(arena_.add(tensor->bytes));
    }
    args.push_back(kvOffset(layer, false, kvType_));
    args.push_back(kvOffset(layer, true, kvType_));
    layerArgs_.push_back(args);
  }
  for (const uint32_t rows : {1U, kChunks[0], kChunks[1]}) {
    const Scratch s(rows);
    Bodies bodies{};
    bodies.embed = embedBody(s);
    bodies.block = blockBody(s);
    if (rows == 1) {
      bodies.head = headBody(s, false);
    } else {
      bodies.copyOut = copyOutBody(s);
    }
    for (const uint32_t context : kContexts) {
      addEntry(rows == 1 ? blob::EntryKind::kGenerate : blob::EntryKind::kPrefill, rows, context, s, bodies);
    }
  }
  for (const uint32_t rows : kBatchRows) {
    const Scratch s(rows);
    Bodies bodies{};
    bodies.embed = embedBody(s);
    bodies.block = blockBody(s);
    bodies.head = headBody(s, false);
    for (const uint32_t context : kContexts) addEntry(blob::EntryKind::kBatch, rows, context, s, bodies);
  }
  for (const uint32_t rows : kHeadRows) {
    const Scratch s(rows);
    const Bodies bodies{.embed = 0, .block = 0, .copyOut = 0, .head = headBody(s, true)};
    addEntry(blob::EntryKind::kHead, rows, 0, s, bodies);
  }
}

uint32_t Builder::embedBody(const Scratch& s) {
  const uint32_t body = program_.beginBody("embed");
  beginTasks();
  task(TaskOp::kRefEmbed, "embed",
       {blob::symbolOperand(SymbolKind::kIds, DType::kI32, Dims{s.rows}), fixedWeight(weights_.embedding, embedding_),
        scratch(s.x, {s.rows, kEmbed})});
  return body;
}

uint32_t Builder::blockBody(const Scratch& s) {
  const TinyLayer& t = weights_.layers[0];
  const uint32_t m = s.rows;
  const uint32_t body = program_.beginBody("block");
  const OperandRecord attnNorm = param(t.attnNorm);
  const OperandRecord q = param(t.q), k = param(t.k), v = param(t.v), o = param(t.o);
  const OperandRecord ffnNorm = param(t.ffnNorm);
  const OperandRecord gate = param(t.gate), up = param(t.up), down = param(t.down);
  OperandRecord kBias = param(t.kBias);
  const Cache keys = cacheParam(), values = cacheParam();
  const OperandRecord x = scratch(s.x, {m, kEmbed}), n = scratch(s.n, {m, kEmbed});
  const OperandRecord qHeads = scratch(s.q, {m, kHeads, kHeadDim}), kHeadsOf = scratch(s.k, {m, kKvHeads, kHeadDim});
  const OperandRecord vHeads = scratch(s.v, {m, kKvHeads, kHeadDim});
  const OperandRecord positions = blob::symbolOperand(SymbolKind::kPositions, DType::kI32, Dims{m});
  const OperandRecord mask = blob::symbolOperand(SymbolKind::kMask, DType::kU8, Dims{kKvRows});
  const OperandRecord freqs = blob::stridedOperand(Space::kWeights, DType::kF32, Dims{kHeadDim / 2}, freqs_);
  const std::vector<uint64_t> rope = {0, kHeadDim, blob::doubleAttr(1.0)};

  beginTasks();
  task(TaskOp::kRefRmsNorm, "attn_norm", {x, attnNorm, n}, {blob::doubleAttr(kEpsilon)});
  task(TaskOp::kRefLinear, "attn_q", {n, q, scratch(s.q, {m, kInner})});
  std::vector<OperandRecord> projectKeys = {n, k, scratch(s.k, {m, kKvInner})};
  if (options_.keyBias && !hasScales_) projectKeys.insert(projectKeys.begin() + 2, kBias);
  task(TaskOp::kRefLinear, "attn_k", std::move(projectKeys));
  task(TaskOp::kRefLinear, "attn_v", {n, v, scratch(s.v, {m, kKvInner})});
  task(TaskOp::kRefRope, "rope_q", {qHeads, positions, freqs, qHeads}, rope);
  task(TaskOp::kRefRope, "rope_k", {kHeadsOf, positions, freqs, kHeadsOf}, rope);
  write("write_k", kHeadsOf, keys);
  write("write_v", vHeads, values);
  std::vector<OperandRecord> operands = {qHeads, keys.rows, values.rows, mask};
  std::vector<uint64_t> attrs = {blob::doubleAttr(0.25), 0};
  if (kvType_ != DType::kF32) operands.push_back(scratch(s.rowsF32, {2, kKvHeads, kKvRows, kHeadDim}));
  if (hasScales_) {
    operands.push_back(keys.scales[0]);
    operands.push_back(values.scales[0]);
  }
  if (options_.keyBias && hasScales_) {
    kBias.rank = 2;
    kBias.dims = {kKvHeads, kHeadDim, 1, 1};
    kBias.strides = {kHeadDim, 1, 0, 0};
    operands.push_back(kBias);
    operands.push_back(freqs);
    attrs.insert(attrs.end(), rope.begin(), rope.end());
  }
  operands.push_back(scratch(s.a, {m, kHeads, kHeadDim}));
  task(TaskOp::kRefAttention, "attention", std::move(operands), std::move(attrs));
  task(TaskOp::kRefLinear, "attn_o", {scratch(s.a, {m, kInner}), o, n});
  task(TaskOp::kRefAdd, "attn_add", {x, n, x});
  task(TaskOp::kRefRmsNorm, "ffn_norm", {x, ffnNorm, n}, {blob::doubleAttr(kEpsilon)});
  task(TaskOp::kRefLinear, "gate", {n, gate, scratch(s.g, {m, kFfn})});
  task(TaskOp::kRefLinear, "up", {n, up, scratch(s.u, {m, kFfn})});
  task(TaskOp::kRefSilu, "silu", {scratch(s.g, {m, kFfn}), scratch(s.g, {m, kFfn})});
  task(TaskOp::kRefMul, "mul", {scratch(s.g, {m, kFfn}), scratch(s.u, {m, kFfn}), scratch(s.g, {m, kFfn})});
  task(TaskOp::kRefLinear, "down", {scratch(s.g, {m, kFfn}), down, n});
  task(TaskOp::kRefAdd, "ffn_add", {x, n, x});
  return body;
}

uint32_t Builder::copyOutBody(const Scratch& s) {
  const uint32_t body = program_.beginBody("hidden");
  beginTasks();
  task(TaskOp::kRefCopy, "hidden",
       {scratch(s.x, {s.rows, kEmbed}), blob::symbolOperand(SymbolKind::kHidden, DType::kF32, Dims{s.rows, kEmbed})});
  return body;
}

uint32_t Builder::headBody(const Scratch& s, bool readsHidden) {
  const Dims dims = {s.rows, kEmbed};
  const OperandRecord logits = blob::symbolOperand(SymbolKind::kLogits, DType::kF32, Dims{s.rows, kVocab});
  const uint32_t body = program_.beginBody("head");
  beginTasks();
  task(TaskOp::kRefRmsNorm, "output_norm",
       {readsHidden ? blob::symbolOperand(SymbolKind::kHidden, DType::kF32, dims) : scratch(s.x, dims),
        fixedWeight(weights_.outputNorm, outputNorm_), scratch(s.n, dims)},
       {blob::doubleAttr(kEpsilon)});
  task(TaskOp::kRefLinear, "head", {scratch(s.n, dims), fixedWeight(weights_.embedding, embedding_), logits});
  if (options_.topTokens == 0) return body;
  const Dims best = {s.rows, options_.topTokens};
  task(TaskOp::kRefTopK, "top_k",
       {logits, blob::symbolOperand(SymbolKind::kTopLogits, DType::kF32, best),
        blob::symbolOperand(SymbolKind::kTopIds, DType::kI32, best)});
  return body;
}

void Builder::addEntry(blob::EntryKind kind, uint32_t rows, uint32_t context, const Scratch& s, const Bodies& bodies) {
  program_.beginEntry(kind, rows, context);
  program_.entries.back().scratchBytes = s.arena.end();
  program_.entries.back().predictedPicoseconds = 1000 * rows + context;
  program_.addStandardSymbols();
  if (kind != blob::EntryKind::kHead) {
    program_.addCall(bodies.embed, blob::kNoLayer, {});
    for (uint32_t layer = 0; layer < kLayers; ++layer) program_.addCall(bodies.block, layer, layerArgs_[layer]);
  }
  program_.addCall(kind == blob::EntryKind::kPrefill ? bodies.copyOut : bodies.head, blob::kNoLayer, {});
}

}  // namespace

void addReferenceProgram(const TinyWeights& weights, const TinyOptions& options, blob::Program& program,
                         WeightArena& arena) {
  Builder(weights, options, program, arena).build();
}

}  // namespace firn::runtime::cts
