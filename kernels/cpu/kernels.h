// The kernels behind the cpu task ops (blob/task_op.h, kCpu*), one table per instruction set. Every table gives the
// same bits for the same arguments (docs/arithmetic.md); NaN results are NaN everywhere, with any payload.
// Not here: checks. Callers pass arguments that a verifier has seen; sizes and strides are trusted.
//
// Conventions. Strides are in elements. `rows` is the number of rows computed: a caller passes `valid`, so rows beyond
// it are neither read nor written. No kernel allocates, keeps state, or writes outside [rows, columns] of its outputs.
// Kernels are safe to call from any thread on disjoint outputs. No pointer needs an alignment beyond its element's;
// weights that are 64-byte aligned are faster. A size of zero is a no-op.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/dtype.h"

namespace firn::cpu {

enum class InstructionSet : uint8_t {
  kPortable = 0,  ///< plain C++
  kAvx2 = 1,      ///< AVX2, FMA, F16C
  kAvx512 = 2,    ///< AVX-512 F, BW, DQ, VL, VNNI
};

/// "portable", "avx2", "avx512".
std::string_view instructionSetName(InstructionSet isa);
/// The set of that name; nullopt for any other text.
std::optional<InstructionSet> instructionSetFromName(std::string_view name);
/// True when this machine (CPU and operating system) and this build can run the table of `isa`.
bool isSupported(InstructionSet isa);
/// The widest supported set.
InstructionSet bestInstructionSet();

/// fp32 rows that are read: element [i, j] is data[i * rowStride + j].
struct ConstRows {
  const float* data;
  size_t rowStride;
};
/// fp32 rows that are written.
struct Rows {
  float* data;
  size_t rowStride;
};

/// Quantized activations. Code [p, i, k] is codes[p * planeStride + i * rowStride + k]; scale and sum of group g of row
/// i are at [i * groupStride + g]. With one plane the value of a code is code * scale; with two, plane 0 holds hi and
/// plane 1 lo, and the value is (256 * hi + lo) * scale. `sums` are the sums of (combined) codes of a group.
struct ConstCodes {
  const int8_t* codes;
  const float* scales;
  const int32_t* sums;
  size_t planeStride;
  size_t rowStride;
  size_t groupStride;
  uint32_t planes;  ///< 1 or 2
};
struct Codes {
  int8_t* codes;
  float* scales;
  int32_t* sums;
  size_t planeStride;
  size_t rowStride;
  size_t groupStride;
  uint32_t planes;  ///< 1 or 2
};

/// cpu.embed: out[i, :] = row ids[i] of a table in panels (kernels/quant/panel.h), any weight type.
struct EmbedArgs {
  const int32_t* ids;  ///< [rows], each in 0 .. vocab - 1
  const void* table;   ///< panels [vocab, columns]
  DType type;
  uint32_t rows;
  uint32_t vocab;
  uint32_t columns;
  Rows out;
};

/// cpu.rms_norm: out = in / sqrt(mean(in^2) + eps) * weight.
struct RmsNormArgs {
  ConstRows in;
  const float* weight;  ///< [columns]
  Rows out;             ///< may be `in`
  uint32_t rows;
  uint32_t columns;
  float epsilon;
};

/// cpu.quantize: codes, scales and sums of in[rows, columns]. Codes of columns .. roundup32(columns) - 1 become 0.
struct QuantizeArgs {
  ConstRows in;
  Codes out;
  uint32_t rows;
  uint32_t columns;
};

/// cpu.linear_i8: out[i, n] = sum_k in[i, k] * W[n, k] (+ bias[n]) for W in panels of any quantized type.
struct LinearI8Args {
  ConstCodes in;
  const void* weight;  ///< panels [outputs, columns]
  DType type;
  const float* bias;  ///< [outputs], or nullptr
  Rows out;
  uint32_t rows;
  uint32_t outputs;
  uint32_t columns;  ///< K, a multiple of 32
};

/// cpu.linear_f32: the same for fp32 inputs and W in panels of f32, f16 or bf16; any number of columns.
struct LinearF32Args {
  ConstRows in;
  const void* weight;  ///< panels [outputs, columns]
  DType type;
  const float* bias;  ///< [outputs], or nullptr
  Rows out;
  uint32_t rows;
  uint32_t outputs;
  uint32_t columns;
};

/// cpu.rope, in place on x[rows, heads, headDim]; the first `dims` elements of each head are rotated.
struct RopeArgs {
  float* x;
  size_t rowStride;
  size_t headStride;
  const int32_t* positions;  ///< [rows], each in 0 .. table rows - 1
  const float* table;        ///< [T, dims / 2, 2]: cos, sin, times the magnitude
  size_t tableStride;        ///< of a position, in elements
  uint32_t rows;
  uint32_t heads;
  uint32_t dims;   ///< even
  bool halfSplit;  ///< pairs (i, i + dims / 2); else (2i, 2i + 1)
};

/// cpu.kv_write: in[rows, heads, headDim] rounded into cache[heads, T, headDim], rows row0 .. row0 + rows - 1.
struct KvWriteArgs {
  const float* in;
  size_t rowStride;
  size_t headStride;
  void* cache;
  DType type;  ///< of the cache: f16, f32 or i8
  size_t cacheRowStride;
  size_t cacheHeadStride;
  float* scales;  ///< i8: [heads, T]; else nullptr
  size_t scaleHeadStride;
  uint32_t row0;
  uint32_t rows;
  uint32_t heads;
  uint32_t headDim;
};

/// What is added to each key of an i8 cache: bias[kvHead, headDim] turned to the position of the row, which is its
/// number.
struct KeyBias {
  const float* bias;  ///< [KV heads, headDim], or nullptr: nothing
  size_t biasHeadStride;
  const float* table;  ///< [T, dims / 2, 2], as for rope
  size_t tableStride;
  uint32_t dims;
  bool halfSplit;
};

/// cpu.attention: out[i, h] = sum_r p[r] * V[r] with p = softmax_r(scale * q[i, h] . K[r]) for q[rows, heads, headDim],
/// over the cache rows r below context with mask[r] != 0 and r <= row0 + i and, where there is a window,
/// row0 + i - r < window. Head h uses KV head (firstHead + h) / group - firstHead / group. Rows of K and V that row i
/// cannot see have no influence on it, NaN or not. A row that sees nothing gives zeros.
struct AttentionArgs {
  const float* q;
  size_t qRowStride;
  size_t qHeadStride;
  const void* k;
  const void* v;  ///< strides as k
  DType type;     ///< of k and v: f16, f32 or i8
  size_t kvRowStride;
  size_t kvHeadStride;
  const float* kScales;  ///< i8: [KV heads, T]; else nullptr
  const float* vScales;  ///< strides as kScales
  size_t scaleHeadStride;
  KeyBias keyBias;
  const uint8_t* mask;  ///< [context]
  float* workspace;     ///< attentionWorkspaceFloats(...)
  float* out;           ///< [rows, heads, headDim], not q
  size_t outRowStride;
  size_t outHeadStride;
  float scale;
  uint32_t row0;
  uint32_t rows;
  uint32_t context;
  uint32_t heads;
  uint32_t headDim;
  uint32_t firstHead;
  uint32_t group;   ///< query heads per KV head, >= 1
  uint32_t window;  ///< 0: none
};

/// fp32 elements of workspace that an attention of at most `rows` rows needs. Does not depend on context.
uint64_t attentionWorkspaceFloats(uint32_t rows, uint32_t group, uint32_t headDim);

/// cpu.silu_mul: out = gate / (1 + exp(-gate)) * up. cpu.gelu_mul: out = gelu(gate) * up, gelu in the tanh form.
struct GatedArgs {
  ConstRows gate;
  ConstRows up;
  Rows out;  ///< may be gate or up
  uint32_t rows;
  uint32_t columns;
};

/// cpu.scale: out = in * factor.
struct ScaleArgs {
  ConstRows in;
  Rows out;  ///< may be `in`
  uint32_t rows;
  uint32_t columns;
  float factor;
};

/// cpu.add_partials: x += ((p[0] + p[1]) + ...) over `partials` matrices, partialStride elements apart.
struct AddPartialsArgs {
  Rows x;
  ConstRows partials;
  size_t partialStride;
  uint32_t partialCount;
  uint32_t rows;
  uint32_t columns;
};

/// cpu.copy: out = in.
struct CopyArgs {
  ConstRows in;
  Rows out;  ///< may be `in`
  uint32_t rows;
  uint32_t columns;
};

/// The best elements of each row, best first: value and id j of row i are at values[i * valueStride + j] and
/// ids[i * idStride + j]. A list that is shorter than its room ends in values of minus infinity with the id -1.
struct TopLists {
  float* values;
  int32_t* ids;
  size_t valueStride;
  size_t idStride;
};

/// cpu.top_k: the `count` largest of in[i, :], of equal ones those of the smaller column; NaN never. The id of column j
/// is firstId + j.
struct TopKArgs {
  ConstRows in;
  TopLists out;
  uint32_t rows;
  uint32_t columns;
  uint32_t count;
  int32_t firstId;
};

/// cpu.top_k_merge: the `count` best of `parts` lists of as much room, of equal ones that of the earlier part.
struct TopKMergeArgs {
  const float* values;  ///< [parts, rows, count]
  const int32_t* ids;   ///< [parts, rows, count]
  size_t valuePartStride;
  size_t valueStride;
  size_t idPartStride;
  size_t idStride;
  TopLists out;  ///< none of the parts
  uint32_t parts;
  uint32_t rows;
  uint32_t count;
};

/// One kernel per op. Tables are immutable and live as long as the program.
struct CpuKernels {
  InstructionSet isa;
  void (*embed)(const EmbedArgs&);
  void (*rmsNorm)(const RmsNormArgs&);
  void (*quantize)(const QuantizeArgs&);
  void (*linearI8)(const LinearI8Args&);
  void (*linearF32)(const LinearF32Args&);
  void (*rope)(const RopeArgs&);
  void (*kvWrite)(const KvWriteArgs&);
  void (*attention)(const AttentionArgs&);
  void (*siluMul)(const GatedArgs&);
  void (*geluMul)(const GatedArgs&);
  void (*scale)(const ScaleArgs&);
  void (*addPartials)(const AddPartialsArgs&);
  void (*copy)(const CopyArgs&);
  void (*topK)(const TopKArgs&);
  void (*topKMerge)(const TopKMergeArgs&);
  /// y[i] = exp(x[i]) as silu and attention compute it; for tests and for tools that must agree with them.
  void (*exp)(const float* x, float* y, size_t count);
};

/// The table of `isa`, which must be supported on this machine.
const CpuKernels& kernels(InstructionSet isa);

}  // namespace firn::cpu
