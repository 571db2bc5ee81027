#include "blob/npu_sample.h"

#include <string>
#include <utility>

#include "base/align.h"
#include "base/concat.h"
#include "blob/extent.h"
#include "blob/kv_part.h"
#include "blob/machine/sample_machine_for_test.h"

namespace firn::blob {

namespace {

using machine::Engine;

constexpr uint32_t kLayers = kSampleSizes.layers;
constexpr uint32_t kEmbed = kSampleSizes.embed;
constexpr uint32_t kHeads = kSampleSizes.heads;
constexpr uint32_t kKvHeads = kSampleSizes.kvHeads;
constexpr uint32_t kHeadDim = kSampleSizes.headDim;
constexpr uint32_t kVocab = kSampleSizes.vocab;
constexpr uint32_t kGroup = kHeads / kKvHeads;
constexpr uint32_t kKvWidth = kKvHeads * kHeadDim;
constexpr uint32_t kFfn = 96;
constexpr uint32_t kGroups = kEmbed / 32;
constexpr uint32_t kRows = kSampleKvRows;
constexpr uint32_t kBothTiles = 3;

using Dims = std::initializer_list<uint32_t>;

/// Hands out 64-byte aligned ranges.
uint64_t take(uint64_t& end, uint64_t bytes) {
  const uint64_t at = end;
  end = roundUp(end + bytes, kTensorAlignment);
  return at;
}

OperandRecord operand(Space space, DType dtype, Dims dims) {
  return stridedOperand(space, dtype, {dims.begin(), dims.size()}, 0);
}

OperandRecord symbol(SymbolKind kind, DType dtype, Dims dims) {
  return symbolOperand(kind, dtype, {dims.begin(), dims.size()});
}

/// The same in the CMX of another tile.
OperandRecord on(uint16_t tile, OperandRecord cmx) {
  cmx.base = tile;
  return cmx;
}

/// The same memory with other dims, without gaps.
OperandRecord shaped(OperandRecord dense, Dims dims) {
  const OperandRecord shape = operand(dense.space, dense.dtype, dims);
  dense.rank = shape.rank;
  dense.dims = shape.dims;
  dense.strides = shape.strides;
  return dense;
}

/// `count` columns of a matrix from `first` on.
OperandRecord columns(OperandRecord matrix, uint32_t first, uint32_t count) {
  matrix.offset += uint64_t{first} * dtypeInfo(matrix.dtype)->blockBytes;
  matrix.dims[1] = count;
  matrix.bytes = *operandBytes(matrix);
  return matrix;
}

/// Heads `first` and on, kGroup of them, of a matrix of heads: [m, kGroup, kHeadDim].
OperandRecord headsOf(OperandRecord matrix, uint32_t first) {
  matrix = columns(matrix, first * kHeadDim, kGroup * kHeadDim);
  matrix.rank = 3;
  matrix.dims = {matrix.dims[0], kGroup, kHeadDim, 1};
  matrix.strides = {matrix.strides[0], kHeadDim, 1, 0};
  return matrix;
}

OperandRecord transposed(OperandRecord matrix) {
  std::swap(matrix.dims[0], matrix.dims[1]);
  std::swap(matrix.strides[0], matrix.strides[1]);
  return matrix;
}

struct Task {
  TaskOp op{};
  std::string name;
  std::vector<OperandRecord> operands;
  std::vector<uint64_t> attrs;
  std::vector<BarrierUse> waits;
  std::vector<BarrierUse> signals;
};

class NpuSample {
 public:
  NpuSample() {
    contents_.ident.target = Target::kNpu;
    contents_.ident.lanes = 1;
    contents_.ident.arithmeticId = 1;
    contents_.ident.modelHash = {1, 2};
    contents_.ident.compilerId = {3, 4};
    contents_.card = R"({"name":"sample","architecture":"none"})";
    contents_.machine = machine::sampleMachineJson().dump();
    p_.header = sampleHeader(kSampleSizes, DType::kF16);
    p_.header.topTokens = kSampleTopTokens;
    partBytes_ = KvPart::of(p_.header)->bytes();
  }

  Contents make(SampleSize size) {
    table_ = weights(kVocab, *dtypeBytes(DType::kQ8_0, kEmbed));
    codes_ = constant(DType::kU8, {kVocab, kEmbed});
    scales_ = constant(DType::kF16, {kVocab, kGroups});
    outputNorm_ = constant(DType::kF32, {kEmbed});
    freqs_ = constant(DType::kF32, {kHeadDim / 2});
    if (size == SampleSize::kFull) {
      addLayerEntries(16, {64, 128});
      addLayerEntries(1, {128});
    }
    const uint32_t head = headBody(2, "head.2", symbol(SymbolKind::kHidden, DType::kF32, {2, kEmbed}));
    beginEntry(EntryKind::kHead, 2, 0, 0);
    p_.addCall(head, kNoLayer, {});
    p_.header.weightsBytes = weightsEnd_;
    contents_.program = std::move(p_);
    return std::move(contents_);
  }

 private:
  void beginEntry(EntryKind kind, uint32_t rows, uint32_t context, uint64_t scratchBytes) {
    p_.beginEntry(kind, rows, context);
    p_.entries.back().scratchBytes = scratchBytes;
    p_.entries.back().predictedPicoseconds = 1000000 * rows;
    p_.addStandardSymbols();
  }

  void addLayerEntries(uint32_t m, std::initializer_list<uint32_t> contexts) {
    const bool isPrefill = m > 1;
    const OperandRecord x = operand(Space::kScratch, DType::kF32, {m, kEmbed});
    const uint32_t first = embedBody(m, x);
    const uint32_t block = blockBody(m, *contexts.begin(), x);
    const uint32_t tail = isPrefill ? hiddenBody(m, x) : headBody(m, "tail.1", x);
    for (const uint32_t context : contexts) {
      beginEntry(isPrefill ? EntryKind::kPrefill : EntryKind::kGenerate, m, context, x.bytes);
      p_.addCall(first, kNoLayer, {});
      for (uint32_t layer = 0; layer < kLayers; ++layer) p_.addCall(block, layer, args_[layer]);
      p_.addCall(tail, kNoLayer, {});
    }
  }

  OperandRecord constant(DType dtype, Dims dims) {
    OperandRecord made = operand(Space::kWeights, dtype, dims);
    made.offset = take(weightsEnd_, made.bytes);
    return made;
  }
  OperandRecord weights(uint32_t rows, uint64_t rowBytes) {
    return constant(DType::kU8, {rows, static_cast<uint32_t>(rowBytes)});
  }

  /// A weight that differs by layer: a param of the body in the making, with a value for each layer.
  OperandRecord param(DType dtype, Dims dims) {
    OperandRecord made = operand(Space::kWeights, dtype, dims);
    made.base = p_.addParam(Space::kWeights, made.bytes);
    for (auto& args : args_) args.push_back(take(weightsEnd_, made.bytes));
    return made;
  }

  /// All heads of K (0) or V (1) of the layer.
  OperandRecord cacheParam(uint32_t which) {
    OperandRecord made = operand(Space::kKv, DType::kF16, {kKvHeads, kRows, kHeadDim});
    made.base = p_.addParam(Space::kKv, partBytes_);
    for (uint32_t layer = 0; layer < kLayers; ++layer) args_[layer].push_back((layer * 2 + which) * partBytes_);
    return made;
  }

  /// Rows [first, first + count) of one head.
  static OperandRecord cacheRows(const OperandRecord& cache, uint32_t head, uint32_t first, uint32_t count) {
    OperandRecord rows = shaped(cache, {count, kHeadDim});
    rows.offset = (uint64_t{head} * kRows + first) * kHeadDim * 2;
    rows.bytes = *operandBytes(rows);
    return rows;
  }

  OperandRecord cmx(DType dtype, Dims dims) {
    OperandRecord made = operand(Space::kCmx, dtype, dims);
    made.base = 0;
    made.offset = take(cmxEnd_, made.bytes);
    return made;
  }

  uint32_t beginBody(std::string_view name) {
    cmxEnd_ = 0;
    return p_.beginBody(name);
  }

  /// Each task waits for the one before it, by a barrier that counts the tasks of that one's queue.
  void add(Engine engine, uint16_t index, Task task) {
    const uint32_t queue = machine::queueOf(machine_, engine, index);
    if (last_ && *last_ != queue) {
      task.waits.push_back({*last_, static_cast<uint32_t>(queues_[*last_].size())});
    }
    task.signals.push_back({queue, 0});
    queues_[queue].push_back(std::move(task));
    last_ = queue;
  }
  void dpu(TaskOp op, std::string name, std::vector<OperandRecord> operands, std::vector<uint64_t> attrs) {
    const uint16_t tile = operands[0].base;
    add(Engine::kDpu, tile, {op, std::move(name), std::move(operands), std::move(attrs), {}, {}});
  }
  void shave(TaskOp op, std::string name, std::vector<OperandRecord> operands, std::vector<uint64_t> attrs = {}) {
    const uint16_t tile = operands[0].base;
    add(Engine::kShave, tile, {op, std::move(name), std::move(operands), std::move(attrs), {}, {}});
  }
  void copy(std::string name, const OperandRecord& from, const OperandRecord& to, uint64_t tiles = 0) {
    const uint16_t engine = dmaTurn_++ % machine_.dmaEngines;
    add(Engine::kDma, engine, {TaskOp::kNpuCopy, std::move(name), {from, to}, {tiles}, {}, {}});
  }
  /// Loads all of `from` into tile 0, or into the tiles of a mask.
  OperandRecord load(std::string name, const OperandRecord& from, uint64_t tiles = 0) {
    OperandRecord to = shaped(from, {from.dims[0], from.dims[1]});
    if (from.rank == 1) to = shaped(from, {from.dims[0]});
    to.space = Space::kCmx;
    to.base = 0;
    to.offset = take(cmxEnd_, to.bytes);
    copy(std::move(name), from, to, tiles);
    return to;
  }

  /// The tasks as segments, one a queue.
  void endBody() {
    for (auto& queue : queues_) {
      p_.beginSegment();
      p_.beginLane();
      for (const Task& task : queue) {
        p_.addTask({task.op, task.name, task.operands, task.attrs, task.waits, task.signals});
      }
      queue.clear();
    }
    last_.reset();
  }

  uint32_t embedBody(uint32_t m, const OperandRecord& x) {
    const uint32_t body = beginBody(concat("embed.", m));
    const OperandRecord ids = load("token_embd", symbol(SymbolKind::kIds, DType::kI32, {m}));
    const OperandRecord rows = cmx(DType::kF32, {m, kEmbed});
    shave(TaskOp::kNpuEmbed, "token_embd", {ids, table_, rows}, {static_cast<uint64_t>(DType::kQ8_0)});
    shave(TaskOp::kNpuScale, "embed_scale", {rows, rows}, {doubleAttr(-8)});
    const OperandRecord more = cmx(DType::kF32, {m, kEmbed});
    shave(TaskOp::kNpuEmbedGroups, "token_embd", {ids, codes_, scales_, more}, {8, 0});
    shave(TaskOp::kNpuAdd, "embed_add", {rows, more, rows});
    copy("embed_scale", rows, x);
    endBody();
    return body;
  }

  uint32_t hiddenBody(uint32_t m, const OperandRecord& x) {
    const uint32_t body = beginBody(concat("tail.", m));
    copy("hidden", x, symbol(SymbolKind::kHidden, DType::kF32, {m, kEmbed}));
    endBody();
    return body;
  }

  OperandRecord norm(const std::string& name, const OperandRecord& x, const OperandRecord& weight) {
    const OperandRecord out = cmx(DType::kF16, {x.dims[0], kEmbed});
    shave(TaskOp::kNpuRmsNorm, name, {x, load(name, weight), out}, {doubleAttr(1e-5)});
    return out;
  }

  /// A matrix [n, k] of the layer as f16, from rows of `type`.
  OperandRecord matrix(const std::string& name, DType type, uint32_t n, uint32_t k) {
    const auto rowBytes = static_cast<uint32_t>(*dtypeBytes(type, k));
    const OperandRecord raw = load(name, param(DType::kU8, {n, rowBytes}));
    const OperandRecord out = cmx(DType::kF16, {n, k});
    shave(TaskOp::kNpuExpand, name, {raw, out}, {static_cast<uint64_t>(type)});
    return out;
  }

  /// The same from codes of 4 bits with scales and mins.
  OperandRecord matrixOfCodes(const std::string& name, uint32_t n) {
    const OperandRecord out = cmx(DType::kF16, {n, kEmbed});
    std::vector<OperandRecord> operands = {load(name, param(DType::kU8, {n, kEmbed / 2}))};
    for (int i = 0; i < 2; ++i) operands.push_back(load(name, param(DType::kF16, {n, kGroups})));
    operands.push_back(out);
    shave(TaskOp::kNpuExpandGroups, name, operands, {4, 8});
    return out;
  }

  OperandRecord product(const std::string& name, const OperandRecord& a, const OperandRecord& w) {
    const OperandRecord out = on(a.base, cmx(DType::kF32, {a.dims[0], w.dims[0]}));
    dpu(TaskOp::kNpuMatmul, name, {a, w, out}, {0});
    return out;
  }

  /// a times codes of the layer in groups of 32, with mins when they are of 4 bits.
  OperandRecord productOfCodes(const std::string& name, const OperandRecord& a, uint32_t bits) {
    const uint32_t m = a.dims[0];
    const OperandRecord codes = load(name, param(DType::kU8, {kKvWidth, kEmbed * bits / 8}));
    const OperandRecord scales = load(name, param(DType::kF16, {kKvWidth, kGroups}));
    const OperandRecord partials = cmx(DType::kF32, {kGroups, m, kKvWidth});
    const OperandRecord out = cmx(DType::kF32, {m, kKvWidth});
    dpu(TaskOp::kNpuMatmulGroups, name, {a, codes, partials}, {bits, 0});
    std::vector<OperandRecord> operands = {partials, scales};
    if (bits == 4) {
      operands.push_back(load(name, param(DType::kF16, {kKvWidth, kGroups})));
      operands.push_back(cmx(DType::kF32, {m, kGroups}));
      shave(TaskOp::kNpuGroupSums, name, {a, operands.back()});
    }
    operands.push_back(out);
    shave(TaskOp::kNpuAccumulate, name, operands, {0});
    return out;
  }

  OperandRecord half(const std::string& name, const OperandRecord& in) {
    const OperandRecord out = cmx(DType::kF16, {in.dims[0], in.dims[1]});
    shave(TaskOp::kNpuCast, name, {in, out});
    return out;
  }

  uint32_t blockBody(uint32_t m, uint32_t context, const OperandRecord& x) {
    const uint32_t body = beginBody(concat("block.", m));
    for (auto& args : args_) args.clear();
    const std::array<OperandRecord, 2> cache = {cacheParam(0), cacheParam(1)};
    const OperandRecord stream = load("block", x);
    const OperandRecord q = projections(norm("attn_norm", stream, param(DType::kF32, {kEmbed})), cache);
    const OperandRecord attended = attention(q, context, cache);
    const OperandRecord o = product("attn_output", attended, load("attn_output", param(DType::kF16, {kEmbed, kEmbed})));
    shave(TaskOp::kNpuAdd, "attn_add", {stream, o, stream});
    feedForward(norm("ffn_norm", stream, param(DType::kF32, {kEmbed})), stream);
    copy("block", stream, x);
    endBody();
    return body;
  }

  /// Writes K and V of the rows; gives the queries, f16.
  OperandRecord projections(const OperandRecord& n, const std::array<OperandRecord, 2>& cache) {
    const uint32_t m = n.dims[0];
    OperandRecord q = product("attn_q", n, matrix("attn_q", DType::kQ4_0, kEmbed, kEmbed));
    shave(TaskOp::kNpuBias, "attn_q", {q, load("attn_q", param(DType::kF32, {kEmbed}))});
    const OperandRecord k = productOfCodes("attn_k", n, 4);
    const OperandRecord v = productOfCodes("attn_v", n, 8);
    const OperandRecord at = load("rope", symbol(SymbolKind::kPositions, DType::kI32, {m}));
    const OperandRecord freqs = load("rope", freqs_);
    const std::vector<uint64_t> turn = {1, kHeadDim, doubleAttr(1)};
    const OperandRecord turned = cmx(DType::kF16, {m, kEmbed});
    const OperandRecord heads = shaped(k, {m, kKvHeads, kHeadDim});
    shave(TaskOp::kNpuRope, "attn_q",
          {shaped(q, {m, kHeads, kHeadDim}), at, freqs, shaped(turned, {m, kHeads, kHeadDim})}, turn);
    shave(TaskOp::kNpuRope, "attn_k", {heads, at, freqs, heads}, turn);
    for (const auto& [name, rows, which] : {std::tuple{"attn_k", k, 0}, {"attn_v", v, 1}}) {
      const OperandRecord in = shaped(half(name, rows), {m, kKvHeads, kHeadDim});
      add(Engine::kDma, 0, {TaskOp::kNpuKvWrite, name, {in, cache[which]}, {0}, {}, {}});
    }
    return turned;
  }

  /// What the blocks of one KV head share.
  struct Running {
    OperandRecord query, max, sum, factor, accumulator;
  };

  /// The heads in turn on both tiles, each in two blocks of rows.
  OperandRecord attention(const OperandRecord& q, uint32_t context, const std::array<OperandRecord, 2>& cache) {
    const uint32_t m = q.dims[0];
    const OperandRecord mask = load("mask", symbol(SymbolKind::kMask, DType::kU8, {context}), kBothTiles);
    const OperandRecord row0 = load("row0", symbol(SymbolKind::kRow0, DType::kI32, {1}), kBothTiles);
    const OperandRecord out = cmx(DType::kF16, {m, kEmbed});
    for (uint16_t head = 0; head < kKvHeads; ++head) {
      const uint16_t tile = head % 2;
      const uint32_t rows = m * kGroup;
      const Running running = {on(tile, cmx(DType::kF16, {rows, kHeadDim})), on(tile, cmx(DType::kF32, {rows})),
                               on(tile, cmx(DType::kF32, {rows})), on(tile, cmx(DType::kF32, {rows})),
                               on(tile, cmx(DType::kF32, {rows, kHeadDim}))};
      copy("q", headsOf(q, head * kGroup), shaped(running.query, {m, kGroup, kHeadDim}));
      for (const uint32_t first : {0U, context / 2}) {
        OperandRecord seen = shaped(on(tile, mask), {context / 2});
        seen.offset += first;
        seen.bytes = seen.dims[0];
        const auto loaded = [&](uint32_t which) {
          const OperandRecord to = on(tile, cmx(DType::kF16, {context / 2, kHeadDim}));
          copy(which == 0 ? "k" : "v", cacheRows(cache[which], head, first, context / 2), to, uint64_t{1} << tile);
          return to;
        };
        const OperandRecord keys = loaded(0);
        attendBlock({keys, loaded(1)}, seen, on(tile, row0), running, first);
      }
      const OperandRecord own = on(tile, cmx(DType::kF16, {rows, kHeadDim}));
      shave(TaskOp::kNpuFinish, "attention", {running.accumulator, running.sum, own});
      copy("attention", shaped(own, {m, kGroup, kHeadDim}), headsOf(out, head * kGroup));
    }
    return out;
  }

  void attendBlock(const std::array<OperandRecord, 2>& cache, const OperandRecord& mask, const OperandRecord& row0,
                   const Running& running, uint32_t first) {
    const OperandRecord scores = product("qk", running.query, cache[0]);
    const OperandRecord probs = on(scores.base, cmx(DType::kF16, {scores.dims[0], scores.dims[1]}));
    const bool isFirst = first == 0;
    shave(TaskOp::kNpuClean, "v", {cache[1], mask, row0}, {first, 0, 100});
    shave(TaskOp::kNpuSoftmax, "softmax", {scores, mask, row0, running.max, running.sum, running.factor, probs},
          {doubleAttr(0.35), first, 0, kGroup, 100, isFirst ? 1U : 0U});
    if (!isFirst) shave(TaskOp::kNpuRescale, "softmax", {running.accumulator, running.factor});
    dpu(TaskOp::kNpuMatmul, "pv", {probs, transposed(cache[1]), running.accumulator}, {isFirst ? 0U : 1U});
  }

  void feedForward(const OperandRecord& n, const OperandRecord& stream) {
    const uint32_t m = n.dims[0];
    const OperandRecord gate = product("ffn_gate", n, matrix("ffn_gate", DType::kQ8_0, kFfn, kEmbed));
    const OperandRecord up = product("ffn_up", n, matrixOfCodes("ffn_up", kFfn));
    const OperandRecord silu = cmx(DType::kF16, {m, kFfn});
    shave(TaskOp::kNpuSiluMul, "ffn_silu", {gate, up, silu});
    shave(TaskOp::kNpuGeluMul, "ffn_gelu", {gate, up, up});
    shave(TaskOp::kNpuMul, "ffn_mul", {gate, up, gate});
    const OperandRecord down = matrix("ffn_down", DType::kQ4_1, kEmbed, kFfn);
    const OperandRecord sum = product("ffn_down", silu, down);
    dpu(TaskOp::kNpuMatmul, "ffn_down", {half("ffn_mul", gate), down, sum}, {1});
    shave(TaskOp::kNpuSoftcap, "ffn_cap", {sum, sum}, {doubleAttr(30)});
    shave(TaskOp::kNpuAdd, "ffn_add", {stream, sum, stream});
  }

  uint32_t headBody(uint32_t m, std::string_view name, const OperandRecord& in) {
    constexpr uint32_t kTop = kSampleTopTokens;
    const uint32_t body = beginBody(name);
    const OperandRecord n = norm("output_norm", load("output_norm", in), outputNorm_);
    copy("output_norm", n, on(1, n));
    const OperandRecord logits = symbol(SymbolKind::kLogits, DType::kF32, {m, kVocab});
    const OperandRecord values = cmx(DType::kF32, {2, m, kTop});
    const OperandRecord ids = cmx(DType::kI32, {2, m, kTop});
    for (const auto& [tile, first, rows] : {std::tuple<uint16_t, uint32_t, uint32_t>{0, 0, 32}, {1, 32, kVocab - 32}}) {
      OperandRecord part = shaped(table_, {rows, table_.dims[1]});
      part.offset += uint64_t{first} * table_.dims[1];
      part.bytes = *operandBytes(part);
      const OperandRecord raw = on(tile, cmx(DType::kU8, {rows, table_.dims[1]}));
      const OperandRecord w = on(tile, cmx(DType::kF16, {rows, kEmbed}));
      copy("output", part, raw);
      shave(TaskOp::kNpuExpand, "output", {raw, w}, {static_cast<uint64_t>(DType::kQ8_0)});
      const OperandRecord own = product("output", on(tile, n), w);
      copy("output", own, columns(logits, first, rows));
      const OperandRecord best = on(tile, cmx(DType::kF32, {m, kTop}));
      const OperandRecord bestIds = on(tile, cmx(DType::kI32, {m, kTop}));
      shave(TaskOp::kNpuTopK, "top_k", {own, best, bestIds}, {first});
      copy("top_k", best, listOf(values, tile));
      copy("top_k", bestIds, listOf(ids, tile));
    }
    const OperandRecord best = cmx(DType::kF32, {m, kTop});
    const OperandRecord bestIds = cmx(DType::kI32, {m, kTop});
    shave(TaskOp::kNpuTopKMerge, "top_k", {values, ids, best, bestIds});
    copy("top_k", best, symbol(SymbolKind::kTopLogits, DType::kF32, {m, kTop}));
    copy("top_k", bestIds, symbol(SymbolKind::kTopIds, DType::kI32, {m, kTop}));
    endBody();
    return body;
  }

  /// List `part` of [2, m, K].
  static OperandRecord listOf(const OperandRecord& all, uint32_t part) {
    OperandRecord one = shaped(all, {all.dims[1], all.dims[2]});
    one.bytes = *operandBytes(one);
    one.offset += part * one.bytes;
    return one;
  }

  machine::Machine machine_ = machine::sampleMachine();
  Contents contents_;
  Program p_;
  uint64_t partBytes_ = 0;
  uint64_t weightsEnd_ = 0;
  uint64_t cmxEnd_ = 0;
  std::vector<std::vector<Task>> queues_{machine::queueCount(machine_)};
  std::optional<uint32_t> last_;  ///< queue of the task before
  uint16_t dmaTurn_ = 0;
  OperandRecord table_{};
  OperandRecord codes_{};
  OperandRecord scales_{};
  OperandRecord freqs_{};
  OperandRecord outputNorm_{};
  std::array<std::vector<uint64_t>, kLayers> args_;
};

}  // namespace

Contents npuSampleContents(SampleSize size) { return NpuSample().make(size); }

}  // namespace firn::blob
