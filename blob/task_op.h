// The task ops of a blob: their numbers, names, operands and attributes. The compiler emits them, a device executes
// them. Not here: what they compute (docs/ops.md, docs/arithmetic.md) and the shape rules (verify/task_op_verify.h).
#pragma once

#include <cstdint>
#include <string_view>

namespace firn::blob {

// Notation: m rows of the entry, of which `valid` are real; [..] are dims in elements; `?` marks an operand that may be
// absent (then it is left out, and operandCount is smaller). "in place" operands are read and written.

/// Append, never renumber.
enum class TaskOp : uint16_t {
  // Reference target: fp32, weights in their source type, rows in natural order. kernels/reference/<op>.cc
  kRefEmbed = 1,      ///< ids i32[m], table W[V,E], out f32[m,E]
  kRefRmsNorm = 2,    ///< in f32[m,n], weight f32-like W[n], out f32[m,n]; attrs: eps (double)
  kRefLayerNorm = 3,  ///< in f32[m,n], weight W[n], bias? W[n], out f32[m,n]; attrs: eps (double)
  kRefLinear = 4,     ///< in f32[m,K], weight W[N,K], bias? W[N], out f32[m,N]
  kRefRope = 5,       ///< in f32[m,heads,d], positions i32[m], freqs f32[dims/2], out f32[m,heads,d]; attrs: pairing (0
                      ///< interleaved, 1 half-split), dims, magnitude (double)
  kRefStateWrite = 6,  ///< in f32[m,heads,d], cache kv[heads,T,d], scales? f32[heads,T] (i8): rows
                       ///< row0 .. row0+valid-1 written
  kRefAttention = 7,   ///< q f32[m,heads,d], K kv[kvHeads,T,d], V kv[kvHeads,T,d], mask u8[c], workspace?
                       ///< f32[2,kvHeads,T,d] (not f32), scales? of K and of V f32[kvHeads,T] (i8), bias? f32-like
                       ///< W[kvHeads,d] and freqs? f32[dims/2] (i8: key r is that of the cache plus the bias turned to
                       ///< position r), out f32[m,heads,d]; attrs: scale (double), window (0: none), and with a bias
                       ///< pairing, dims, magnitude (double)
  kRefSilu = 8,        ///< in f32[m,n], out f32[m,n]
  kRefGelu = 9,        ///< in f32[m,n], out f32[m,n]; attrs: 1 for the tanh form
  kRefMul = 10,        ///< a f32[m,n], b f32[m,n], out f32[m,n]
  kRefAdd = 11,        ///< a f32[m,n], b f32[m,n], out f32[m,n]
  kRefScale = 12,      ///< in f32[m,n], out f32[m,n]; attrs: factor (double)
  kRefSoftcap = 13,    ///< in f32[m,n], out f32[m,n]; attrs: cap (double)
  kRefSlice = 14,      ///< in f32[m,n], out f32[m,len]; attrs: first column
  kRefConcat = 15,     ///< a f32[m,n1], b f32[m,n2], out f32[m,n1+n2]
  // 16 is kept for select_rows: no entry has row numbers among its inputs yet.
  kRefCopy = 17,  ///< in f32[m,n], out f32[m,n]
  kRefTopK = 18,  ///< in f32[m,n], values f32[m,K], ids i32[m,K]: the K best of a row, best first

  // Cpu target: docs/arithmetic.md. Quantized activations are three operands: codes i8[planes,m,Kp] with Kp = K rounded
  // up to 32 (zeros beyond K), scales f32[m,Kp/32], sums i32[m,Kp/32] (of the combined codes). kernels/cpu/<op>.cc
  kCpuEmbed = 100,      ///< ids i32[m], table panels[V,E], out f32[m,E]
  kCpuRmsNorm = 101,    ///< in f32[m,n], weight f32[n], out f32[m,n]; attrs: eps (double)
  kCpuQuantize = 102,   ///< in f32[m,K], codes, scales, sums
  kCpuLinearI8 = 103,   ///< codes, scales, sums, weight panels[N,K] (quantized), bias? f32[N], out f32[m,N]
  kCpuLinearF32 = 104,  ///< in f32[m,K], weight panels[N,K] (f32, f16, bf16), bias? f32[N], out f32[m,N]
  kCpuRope =
      105,  ///< x f32[m,heads,d] in place, positions i32[m], table f32[T,dims/2,2] (cos, sin); attrs: pairing, dims
  kCpuKvWrite = 106,    ///< in f32[m,heads,d], cache kv[heads,T,d], scales? f32[heads,T] (i8): rows
                        ///< row0 .. row0+valid-1 written
  kCpuAttention = 107,  ///< q f32[m,heads,d], K kv[kvHeads,T,d], V kv[kvHeads,T,d], mask u8[c], workspace f32[n],
                        ///< scales? of K and of V f32[kvHeads,T] (i8), bias? f32[kvHeads,d] and table?
                        ///< f32[T,dims/2,2] (i8: as in 7), out f32[m,heads,d]; attrs: scale (double), firstHead, group,
                        ///< window (0: none), and with a bias pairing, dims: head h of q uses kv head
                        ///< (firstHead + h) / group - firstHead / group
  kCpuSiluMul = 108,    ///< gate f32[m,n], up f32[m,n], out f32[m,n]
  kCpuAddPartials = 109,  ///< x f32[m,n] in place, partials f32[lanes,m,n]: x += ((p0 + p1) + ...)
  kCpuCopy = 110,         ///< in f32[m,n], out f32[m,n]
  kCpuGeluMul = 111,      ///< gate f32[m,n], up f32[m,n], out f32[m,n]; gelu in the tanh form
  kCpuScale = 112,        ///< in f32[m,n], out f32[m,n]; attrs: factor (double)
  kCpuTopK = 113,         ///< in f32[m,n], values f32[m,K], ids i32[m,K]; attrs: id of the first column
  kCpuTopKMerge = 114,    ///< parts of values f32[lanes,m,K] and ids i32[lanes,m,K], values f32[m,K], ids i32[m,K]

  // Npu target: blob/npu_task_rules.cc holds types and places; attrs as named here. Operands lie in the CMX of the
  // task's tile unless said otherwise; `raw` rows are bytes of the source format, whose number is an attr; planes of
  // codes, scales and mins of groups of k are as 211 says. kernels/npu/<op>.cc
  kNpuCopy = 200,  ///< DMA: src, dst: same type and dims; src anywhere, dst in CMX, scratch or an output; attrs: tiles
                   ///< (bits of all tiles that a dst in CMX is written to, at the same offset; 0: its own)
  kNpuKvWrite = 201,  ///< DMA: in f16[m,h,d], cache kv[h,T,d]: row i to cache row row0 + firstRow + i; attrs: firstRow
  kNpuMatmul = 210,   ///< DPU: a f16[m,k], w f16[n,k] or transposed (strides 1, s), out f32 or f16[m,n]; attrs:
                      ///< accumulate (1: added to what out holds, f32)
  kNpuMatmulGroups = 211,  ///< DPU: a f16[m,k], codes u8[n,k*bits/8], out f32[g,m,n]: a sum for each of g groups of k;
                           ///< attrs: bits (4, 8), zero (taken from each code)
  kNpuEmbed = 220,         ///< SHAVE: ids i32[m], table raw u8[V,b] in the weights, out f32[m,n]; attrs: type
  kNpuRmsNorm = 221,       ///< SHAVE: in f32[m,n], weight f32[n], out f16 or f32[m,n]; attrs: eps (double)
  kNpuRope = 222,    ///< SHAVE: in f32[m,h,d], positions i32[m], freqs f32[p], out f16 or f32[m,h,d]; attrs: pairing,
                     ///< dims, magnitude (double), as 5
  kNpuExpand = 223,  ///< SHAVE: in raw u8[n,b], out f16[n,k]; attrs: type
  kNpuAccumulate = 224,  ///< SHAVE: partials f32[g,m,n], scales f16[n,g], mins? f16[n,g], sums? f32[m,g], out f32[m,n];
                         ///< attrs: accumulate. out (+)= sum over g of scales * partials + mins * sums
  kNpuGroupSums = 225,   ///< SHAVE: a f16[m,k], sums f32[m,g]
  kNpuBias = 226,        ///< SHAVE: x f32[m,n] in place, bias f32[n]
  kNpuAdd = 227,         ///< SHAVE: a, b, out f32[m,n]
  kNpuMul = 228,         ///< SHAVE: a, b, out f32[m,n]
  kNpuSiluMul = 229,     ///< SHAVE: gate, up f32[m,n], out f16 or f32[m,n]
  kNpuGeluMul = 230,     ///< SHAVE: the same, gelu in the tanh form
  kNpuScale = 231,       ///< SHAVE: in, out f32[m,n]; attrs: factor (double)
  kNpuSoftcap = 232,     ///< SHAVE: in, out f32[m,n]; attrs: cap (double)
  kNpuCast = 233,        ///< SHAVE: in f32[m,n], out f16[m,n]
  kNpuSoftmax = 234,     ///< SHAVE: scores f32[m,r], mask u8[r], row0 i32[1], max, sum f32[m] in place, factor f32[m],
                         ///< probs f16[m,r]: a block of r cache rows for the queries of one KV head, row t * group + i
                         ///< of head i of token t; attrs: scale (double), firstRow, firstToken, group, window (0:
                         ///< none), isFirst
  kNpuRescale = 235,     ///< SHAVE: acc f32[m,d] in place, factor f32[m]
  kNpuFinish = 236,      ///< SHAVE: acc f32[m,d], sum f32[m], out f16[m,d]: acc / sum, 0 where sum is 0
  kNpuClean = 237,      ///< SHAVE: v f16[r,d] in place, mask u8[r], row0 i32[1]: rows with mask 0, or behind the window
                        ///< of the first query, become 0; attrs: firstRow, firstToken, window, as 234
  kNpuTopK = 238,       ///< SHAVE: in f32[m,n], values f32[m,K], ids i32[m,K]; attrs: id of the first column
  kNpuTopKMerge = 239,  ///< SHAVE: parts of values f32[p,m,K] and ids i32[p,m,K], values f32[m,K], ids i32[m,K]
  kNpuEmbedGroups = 240,   ///< SHAVE: ids i32[m], codes u8[V,b], scales f16[V,g], mins? f16[V,g], all three in the
                           ///< weights, out f32[m,k]; attrs: bits, zero, as 211
  kNpuExpandGroups = 241,  ///< SHAVE: codes u8[n,b], scales f16[n,g], mins? f16[n,g], out f16[n,k]; attrs: bits, zero
};

/// "ref.linear", "cpu.linear_i8"; empty when the number is no op.
std::string_view taskOpName(TaskOp op);

}  // namespace firn::blob
