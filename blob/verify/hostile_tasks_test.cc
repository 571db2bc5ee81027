// Lies of tasks: where operands lie, their shapes, attributes.
#include <gtest/gtest.h>

#include "blob/verify/blob_editor_for_test.h"

namespace firn::blob {
namespace {

TEST(HostileTest, OperandPlaces) {
  const auto q = TaskOp::kCpuLinearI8;
  expectRefused(
      Target::kCpu,
      {
          {"ends at byte", [=](Editor& e) { e.operand(q, 3).offset = 1 << 20; }},
          {"overflows", [=](Editor& e) { e.operand(q, 3).offset = ~63ULL; }},
          {"of scratch, the entry has", [=](Editor& e) { e.operand(q, 0).offset = 1ULL << 40; }},
          {"its dims and strides span", [=](Editor& e) { e.operand(q, 0).bytes = 1ULL << 40; }},
          {"its dims and strides span", [=](Editor& e) { e.operand(q, 0).bytes -= 1; }},
          {"its dims and strides span", [=](Editor& e) { e.operand(q, 3).bytes -= 1; }},
          {"its dims and strides span", [=](Editor& e) { e.operand(q, 3).bytes += 1; }},
          {"operand mask: bytes is 129, its dims and strides span 128",
           [](Editor& e) { e.operand(TaskOp::kCpuAttention, 3).bytes += 1; }},
          {"operand workspace: bytes is 16448, its dims and strides span 16384",
           [](Editor& e) { e.operand(TaskOp::kCpuAttention, 4).bytes += 64; }},
          {"is no multiple of 4", [=](Editor& e) { e.operand(q, 1).offset += 2; }},
          {"is no multiple of 64", [=](Editor& e) { e.operand(q, 3).offset += 32; }},
          {"base is 0, scratch has none", [=](Editor& e) { e.operand(q, 0).base = 0; }},
          {"base is param 99", [=](Editor& e) { e.operand(q, 3).base = 99; }},
          {"points into another space", [=](Editor& e) { e.operand(q, 3).base = 0; }},
          {"reserved0 is not zero", [=](Editor& e) { e.operand(q, 3).reserved0 = 1; }},
          {"lies in no known space", [=](Editor& e) { e.operand(q, 5).space = static_cast<Space>(9); }},
          {"operand out: lies in weights", [=](Editor& e) { e.operand(q, 5).space = Space::kWeights; }},
          {"operand weight: lies in scratch", [=](Editor& e) { e.operand(q, 3).space = Space::kScratch; }},
          {"operand cache: lies in scratch",
           [](Editor& e) { e.operand(TaskOp::kCpuKvWrite, 1).space = Space::kScratch; }},
          {"operand ids: lies in scratch",
           [](Editor& e) {
             e.operand(TaskOp::kCpuEmbed, 0).space = Space::kScratch;
             e.operand(TaskOp::kCpuEmbed, 0).base = kNoBase;
           }},
          {"operand positions: lies in symbol",
           [](Editor& e) { e.operand(TaskOp::kCpuRope, 1).base = static_cast<uint16_t>(SymbolKind::kIds); }},
          {"operand mask: lies in symbol at 4", [](Editor& e) { e.operand(TaskOp::kCpuAttention, 3).offset = 4; }},
          {"its dims and strides span 128", [](Editor& e) { e.operand(TaskOp::kCpuAttention, 3).bytes = 0x7FFFFFFF; }},
          {"uses symbol logits, which the entry does not have",
           [](Editor& e) { e.operand(TaskOp::kCpuCopy, 1).base = static_cast<uint16_t>(SymbolKind::kLogits); }},
          {"bytes of symbol hidden, which has", [](Editor& e) { e.operand(TaskOp::kCpuCopy, 1).offset = 4; }},
          {"x is written and overlaps operand partials",
           [](Editor& e) {
             e.operand(TaskOp::kCpuAddPartials, 1).offset = e.operand(TaskOp::kCpuAddPartials, 0).offset;
           }},
          {"is written and overlaps operand in",
           [](Editor& e) {
             e.operand(TaskOp::kCpuQuantize, 1).offset = e.operand(TaskOp::kCpuQuantize, 0).offset + 64;
           }},
          {"operand out is written and overlaps", [](Editor& e) { e.operand(TaskOp::kCpuSiluMul, 2).offset += 4; }},
          {"operand out is written and overlaps operand gate",
           [](Editor& e) { e.operand(TaskOp::kCpuGeluMul, 2).offset += 4; }},
          {"operand out is written and overlaps operand in",
           [](Editor& e) { e.operand(TaskOp::kCpuScale, 1).offset += 4; }},
      });
}

TEST(HostileTest, OperandShapes) {
  const auto q = TaskOp::kCpuLinearI8;
  expectRefused(
      Target::kCpu,
      {
          {"op 50 is no task op", [=](Editor& e) { e.task(q).op = 50; }},
          {"does not belong to target cpu",
           [=](Editor& e) { e.task(q).op = static_cast<uint16_t>(TaskOp::kRefLinear); }},
          {"operands, expected", [=](Editor& e) { e.task(q).op = static_cast<uint16_t>(TaskOp::kCpuCopy); }},
          {"type i8 does not fit", [=](Editor& e) { e.operand(q, 1).dtype = DType::kI8; }},
          {"type (unknown) does not fit", [=](Editor& e) { e.operand(q, 3).dtype = static_cast<DType>(77); }},
          {"type f16 does not fit", [=](Editor& e) { e.operand(q, 3).dtype = DType::kF16; }},
          {"layout is 0, expected 1 (panels)", [=](Editor& e) { e.operand(q, 3).layout = Layout::kStrided; }},
          {"layout is 7, expected 0 (strided)", [=](Editor& e) { e.operand(q, 5).layout = static_cast<Layout>(7); }},
          {"rank 200, expected 3", [=](Editor& e) { e.operand(q, 0).rank = 200; }},
          {"dim 3 is unused: dims is 2 and strides 0, expected 1 and 0",
           [=](Editor& e) { e.operand(q, 0).dims[3] = 2; }},
          {"strides are 64, 0, those of panels are 0, 0", [=](Editor& e) { e.operand(q, 3).strides[0] = 64; }},
          {"strides[1] is 2, expected 1", [=](Editor& e) { e.operand(q, 5).strides[1] = 2; }},
          {"strides[0] is 0", [=](Editor& e) { e.operand(q, 5).strides[0] = 0; }},
          {"dims[0] is 0", [=](Editor& e) { e.operand(q, 1).dims[0] = 0; }},
          {"dims[0] is 3, expected at most 2 (planes)", [=](Editor& e) { e.operand(q, 0).dims[0] = 3; }},
          {"dims[1] is 1, expected 2 (groups)", [=](Editor& e) { e.operand(q, 2).dims[1] = 1; }},
          {"padded columns is 64, expected 32", [=](Editor& e) { e.operand(q, 3).dims[1] = 32, e.fit(q, {3}); }},
          {"dims[1] is 32, expected 48 (out)",
           [=](Editor& e) {
             e.operand(q, 3).dims[0] = 48;
             e.operand(q, 4).dims[0] = 48;
             e.fit(q, {3, 4});
           }},
          {"expected that of scales", [=](Editor& e) { e.operand(q, 2).strides[0] += 1, e.fit(q, {2}); }},
          {"dims[0] is 16, expected at least 40 (vocabulary)",
           [](Editor& e) { e.operand(TaskOp::kCpuEmbed, 1).dims[0] = 16; }},
          {"dims[0] is 127, expected at least 128 (table rows)",
           [](Editor& e) { e.operand(TaskOp::kCpuRope, 2).dims[0] = 127; }},
          {"strides[1] is 4, expected 2",
           [](Editor& e) {
             e.operand(TaskOp::kCpuRope, 2).strides = {16, 4, 1, 0};
             e.operand(TaskOp::kCpuRope, 2).bytes *= 2;
           }},
          {"dims[1] is 127, expected 128 (KV rows)",
           [](Editor& e) { e.operand(TaskOp::kCpuKvWrite, 1).dims[1] = 127; }},
          {"those of the cache are", [](Editor& e) { e.operand(TaskOp::kCpuKvWrite, 1).strides[0] += 8; }},
          {"dims[0] is 64, expected 128 (KV rows)",
           [](Editor& e) { e.operand(TaskOp::kCpuAttention, 3).dims[0] = 64; }},
          {"4294967295 rows",
           [](Editor& e) {
             auto& out = e.operand(TaskOp::kCpuCopy, 1);
             auto& in = e.operand(TaskOp::kCpuCopy, 0);
             out.dims[0] = in.dims[0] = ~0U;
             e.fit(TaskOp::kCpuCopy, {0, 1});
             in.offset = 0;
           }},
      });
}

TEST(HostileTest, Attributes) {
  const auto nan = doubleAttr(__builtin_nan(""));
  expectRefused(Target::kCpu, {
                                  {"attribute eps", [=](Editor& e) { e.attr(TaskOp::kCpuRmsNorm, 0) = nan; }},
                                  {"attribute eps", [](Editor& e) { e.attr(TaskOp::kCpuRmsNorm, 0) = doubleAttr(-1); }},
                                  {"attribute pairing", [](Editor& e) { e.attr(TaskOp::kCpuRope, 0) = 2; }},
                                  {"attribute dims", [](Editor& e) { e.attr(TaskOp::kCpuRope, 1) = 7; }},
                                  {"attribute dims", [](Editor& e) { e.attr(TaskOp::kCpuRope, 1) = 16; }},
                                  {"attribute scale",
                                   [](Editor& e) { e.attr(TaskOp::kCpuAttention, 0) = doubleAttr(__builtin_inf()); }},
                                  {"attribute firstHead", [](Editor& e) { e.attr(TaskOp::kCpuAttention, 1) = ~0ULL; }},
                                  {"attribute group", [](Editor& e) { e.attr(TaskOp::kCpuAttention, 2) = 0; }},
                                  {"attribute window", [](Editor& e) { e.attr(TaskOp::kCpuAttention, 3) = ~0ULL; }},
                                  {"KV heads, the view has 2", [](Editor& e) { e.attr(TaskOp::kCpuAttention, 2) = 1; }},
                                  {"KV heads, the view has 2", [](Editor& e) { e.attr(TaskOp::kCpuAttention, 1) = 1; }},
                              });
}

TEST(HostileTest, ListsOfTheBest) {
  const auto top = TaskOp::kCpuTopK;
  const auto merge = TaskOp::kCpuTopKMerge;
  const auto base = [](SymbolKind kind) { return static_cast<uint16_t>(kind); };
  expectRefused(
      Target::kCpu,
      {
          {"attribute first: is 9, expected an id with 32 ids from it, of 40", [=](Editor& e) { e.attr(top, 0) = 9; }},
          {"attribute first: is 18446744073709551615", [=](Editor& e) { e.attr(top, 0) = ~0ULL; }},
          {"operand values: dims[1] is 8, expected 9 (top tokens)",
           [=](Editor& e) { e.operand(top, 1).dims[1] = 8, e.fit(top, {1}); }},
          {"operand ids: dims[1] is 8, expected 9 (top tokens)", [=](Editor& e) { e.operand(top, 2).dims[1] = 8; }},
          {"operand ids: type f32", [=](Editor& e) { e.operand(top, 2).dtype = DType::kF32; }},
          {"operand values is written and overlaps operand ids",
           [=](Editor& e) { e.operand(top, 2).offset = e.operand(top, 1).offset; }},
          {"operand values is written and overlaps operand values",
           [=](Editor& e) { e.operand(merge, 2) = e.operand(top, 1); }},
          {"operand ids: dims[0] is 3, expected 2 (partials)",
           [=](Editor& e) { e.operand(merge, 1).dims[0] = 3, e.fit(merge, {1}); }},
          {"operand values: lies in symbol at 0, expected scratch, or the top_logits symbol",
           [=](Editor& e) { e.operand(merge, 2).base = base(SymbolKind::kLogits); }},
          {"operand ids: lies in symbol at 0, expected scratch, or the top_ids symbol",
           [=](Editor& e) { e.operand(merge, 3).base = base(SymbolKind::kIds); }},
          {"bytes of symbol top_ids, which has", [=](Editor& e) { e.operand(merge, 3).offset = 4; }},
          {"program header: topTokens is 41, expected 0..40", [](Editor& e) { e.header().topTokens = 41; }},
          {"(top tokens)", [](Editor& e) { e.header().topTokens = 8; }},
          {"operand values: the program has no lists of the best, topTokens is 0",
           [](Editor& e) { e.header().topTokens = 0; }},
      });
  expectRefused(Target::kReference,
                {
                    {"operand ids: dims[1] is 8, expected 9 (top tokens)",
                     [](Editor& e) { e.operand(TaskOp::kRefTopK, 2).dims[1] = 8; }},
                    {"operand ids: type i8", [](Editor& e) { e.operand(TaskOp::kRefTopK, 2).dtype = DType::kI8; }},
                });
}

TEST(HostileTest, ReferenceTasks) {
  expectRefused(
      Target::kReference,
      {
          {"operand weight: dims[1] is 32, expected 64 (columns)",
           [](Editor& e) { e.operand(TaskOp::kRefLinear, 1).dims[1] = 32; }},
          {"its dims and strides span no valid extent",
           [](Editor& e) { e.operand(TaskOp::kRefLinear, 1).strides[0] += 1; }},
          {"operand out is written and overlaps operand in",
           [](Editor& e) { e.operand(TaskOp::kRefLinear, 3).offset = e.operand(TaskOp::kRefLinear, 0).offset; }},
          {"attribute magnitude", [](Editor& e) { e.attr(TaskOp::kRefRope, 2) = ~0ULL; }},
          {"operand freqs: type f16", [](Editor& e) { e.operand(TaskOp::kRefRope, 2).dtype = DType::kF16; }},
          {"operand K: type f16", [](Editor& e) { e.operand(TaskOp::kRefAttention, 1).dtype = DType::kF16; }},
          {"attribute tanh: is 2, expected 0 or 1", [](Editor& e) { e.attr(TaskOp::kRefGelu, 0) = 2; }},
          {"attribute first: is 49, expected a column with 48 columns from it, of 96",
           [](Editor& e) { e.attr(TaskOp::kRefSlice, 0) = 49; }},
          {"attribute first: is 18446744073709551615", [](Editor& e) { e.attr(TaskOp::kRefSlice, 0) = ~0ULL; }},
          {"operand out is written and overlaps operand a",
           [](Editor& e) { e.operand(TaskOp::kRefConcat, 2).offset = e.operand(TaskOp::kRefConcat, 0).offset; }},
          {"all columns is 96, expected 95",
           [](Editor& e) { e.operand(TaskOp::kRefConcat, 1).dims[1] = 47, e.fit(TaskOp::kRefConcat, {1}); }},
          {"operand in: type i8 does not fit the op, expected f32",
           [](Editor& e) { e.operand(TaskOp::kRefScale, 0).dtype = DType::kI8; }},
          {"operand out: lies in kv", [](Editor& e) { e.operand(TaskOp::kRefSoftcap, 1).space = Space::kKv; }},
          {"op 16 is no task op", [](Editor& e) { e.task(TaskOp::kRefCopy).op = 16; }},
          {"attribute window", [](Editor& e) { e.attr(TaskOp::kRefAttention, 1) = (1ULL << 31) + 1; }},
          {"heads are no multiple of",
           [](Editor& e) {
             for (size_t i : {1U, 2U}) e.operand(TaskOp::kRefAttention, i).dims[0] = 3;
             e.fit(TaskOp::kRefAttention, {1, 2});
           }},
      });
}

}  // namespace
}  // namespace firn::blob
