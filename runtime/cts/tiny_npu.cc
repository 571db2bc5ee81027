// The tiny model for the npu target on a machine of two tiles: each has one KV head with its query heads, and half of
// the columns of every linear; what both need is multicast. Attention goes over blocks of cache rows.
#include <array>

#include "blob/machine/sample_machine_for_test.h"
#include "runtime/cts/tiny_npu_layout.h"
#include "runtime/cts/tiny_npu_weights.h"

namespace firn::runtime::cts {
namespace {

using blob::OperandRecord;
using blob::Space;
using blob::SymbolKind;
using blob::TaskOp;

const NpuTaskList::Attrs kSignedBytes = {8, 0};   // bits and zero of codes
constexpr uint32_t kPerTile = kGroup * kHeadDim;  // columns of the queries of a tile

/// A matrix as operands of a body: rows [N, bytes], and the scales of q8_0.
struct MatrixOperands {
  OperandRecord rows{};
  OperandRecord scales{};
};

OperandRecord based(OperandRecord operand, uint32_t base) {
  operand.base = static_cast<uint16_t>(base);
  return operand;
}

OperandRecord weightAt(DType type, const Dims& dims, uint64_t offset) {
  return blob::stridedOperand(Space::kWeights, type, dims, offset);
}

class Builder {
 public:
  Builder(const TinyWeights& weights, const TinyOptions& options, blob::Program& program, WeightArena& arena)
      : weights_(weights),
        options_(options),
        program_(program),
        packed_(packTinyNpuWeights(weights, options, arena)),
        machine_(machine::sampleMachine()) {}

  void build();

 private:
  /// The params of a body of a layer, in the order of TinyNpuWeights::layerArgs.
  struct Params {
    OperandRecord attnNorm{}, ffnNorm{}, keyBias{};
    std::array<MatrixOperands, kNpuWeights> matrices;
    std::array<uint16_t, 2> cache{};  ///< K, V

    const MatrixOperands& operator[](NpuWeight weight) const { return matrices[static_cast<size_t>(weight)]; }
  };
  /// What a body works with: its tasks, its places, and the values that all its parts need.
  struct Body {
    explicit Body(const machine::Machine& machine, uint32_t m) : tasks(machine), at(m) {}

    NpuTaskList tasks;
    NpuLayout at;
    NpuPlace x = at.f32(kEmbed);
    NpuPlace normed = at.f16(kEmbed);
    NpuPlace normWeight = at.take(DType::kF32, {kEmbed});
  };
  /// What attention needs beside the queries.
  struct Mask {
    NpuPlace mask, row0;
  };

  bool isQuantized() const { return options_.weights == DType::kQ8_0; }
  uint32_t rowBytes(uint32_t columns) const {
    return isQuantized() ? columns : static_cast<uint32_t>(columns * sizeof(float));
  }
  /// [N, K] from `at`, in params or at fixed offsets.
  MatrixOperands matrixOperands(uint32_t n, uint32_t k, const NpuMatrix& at) const {
    return {.rows = weightAt(DType::kU8, {n, rowBytes(k)}, at.rows),
            .scales = weightAt(DType::kF16, {n, isQuantized() ? k / 32 : 1}, at.scales)};
  }
  OperandRecord residual(uint32_t m) const {
    return blob::stridedOperand(Space::kScratch, DType::kF32, Dims{m, kEmbed}, 0);
  }

  Params addParams();
  void linear(Body& b, std::string_view name, const NpuPlace& in, const MatrixOperands& matrix, const NpuPlace& out);
  void norm(Body& b, std::string_view name, const OperandRecord& weight);
  void addToResidual(Body& b, std::string_view name, const NpuPlace& addend, bool isLast);
  void exchange(Body& b, std::string_view name, const NpuPlace& part, const NpuPlace& whole);
  void attention(Body& b, const Params& params, uint32_t context);
  void attendBlocks(Body& b, const Params& params, const NpuPlace& q, const NpuPlace& out, const Mask& mask);
  void topLists(Body& b, const NpuPlace& logits);

  uint32_t embedBody(uint32_t m);
  uint32_t blockBody(uint32_t m, uint32_t context);
  uint32_t copyOutBody(uint32_t m);
  uint32_t headBody(uint32_t m, bool readsHidden);
  void addEntry(blob::EntryKind kind, uint32_t m, uint32_t context, const std::vector<uint32_t>& bodies);

  const TinyWeights& weights_;
  const TinyOptions& options_;
  blob::Program& program_;
  TinyNpuWeights packed_;
  machine::Machine machine_;
};

Builder::Params Builder::addParams() {
  const auto param = [&](OperandRecord operand) {
    return based(operand, program_.addParam(Space::kWeights, operand.bytes));
  };
  Params params;
  params.attnNorm = param(weightAt(DType::kF32, {kEmbed}, 0));
  params.ffnNorm = param(weightAt(DType::kF32, {kEmbed}, 0));
  params.keyBias = param(weightAt(DType::kF32, {kKvHeads * kHeadDim}, 0));
  for (uint32_t i = 0; i < kNpuWeights; ++i) {
    const TinyTensor& tensor = npuTensor(weights_.layers[0], static_cast<NpuWeight>(i));
    const MatrixOperands matrix = matrixOperands(tensor.rows, tensor.columns, {});
    params.matrices[i] = {.rows = param(matrix.rows), .scales = param(matrix.scales)};
  }
  for (uint16_t& base : params.cache) base = program_.addParam(Space::kKv, kvPart(options_.cacheType()).bytes());
  return params;
}

// Tile t computes columns [t * n, (t + 1) * n) of the result, n being those of `out`. Codes are multiplied as they are,
// or expanded first where the rows are long: so both ways are gone.
void Builder::linear(Body& b, std::string_view name, const NpuPlace& in, const MatrixOperands& matrix,
                     const NpuPlace& out) {
  const uint32_t n = out.dims[1], k = in.dims[1], groups = k / 32, m = b.at.rows;
  const bool isExpanded = !isQuantized() || k > kEmbed;
  const NpuPlace rows = b.at.take(DType::kU8, {n, rowBytes(k)}), scales = b.at.take(DType::kF16, {n, groups});
  const NpuPlace expanded = b.at.take(DType::kF16, {n, k}), partials = b.at.take(DType::kF32, {groups, m, n});
  for (uint32_t t = 0; t < kTiles; ++t) {
    b.tasks.copy(name, rowsOf(matrix.rows, t * n, n), rows.in(t));
    if (isQuantized()) b.tasks.copy(name, rowsOf(matrix.scales, t * n, n), scales.in(t));
    if (!isExpanded) {
      b.tasks.dpu(t, TaskOp::kNpuMatmulGroups, name, {in.in(t), rows.in(t), partials.in(t)}, kSignedBytes);
      b.tasks.shave(t, TaskOp::kNpuAccumulate, name, {partials.in(t), scales.in(t), out.in(t)}, {0});
      continue;
    }
    if (isQuantized()) {
      b.tasks.shave(t, TaskOp::kNpuExpandGroups, name, {rows.in(t), scales.in(t), expanded.in(t)}, kSignedBytes);
    } else {
      b.tasks.shave(t, TaskOp::kNpuExpand, name, {rows.in(t), expanded.in(t)}, {static_cast<uint64_t>(DType::kF32)});
    }
    b.tasks.dpu(t, TaskOp::kNpuMatmul, name, {in.in(t), expanded.in(t), out.in(t)}, {0});
  }
}

void Builder::norm(Body& b, std::string_view name, const OperandRecord& weight) {
  b.tasks.copy(name, weight, b.normWeight.in(0), kBothTiles);
  for (uint32_t t = 0; t < kTiles; ++t) {
    b.tasks.shave(t, TaskOp::kNpuRmsNorm, name, {b.x.in(t), b.normWeight.in(t), b.normed.in(t)},
                  {blob::doubleAttr(kEpsilon)});
  }
}

// Each tile adds its columns; then both have all of them, or scratch has.
void Builder::addToResidual(Body& b, std::string_view name, const NpuPlace& addend, bool isLast) {
  const uint32_t n = kEmbed / kTiles;
  for (uint32_t t = 0; t < kTiles; ++t) {
    b.tasks.shave(t, TaskOp::kNpuAdd, name, {columnsOf(b.x.in(t), t * n, n), addend.in(t), addend.in(t)});
    if (isLast) b.tasks.copy(name, addend.in(t), columnsOf(residual(b.at.rows), t * n, n));
  }
  if (!isLast) exchange(b, name, addend, b.x);
}

// The columns of each tile, side by side in all of them.
void Builder::exchange(Body& b, std::string_view name, const NpuPlace& part, const NpuPlace& whole) {
  const uint32_t n = part.dims[1];
  for (uint32_t t = 0; t < kTiles; ++t) {
    b.tasks.copy(name, part.in(t), columnsOf(whole.in(t), t * n, n), kBothTiles);
  }
}

void Builder::attention(Body& b, const Params& params, uint32_t context) {
  const uint32_t m = b.at.rows;
  const NpuPlace positions = b.at.take(DType::kI32, {m}), freqs = b.at.take(DType::kF32, {kHeadDim / 2});
  const Mask mask = {b.at.take(DType::kU8, {context}), b.at.take(DType::kI32, {1})};
  b.tasks.copy("positions", blob::symbolOperand(SymbolKind::kPositions, DType::kI32, Dims{m}), positions.in(0),
               kBothTiles);
  b.tasks.copy("freqs", weightAt(DType::kF32, freqs.dims, packed_.freqs), freqs.in(0), kBothTiles);
  b.tasks.copy("mask", blob::symbolOperand(SymbolKind::kMask, DType::kU8, Dims{context}), mask.mask.in(0), kBothTiles);
  b.tasks.copy("row0", blob::symbolOperand(SymbolKind::kRow0, DType::kI32, Dims{1}), mask.row0.in(0), kBothTiles);
  const NpuPlace q = b.at.f32(kPerTile), k = b.at.f32(kHeadDim), v = b.at.f32(kHeadDim);
  linear(b, "attn_q", b.normed, params[NpuWeight::kQ], q);
  linear(b, "attn_k", b.normed, params[NpuWeight::kK], k);
  linear(b, "attn_v", b.normed, params[NpuWeight::kV], v);
  const NpuPlace bias = b.at.take(DType::kF32, {kHeadDim});
  const NpuPlace turnedQ = b.at.take(DType::kF16, {m, kGroup, kHeadDim}),
                 turnedK = b.at.take(DType::kF16, {m, 1, kHeadDim});
  const NpuPlace v16 = b.at.f16(kHeadDim);
  for (uint32_t t = 0; t < kTiles; ++t) {
    if (options_.keyBias) {
      OperandRecord part = weightAt(DType::kF32, {kHeadDim}, t * kHeadDim * sizeof(float));
      b.tasks.copy("attn_k", based(part, params.keyBias.base), bias.in(t));
      b.tasks.shave(t, TaskOp::kNpuBias, "attn_k", {k.in(t), bias.in(t)});
    }
    const std::vector<uint64_t> rope = {0, kHeadDim, blob::doubleAttr(1.0)};
    b.tasks.shave(t, TaskOp::kNpuRope, "rope_q",
                  {shaped(q.in(t), turnedQ.dims), positions.in(t), freqs.in(t), turnedQ.in(t)}, rope);
    b.tasks.shave(t, TaskOp::kNpuRope, "rope_k",
                  {shaped(k.in(t), turnedK.dims), positions.in(t), freqs.in(t), turnedK.in(t)}, rope);
    b.tasks.shave(t, TaskOp::kNpuCast, "attn_v", {v.in(t), v16.in(t)});
    const OperandRecord cache = blob::stridedOperand(Space::kKv, DType::kF16, Dims{1, kKvRows, kHeadDim},
                                                     t * kKvRows * kHeadDim * sizeof(uint16_t));
    b.tasks.dma(TaskOp::kNpuKvWrite, "write_k", {turnedK.in(t), based(cache, params.cache[0])}, {0});
    b.tasks.dma(TaskOp::kNpuKvWrite, "write_v", {shaped(v16.in(t), turnedK.dims), based(cache, params.cache[1])}, {0});
  }
  const NpuPlace out = b.at.f16(kPerTile), whole = b.at.f16(kEmbed), o = b.at.f32(kEmbed / kTiles);
  attendBlocks(b, params, turnedQ, out, mask);
  exchange(b, "attn_out", out, whole);
  linear(b, "attn_o", whole, params[NpuWeight::kO], o);
  addToResidual(b, "attn_add", o, false);
}

void Builder::attendBlocks(Body& b, const Params& params, const NpuPlace& q, const NpuPlace& out, const Mask& mask) {
  const uint32_t queries = b.at.rows * kGroup;
  const Dims queryDims = {queries, kHeadDim};
  const std::array<NpuPlace, 2> rows = {b.at.take(DType::kF16, {kBlockRows, kHeadDim}),
                                        b.at.take(DType::kF16, {kBlockRows, kHeadDim})};
  const NpuPlace scores = b.at.take(DType::kF32, {queries, kBlockRows}), probs = b.at.take(DType::kF16, scores.dims);
  const NpuPlace max = b.at.take(DType::kF32, {queries}), sum = b.at.take(DType::kF32, {queries});
  const NpuPlace factor = b.at.take(DType::kF32, {queries}), acc = b.at.take(DType::kF32, queryDims);
  for (uint32_t first = 0; first < mask.mask.dims[0]; first += kBlockRows) {
    const bool isFirst = first == 0;
    for (uint32_t t = 0; t < kTiles; ++t) {
      for (const uint32_t which : {0U, 1U}) {
        const OperandRecord cached = blob::stridedOperand(Space::kKv, DType::kF16, rows[which].dims,
                                                          (t * kKvRows + first) * kHeadDim * sizeof(uint16_t));
        b.tasks.copy(which == 0 ? "read_k" : "read_v", based(cached, params.cache[which]), rows[which].in(t));
      }
      OperandRecord seen = shaped(mask.mask.in(t), {kBlockRows});
      seen.offset += first;
      b.tasks.dpu(t, TaskOp::kNpuMatmul, "scores", {shaped(q.in(t), queryDims), rows[0].in(t), scores.in(t)}, {0});
      b.tasks.shave(t, TaskOp::kNpuSoftmax, "softmax",
                    {scores.in(t), seen, mask.row0.in(t), max.in(t), sum.in(t), factor.in(t), probs.in(t)},
                    {blob::doubleAttr(0.25), first, 0, kGroup, 0, isFirst ? 1U : 0U});
      b.tasks.shave(t, TaskOp::kNpuClean, "clean_v", {rows[1].in(t), seen, mask.row0.in(t)}, {first, 0, 0});
      if (!isFirst) b.tasks.shave(t, TaskOp::kNpuRescale, "rescale", {acc.in(t), factor.in(t)});
      OperandRecord turned = rows[1].in(t);  // [d, r]
      std::swap(turned.dims[0], turned.dims[1]);
      std::swap(turned.strides[0], turned.strides[1]);
      b.tasks.dpu(t, TaskOp::kNpuMatmul, "values", {probs.in(t), turned, acc.in(t)}, {isFirst ? 0U : 1U});
    }
  }
  for (uint32_t t = 0; t < kTiles; ++t) {
    b.tasks.shave(t, TaskOp::kNpuFinish, "finish", {acc.in(t), sum.in(t), shaped(out.in(t), queryDims)});
  }
}

uint32_t Builder::embedBody(uint32_t m) {
  const uint32_t body = program_.beginBody("embed");
  Body b(machine_, m);
  const NpuPlace ids = b.at.take(DType::kI32, {m});
  const MatrixOperands table = matrixOperands(kVocab, kEmbed, packed_.embedding);
  b.tasks.copy("ids", blob::symbolOperand(SymbolKind::kIds, DType::kI32, Dims{m}), ids.in(0));
  if (isQuantized()) {
    b.tasks.shave(0, TaskOp::kNpuEmbedGroups, "embed", {ids.in(0), table.rows, table.scales, b.x.in(0)}, kSignedBytes);
  } else {
    b.tasks.shave(0, TaskOp::kNpuEmbed, "embed", {ids.in(0), table.rows, b.x.in(0)},
                  {static_cast<uint64_t>(DType::kF32)});
  }
  b.tasks.copy("embed", b.x.in(0), residual(m));
  b.tasks.addTo(program_);
  return body;
}

uint32_t Builder::blockBody(uint32_t m, uint32_t context) {
  const uint32_t body = program_.beginBody("block");
  const Params params = addParams();
  Body b(machine_, m);
  b.tasks.copy("residual", residual(m), b.x.in(0), kBothTiles);
  norm(b, "attn_norm", params.attnNorm);
  attention(b, params, context);
  norm(b, "ffn_norm", params.ffnNorm);
  const NpuPlace gate = b.at.f32(kFfn / kTiles), up = b.at.f32(kFfn / kTiles), act = b.at.f16(kFfn / kTiles);
  linear(b, "gate", b.normed, params[NpuWeight::kGate], gate);
  linear(b, "up", b.normed, params[NpuWeight::kUp], up);
  for (uint32_t t = 0; t < kTiles; ++t) {
    b.tasks.shave(t, TaskOp::kNpuSiluMul, "silu_mul", {gate.in(t), up.in(t), act.in(t)});
  }
  const NpuPlace whole = b.at.f16(kFfn), down = b.at.f32(kEmbed / kTiles);
  exchange(b, "ffn_mid", act, whole);
  linear(b, "down", whole, params[NpuWeight::kDown], down);
  addToResidual(b, "ffn_add", down, true);
  b.tasks.addTo(program_);
  return body;
}

uint32_t Builder::copyOutBody(uint32_t m) {
  const uint32_t body = program_.beginBody("hidden");
  Body b(machine_, m);
  b.tasks.copy("hidden", residual(m), blob::symbolOperand(SymbolKind::kHidden, DType::kF32, Dims{m, kEmbed}));
  b.tasks.addTo(program_);
  return body;
}

uint32_t Builder::headBody(uint32_t m, bool readsHidden) {
  const uint32_t body = program_.beginBody("head");
  Body b(machine_, m);
  const OperandRecord hidden = blob::symbolOperand(SymbolKind::kHidden, DType::kF32, Dims{m, kEmbed});
  b.tasks.copy("residual", readsHidden ? hidden : residual(m), b.x.in(0), kBothTiles);
  norm(b, "output_norm", weightAt(DType::kF32, {kEmbed}, packed_.outputNorm));
  const uint32_t n = kVocab / kTiles;
  const NpuPlace logits = b.at.f32(n);
  linear(b, "head", b.normed, matrixOperands(kVocab, kEmbed, packed_.embedding), logits);
  const OperandRecord all = blob::symbolOperand(SymbolKind::kLogits, DType::kF32, Dims{m, kVocab});
  for (uint32_t t = 0; t < kTiles; ++t) b.tasks.copy("head", logits.in(t), columnsOf(all, t * n, n));
  if (options_.topTokens != 0) topLists(b, logits);
  b.tasks.addTo(program_);
  return body;
}

// The best of each tile, and the best of those in tile 0.
void Builder::topLists(Body& b, const NpuPlace& logits) {
  const Dims best = {b.at.rows, options_.topTokens}, parts = {kTiles, b.at.rows, options_.topTokens};
  const NpuPlace values = b.at.take(DType::kF32, best), ids = b.at.take(DType::kI32, best);
  const NpuPlace allValues = b.at.take(DType::kF32, parts), allIds = b.at.take(DType::kI32, parts);
  for (uint32_t t = 0; t < kTiles; ++t) {
    b.tasks.shave(t, TaskOp::kNpuTopK, "top_k", {logits.in(t), values.in(t), ids.in(t)}, {t * logits.dims[1]});
    b.tasks.copy("top_k", values.in(t), partOf(allValues.in(0), t));
    b.tasks.copy("top_k", ids.in(t), partOf(allIds.in(0), t));
  }
  b.tasks.shave(0, TaskOp::kNpuTopKMerge, "top_k", {allValues.in(0), allIds.in(0), values.in(0), ids.in(0)});
  b.tasks.copy("top_k", values.in(0), blob::symbolOperand(SymbolKind::kTopLogits, DType::kF32, best));
  b.tasks.copy("top_k", ids.in(0), blob::symbolOperand(SymbolKind::kTopIds, DType::kI32, best));
}

void Builder::addEntry(blob::EntryKind kind, uint32_t m, uint32_t context, const std::vector<uint32_t>& bodies) {
  program_.beginEntry(kind, m, context);
  program_.entries.back().scratchBytes = residual(m).bytes;
  program_.entries.back().predictedPicoseconds = 1000 * m + context;
  program_.addStandardSymbols();
  for (const uint32_t body : bodies) {
    const bool isBlock = program_.bodies[body].paramCount != 0;
    for (uint32_t layer = 0; isBlock && layer < kLayers; ++layer) {
      program_.addCall(body, layer, packed_.layerArgs[layer]);
    }
    if (!isBlock) program_.addCall(body, blob::kNoLayer, {});
  }
}

void Builder::build() {
  for (const uint32_t m : {1U, kChunks[0], kChunks[1]}) {
    const uint32_t embed = embedBody(m);
    const uint32_t last = m == 1 ? headBody(m, false) : copyOutBody(m);
    for (const uint32_t context : kContexts) {
      const uint32_t block = blockBody(m, context);
      addEntry(m == 1 ? blob::EntryKind::kGenerate : blob::EntryKind::kPrefill, m, context, {embed, block, last});
    }
  }
  for (const uint32_t m : kHeadRows) addEntry(blob::EntryKind::kHead, m, 0, {headBody(m, true)});
}

}  // namespace

std::string tinyMachineText() { return machine::sampleMachineJson().dump(); }

void addNpuProgram(const TinyWeights& weights, const TinyOptions& options, blob::Program& program, WeightArena& arena) {
  Builder(weights, options, program, arena).build();
}

}  // namespace firn::runtime::cts
