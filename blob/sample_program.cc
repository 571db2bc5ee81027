#include "blob/sample_program.h"

#include <algorithm>
#include <string>

#include "base/align.h"
#include "base/concat.h"
#include "blob/extent.h"
#include "blob/kv_part.h"
#include "blob/npu_sample.h"
#include "blob/sample_file.h"

namespace firn::blob {

namespace {

constexpr uint32_t kLayers = kSampleSizes.layers;
constexpr uint32_t kEmbed = kSampleSizes.embed;
constexpr uint32_t kKvHeads = kSampleSizes.kvHeads;
constexpr uint32_t kHeadDim = kSampleSizes.headDim;
constexpr uint32_t kKvWidth = kKvHeads * kHeadDim;
constexpr uint32_t kFfn = 96;
constexpr uint32_t kVocab = kSampleSizes.vocab;
constexpr uint32_t kTop = kSampleTopTokens;
constexpr uint32_t kRows = kSampleKvRows;
constexpr uint32_t kWorkspace = 4096;

using Dims = std::initializer_list<uint32_t>;

std::span<const uint32_t> spanOf(Dims dims) { return {dims.begin(), dims.size()}; }

/// Hands out 64-byte aligned ranges.
class Bump {
 public:
  uint64_t take(uint64_t bytes) {
    const uint64_t at = end_;
    end_ = roundUp(end_ + bytes, kTensorAlignment);
    return at;
  }
  uint64_t end() const { return end_; }

 private:
  uint64_t end_ = 0;
};

/// Columns [first, first + count) of a [rows, n] operand.
OperandRecord columns(OperandRecord matrix, uint32_t first, uint32_t count) {
  matrix.offset += first * dtypeInfo(matrix.dtype)->blockBytes;
  matrix.dims[matrix.rank - 1] = count;
  matrix.bytes = *operandBytes(matrix);
  return matrix;
}

/// [n, rows, columns] at `index`, as [rows, columns].
OperandRecord element(const OperandRecord& all, uint32_t index) {
  OperandRecord one = stridedOperand(all.space, all.dtype, spanOf({all.dims[1], all.dims[2]}), 0);
  one.offset = all.offset + index * one.bytes;
  return one;
}

/// [rows, n] as [rows, n / kHeadDim, kHeadDim].
OperandRecord byHead(OperandRecord matrix) {
  matrix.rank = 3;
  matrix.dims = {matrix.dims[0], matrix.dims[1] / kHeadDim, kHeadDim, 1};
  matrix.strides = {matrix.strides[0], kHeadDim, 1, 0};
  return matrix;
}

/// Makes one program.
class Sample {
 public:
  Sample(Target target, DType kvType) : target_(target), lanes_(target == Target::kCpu ? 2 : 1) {
    contents_.ident.target = target;
    contents_.ident.lanes = lanes_;
    contents_.ident.arithmeticId = 1;
    contents_.ident.modelHash = {1, 2};
    contents_.ident.compilerId = {3, 4};
    contents_.card = R"({"name":"sample","architecture":"none"})";
    contents_.chatTemplate = "{{ messages }}";
    p_.header = sampleHeader(kSampleSizes, kvType);
    p_.header.topTokens = kTop;
    part_ = KvPart::of(kvType, kKvHeads, kRows, kHeadDim).value();
  }

  Contents make(SampleSize size) {
    constants();
    if (size == SampleSize::kFull) addLayerEntries();
    const uint64_t scratch = headBodies();
    p_.beginEntry(EntryKind::kHead, 2, 0);
    finishEntry(scratch);
    p_.addCall(tail_, kNoLayer, {});
    if (size == SampleSize::kFull) addBatchEntry();
    p_.header.weightsBytes = weights_.end();
    contents_.program = std::move(p_);
    return std::move(contents_);
  }

 private:
  void addLayerEntries() {
    for (uint32_t m : {16U, 1U}) {
      const uint64_t scratch = m == 16 ? prefillBodies() : generateBodies();
      for (uint32_t context : m == 16 ? std::vector<uint32_t>{64, 128} : std::vector<uint32_t>{128}) {
        p_.beginEntry(m == 16 ? EntryKind::kPrefill : EntryKind::kGenerate, m, context);
        finishEntry(scratch);
        callLayers();
      }
    }
  }

  void addBatchEntry() {
    beginBodies(2);
    headBody(2, x_, "tail.batch.2");
    p_.beginEntry(EntryKind::kBatch, 2, 64);
    finishEntry(scratch_.end());
    callLayers();
  }

  bool isCpu() const { return target_ == Target::kCpu; }

  OperandRecord scratch(DType dtype, Dims dims) {
    OperandRecord operand = stridedOperand(Space::kScratch, dtype, spanOf(dims), 0);
    operand.offset = scratch_.take(operand.bytes);
    return operand;
  }

  OperandRecord constant(DType dtype, Dims dims) {
    OperandRecord operand = stridedOperand(Space::kWeights, dtype, spanOf(dims), 0);
    operand.offset = weights_.take(operand.bytes);
    return operand;
  }

  /// A weight that differs by layer: a param of the body in the making, with a value for each layer.
  OperandRecord param(OperandRecord operand) {
    operand.base = p_.addParam(Space::kWeights, operand.bytes);
    for (auto& args : args_) args.push_back(weights_.take(operand.bytes));
    return operand;
  }
  OperandRecord panels(DType dtype, uint32_t rows, uint32_t columnCount) {
    return param(panelOperand(dtype, rows, columnCount, 0));
  }
  OperandRecord vector(uint32_t n) { return param(stridedOperand(Space::kWeights, DType::kF32, spanOf({n}), 0)); }
  OperandRecord matrix(DType dtype, uint32_t rows, uint32_t columnCount) {
    return param(stridedOperand(Space::kWeights, dtype, spanOf({rows, columnCount}), 0));
  }

  /// K and V of the layer.
  void cacheParams() {
    for (uint32_t which : {0U, 1U}) {
      cacheBase_[which] = p_.addParam(Space::kKv, part_.bytes());
      for (uint32_t layer = 0; layer < kLayers; ++layer) args_[layer].push_back((layer * 2 + which) * part_.bytes());
    }
  }
  /// KV heads [first, first + count) of K (0) or V (1).
  OperandRecord cache(uint32_t which, uint32_t first, uint32_t count) {
    OperandRecord view = stridedOperand(Space::kKv, p_.header.kvType, spanOf({count, kRows, kHeadDim}), 0);
    view.base = cacheBase_[which];
    view.offset = part_.rowsBytes / kKvHeads * first;
    return view;
  }
  /// Their scales, where the type has them.
  std::vector<OperandRecord> scales(uint32_t which, uint32_t first, uint32_t count) {
    if (part_.scalesBytes == 0) return {};
    OperandRecord view = stridedOperand(Space::kKv, DType::kF32, spanOf({count, kRows}), 0);
    view.base = cacheBase_[which];
    view.offset = part_.rowsBytes + part_.scalesBytes / kKvHeads * first;
    return {view};
  }

  void add(TaskOp op, std::string_view name, const std::vector<OperandRecord>& operands,
           const std::vector<uint64_t>& attrs = {}) {
    p_.addTask({.op = op, .name = name, .operands = operands, .attrs = attrs});
  }

  /// Writes the rows `in` to KV heads [first, first + count) of K (0) or V (1).
  void addWrite(std::string_view name, const OperandRecord& in, uint32_t which, uint32_t first, uint32_t count) {
    std::vector<OperandRecord> operands = {byHead(in), cache(which, first, count)};
    for (const OperandRecord& s : scales(which, first, count)) operands.push_back(s);
    add(isCpu() ? TaskOp::kCpuKvWrite : TaskOp::kRefStateWrite, name, operands);
  }

  void constants() {
    table_ = isCpu() ? panelOperand(DType::kQ8_0, kVocab, kEmbed, 0)
                     : stridedOperand(Space::kWeights, DType::kQ8_0, spanOf({kVocab, kEmbed}), 0);
    table_.offset = weights_.take(table_.bytes);
    rope_ = isCpu() ? constant(DType::kF32, {kRows, kHeadDim / 2, 2}) : constant(DType::kF32, {kHeadDim / 2});
    outputNorm_ = constant(DType::kF32, {kEmbed});
  }

  void finishEntry(uint64_t scratchBytes) {
    p_.entries.back().scratchBytes = scratchBytes;
    p_.entries.back().predictedPicoseconds = 1000000 * p_.entries.back().rows;
    p_.addStandardSymbols();
  }

  void callLayers() {
    p_.addCall(first_, kNoLayer, {});
    for (uint32_t layer = 0; layer < kLayers; ++layer) p_.addCall(block_, layer, args_[layer]);
    p_.addCall(tail_, kNoLayer, {});
  }

  uint64_t prefillBodies() {
    beginBodies(16);
    tail_ = p_.beginBody("tail.16");
    lanes([&](uint32_t lane) {
      if (lane != 0) return;
      add(isCpu() ? TaskOp::kCpuCopy : TaskOp::kRefCopy, "hidden",
          {x_, symbolOperand(SymbolKind::kHidden, DType::kF32, spanOf({16, kEmbed}))});
    });
    return scratch_.end();
  }

  uint64_t generateBodies() {
    beginBodies(1);
    headBody(1, x_, "tail.1");
    return scratch_.end();
  }

  uint64_t headBodies() {
    scratch_ = Bump();
    headBody(2, symbolOperand(SymbolKind::kHidden, DType::kF32, spanOf({2, kEmbed})), "head.2");
    return scratch_.end();
  }

  void beginBodies(uint32_t m) {
    m_ = m;
    scratch_ = Bump();
    x_ = scratch(DType::kF32, {m, kEmbed});
    first_ = p_.beginBody(concat("embed.", m));
    lanes([&](uint32_t lane) {
      if (lane != 0) return;
      add(isCpu() ? TaskOp::kCpuEmbed : TaskOp::kRefEmbed, "token_embd",
          {symbolOperand(SymbolKind::kIds, DType::kI32, spanOf({m})), table_, x_});
      add(isCpu() ? TaskOp::kCpuScale : TaskOp::kRefScale, "embed_scale", {x_, x_}, {doubleAttr(-8)});
    });
    for (auto& args : args_) args.clear();
    block_ = p_.beginBody(concat("block.", m));
    if (isCpu()) {
      cpuBlock();
    } else {
      referenceBlock();
    }
  }

  template <typename Body>
  void lanes(Body body) {
    p_.beginSegment();
    for (uint32_t lane = 0; lane < lanes_; ++lane) {
      p_.beginLane();
      body(lane);
    }
  }

  struct Codes {
    OperandRecord codes, scales, sums;
  };
  Codes codes(uint32_t columnCount) {
    return {scratch(DType::kI8, {2, m_, columnCount}), scratch(DType::kF32, {m_, columnCount / 32}),
            scratch(DType::kI32, {m_, columnCount / 32})};
  }
  Codes quantize(const OperandRecord& in) {
    const Codes c = codes(in.dims[1]);
    add(TaskOp::kCpuQuantize, "quantize", {in, c.codes, c.scales, c.sums});
    return c;
  }
  void linear(std::string_view name, const Codes& c, const OperandRecord& weight, const OperandRecord& out) {
    add(TaskOp::kCpuLinearI8, name, {c.codes, c.scales, c.sums, weight, out});
  }

  OperandRecord positions() { return symbolOperand(SymbolKind::kPositions, DType::kI32, spanOf({m_})); }
  OperandRecord mask() { return symbolOperand(SymbolKind::kMask, DType::kU8, spanOf({kRows})); }

  void cpuBlock() {
    cacheParams();
    const OperandRecord attention = scratch(DType::kF32, {m_, kEmbed});
    const OperandRecord partials = scratch(DType::kF32, {2, m_, kEmbed});
    const OperandRecord q = scratch(DType::kF32, {m_, kEmbed});
    lanes([&](uint32_t lane) { cpuProjections(lane, columns(q, lane * 32, 32)); });
    lanes([&](uint32_t lane) {
      const OperandRecord out = columns(attention, lane * 32, 32);
      cpuAttention(lane, byHead(columns(q, lane * 32, 32)), byHead(out));
      linear("attn_output", quantize(out), panels(DType::kQ4_0, kEmbed, 32), element(partials, lane));
    });
    lanes([&](uint32_t lane) {
      if (lane == 0) add(TaskOp::kCpuAddPartials, "attn_output", {x_, partials});
    });
    lanes([&](uint32_t lane) { cpuFeedForward(lane, element(partials, lane)); });
    lanes([&](uint32_t lane) {
      if (lane == 0) add(TaskOp::kCpuAddPartials, "ffn_down", {x_, partials});
    });
  }

  void cpuAttention(uint32_t lane, const OperandRecord& q, const OperandRecord& out) {
    const uint32_t first = lane * 2;
    std::vector<OperandRecord> operands = {q, cache(0, first, 2), cache(1, first, 2), mask(),
                                           scratch(DType::kF32, {kWorkspace})};
    std::vector<uint64_t> attrs = {doubleAttr(0.35), lane * 4, 2, 100};
    for (uint32_t which : {0U, 1U}) {
      for (const OperandRecord& s : scales(which, first, 2)) operands.push_back(s);
    }
    if (part_.scalesBytes != 0 && lane == 0) {
      operands.push_back(matrix(DType::kF32, 2, kHeadDim));
      operands.push_back(rope_);
      attrs.insert(attrs.end(), {0, kHeadDim});
    }
    operands.push_back(out);
    add(TaskOp::kCpuAttention, "attention", operands, attrs);
  }

  void cpuProjections(uint32_t lane, const OperandRecord& q) {
    const OperandRecord n = scratch(DType::kF32, {m_, kEmbed});
    const OperandRecord k = scratch(DType::kF32, {m_, 16});
    const OperandRecord v = scratch(DType::kF32, {m_, 16});
    add(TaskOp::kCpuRmsNorm, "attn_norm", {x_, vector(kEmbed), n}, {doubleAttr(1e-5)});
    const Codes c = quantize(n);
    add(TaskOp::kCpuLinearI8, "attn_q", {c.codes, c.scales, c.sums, panels(DType::kQ4_1, 32, kEmbed), vector(32), q});
    linear("attn_k", c, panels(DType::kQ4_0, 16, kEmbed), k);
    linear("attn_v", c, panels(DType::kQ8_0, 16, kEmbed), v);
    add(TaskOp::kCpuRope, "attn_q", {byHead(q), positions(), rope_}, {0, kHeadDim});
    add(TaskOp::kCpuRope, "attn_k", {byHead(k), positions(), rope_}, {0, kHeadDim});
    addWrite("attn_k", k, 0, lane * 2, 2);
    addWrite("attn_v", v, 1, lane * 2, 2);
  }

  void cpuFeedForward(uint32_t lane, const OperandRecord& out) {
    const uint32_t width = lane == 0 ? 64 : 32;
    const OperandRecord n = scratch(DType::kF32, {m_, kEmbed});
    const OperandRecord gate = scratch(DType::kF32, {m_, width});
    const OperandRecord up = scratch(DType::kF32, {m_, width});
    add(TaskOp::kCpuRmsNorm, "ffn_norm", {x_, vector(kEmbed), n}, {doubleAttr(1e-5)});
    add(TaskOp::kCpuLinearF32, "ffn_gate", {n, panels(DType::kF16, width, kEmbed), gate});
    linear("ffn_up", quantize(n), panels(DType::kQ4_1, width, kEmbed), up);
    const bool isSilu = lane == 0;
    add(isSilu ? TaskOp::kCpuSiluMul : TaskOp::kCpuGeluMul, isSilu ? "ffn_silu" : "ffn_gelu", {gate, up, gate});
    linear("ffn_down", quantize(gate), panels(DType::kQ8_0, kEmbed, width), out);
  }

  void referenceAttention(const OperandRecord& q, const OperandRecord& out) {
    std::vector<OperandRecord> operands = {q, cache(0, 0, kKvHeads), cache(1, 0, kKvHeads), mask()};
    std::vector<uint64_t> attrs = {doubleAttr(0.35), 0};
    if (p_.header.kvType != DType::kF32) operands.push_back(scratch(DType::kF32, {2, kKvHeads, kRows, kHeadDim}));
    for (uint32_t which : {0U, 1U}) {
      for (const OperandRecord& s : scales(which, 0, kKvHeads)) operands.push_back(s);
    }
    if (part_.scalesBytes != 0 && m_ > 1) {
      operands.push_back(matrix(DType::kF16, kKvHeads, kHeadDim));
      operands.push_back(rope_);
      attrs.insert(attrs.end(), {1, kHeadDim, doubleAttr(1)});
    }
    operands.push_back(out);
    add(TaskOp::kRefAttention, "attention", operands, attrs);
  }

  void referenceBlock() {
    cacheParams();
    const OperandRecord n = scratch(DType::kF32, {m_, kEmbed});
    const OperandRecord q = scratch(DType::kF32, {m_, kEmbed});
    const OperandRecord k = scratch(DType::kF32, {m_, kKvWidth});
    const OperandRecord gate = scratch(DType::kF32, {m_, kFfn});
    const OperandRecord up = scratch(DType::kF32, {m_, kFfn});
    const OperandRecord half = scratch(DType::kF32, {m_, kFfn / 2});
    lanes([&](uint32_t) {
      add(TaskOp::kRefRmsNorm, "attn_norm", {x_, vector(kEmbed), n}, {doubleAttr(1e-5)});
      add(TaskOp::kRefLinear, "attn_q", {n, matrix(DType::kQ4_1, kEmbed, kEmbed), vector(kEmbed), q});
      add(TaskOp::kRefLinear, "attn_k", {n, matrix(DType::kQ4_0, kKvWidth, kEmbed), k});
      add(TaskOp::kRefRope, "attn_q", {byHead(q), positions(), rope_, byHead(q)}, {1, kHeadDim, doubleAttr(1)});
      add(TaskOp::kRefRope, "attn_k", {byHead(k), positions(), rope_, byHead(k)}, {1, kHeadDim, doubleAttr(1)});
      addWrite("attn_k", k, 0, 0, kKvHeads);
      addWrite("attn_v", k, 1, 0, kKvHeads);
      referenceAttention(byHead(q), byHead(n));
      add(TaskOp::kRefLinear, "attn_output", {n, matrix(DType::kF16, kEmbed, kEmbed), q});
      add(TaskOp::kRefAdd, "attn_add", {x_, q, x_});
      add(TaskOp::kRefLayerNorm, "ffn_norm", {x_, vector(kEmbed), vector(kEmbed), n}, {doubleAttr(1e-5)});
      add(TaskOp::kRefLinear, "ffn_gate", {n, matrix(DType::kQ8_0, kFfn, kEmbed), gate});
      add(TaskOp::kRefSilu, "ffn_silu", {gate, gate});
      add(TaskOp::kRefLinear, "ffn_up", {n, matrix(DType::kBf16, kFfn, kEmbed), up});
      add(TaskOp::kRefGelu, "ffn_gelu", {up, up}, {1});
      add(TaskOp::kRefMul, "ffn_mul", {gate, up, gate});
      add(TaskOp::kRefSlice, "ffn_slice", {gate, half}, {kFfn / 2});
      add(TaskOp::kRefConcat, "ffn_concat", {half, half, gate});
      add(TaskOp::kRefLinear, "ffn_down", {gate, matrix(DType::kQ4_0, kEmbed, kFfn), n});
      add(TaskOp::kRefSoftcap, "ffn_cap", {n, n}, {doubleAttr(30)});
      add(TaskOp::kRefAdd, "ffn_add", {x_, n, x_});
    });
  }

  static OperandRecord topLogits(uint32_t m) {
    return symbolOperand(SymbolKind::kTopLogits, DType::kF32, spanOf({m, kTop}));
  }
  static OperandRecord topIds(uint32_t m) { return symbolOperand(SymbolKind::kTopIds, DType::kI32, spanOf({m, kTop})); }

  void headBody(uint32_t m, const OperandRecord& in, std::string_view name) {
    m_ = m;
    const OperandRecord n = scratch(DType::kF32, {m, kEmbed});
    const OperandRecord logits = symbolOperand(SymbolKind::kLogits, DType::kF32, spanOf({m, kVocab}));
    tail_ = p_.beginBody(name);
    if (!isCpu()) {
      lanes([&](uint32_t) {
        add(TaskOp::kRefRmsNorm, "output_norm", {in, outputNorm_, n}, {doubleAttr(1e-5)});
        add(TaskOp::kRefLinear, "output", {n, table_, logits});
        add(TaskOp::kRefTopK, "top_k", {logits, topLogits(m), topIds(m)});
      });
      return;
    }
    const OperandRecord values = scratch(DType::kF32, {2, m, kTop});
    const OperandRecord ids = scratch(DType::kI32, {2, m, kTop});
    lanes([&](uint32_t lane) {
      const OperandRecord own = scratch(DType::kF32, {m, kEmbed});
      add(TaskOp::kCpuRmsNorm, "output_norm", {in, outputNorm_, own}, {doubleAttr(1e-5)});
      const uint32_t firstRow = lane == 0 ? 0 : 32;
      const uint32_t rows = lane == 0 ? 32 : kVocab - 32;
      OperandRecord part = panelOperand(DType::kQ8_0, rows, kEmbed, table_.offset);
      part.offset += *panelBytes(DType::kQ8_0, firstRow, kEmbed);
      linear("output", quantize(own), part, columns(logits, firstRow, rows));
      add(TaskOp::kCpuTopK, "top_k", {columns(logits, firstRow, rows), element(values, lane), element(ids, lane)},
          {firstRow});
    });
    lanes([&](uint32_t lane) {
      if (lane == 0) add(TaskOp::kCpuTopKMerge, "top_k", {values, ids, topLogits(m), topIds(m)});
    });
  }

  Target target_;
  uint32_t lanes_;
  Contents contents_;
  Program p_;
  Bump weights_;
  Bump scratch_;
  uint32_t m_ = 0;
  uint32_t first_ = 0;
  uint32_t block_ = 0;
  uint32_t tail_ = 0;
  std::array<uint16_t, 2> cacheBase_{};  ///< params: K, V
  KvPart part_;
  OperandRecord x_{};
  OperandRecord table_{};
  OperandRecord rope_{};
  OperandRecord outputNorm_{};
  std::array<std::vector<uint64_t>, kLayers> args_;
};

}  // namespace

ProgramHeader sampleHeader(const SampleSizes& sizes, DType kvType) {
  ProgramHeader header{};
  header.layers = sizes.layers;
  header.embed = sizes.embed;
  header.heads = sizes.heads;
  header.kvHeads = sizes.kvHeads;
  header.headDim = sizes.headDim;
  header.vocab = sizes.vocab;
  header.maxPromptTokens = kSampleKvRows / 2;
  header.minResponseTokens = kSampleKvRows / 2;
  header.kvRows = kSampleKvRows;
  header.kvType = kvType;
  return header;
}

Contents sampleContents(Target target, SampleSize size, std::optional<DType> kvType) {
  if (target == Target::kNpu) return npuSampleContents(size);
  return Sample(target, kvType.value_or(target == Target::kCpu ? DType::kF16 : DType::kF32)).make(size);
}

std::vector<std::byte> sampleWeights(const Contents& contents) {
  std::vector<std::byte> weights(contents.program.header.weightsBytes);
  for (size_t i = 0; i < weights.size(); ++i) weights[i] = static_cast<std::byte>(i);
  return weights;
}

Result<std::vector<std::byte>> sampleBlob(Target target, SampleSize size, std::optional<DType> kvType) {
  const Contents contents = sampleContents(target, size, kvType);
  return blobFile(contents, sampleWeights(contents));
}

}  // namespace firn::blob
