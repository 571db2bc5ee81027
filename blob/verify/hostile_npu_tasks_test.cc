// Lies of tasks of the npu: where operands lie, their shapes, attributes, and what ties them together.
#include <gtest/gtest.h>

#include "base/concat.h"
#include "blob/verify/blob_editor_for_test.h"

namespace firn::blob {
namespace {

constexpr auto kCopy = TaskOp::kNpuCopy;
constexpr auto kMatmul = TaskOp::kNpuMatmul;
constexpr auto kGroups = TaskOp::kNpuMatmulGroups;
constexpr auto kSoftmax = TaskOp::kNpuSoftmax;
constexpr auto kRope = TaskOp::kNpuRope;

/// The first copy whose ends are as `wanted` says.
template <typename Wanted>
TaskRecord& copyThat(Editor& e, const Wanted& wanted) {
  for (size_t i = 0; i < e.header().tasks.count; ++i) {
    TaskRecord& task = e.task(i);
    if (task.op == static_cast<uint16_t>(kCopy) && wanted(e.operandOf(task, 0), e.operandOf(task, 1))) return task;
  }
  ADD_FAILURE() << "no such copy";
  return e.task(size_t{0});
}

/// From tile 0 to the same place in tile 1.
TaskRecord& copyToTheOtherTile(Editor& e) {
  return copyThat(e, [](const OperandRecord& src, const OperandRecord& dst) {
    return src.space == Space::kCmx && dst.space == Space::kCmx && src.base == 0 && dst.base == 1 &&
           src.offset == dst.offset;
  });
}

TaskRecord& copyOf(Editor& e, SymbolKind kind) {
  return copyThat(e, [=](const OperandRecord& src, const OperandRecord&) {
    return src.space == Space::kSymbol && src.base == static_cast<uint16_t>(kind);
  });
}

TaskRecord& copyFrom(Editor& e, Space space) {
  return copyThat(e, [=](const OperandRecord& src, const OperandRecord&) { return src.space == space; });
}

TaskRecord& copyTo(Editor& e, Space space) {
  return copyThat(e, [=](const OperandRecord&, const OperandRecord& dst) { return dst.space == space; });
}

TEST(HostileNpuTest, OperandTypes) {
  const auto setType = [](TaskOp op, size_t operand, DType type) {
    return [=](Editor& e) { e.operand(op, operand).dtype = type; };
  };
  expectRefused(
      Target::kNpu,
      {
          {"operand a: type f32 does not fit the op, expected f16", setType(kMatmul, 0, DType::kF32)},
          {"operand out: type u8 does not fit the op, expected f32 or f16", setType(kMatmul, 2, DType::kU8)},
          {"operand codes: type i8 does not fit the op, expected u8", setType(kGroups, 1, DType::kI8)},
          {"operand out: type f16 does not fit the op, expected f32", setType(TaskOp::kNpuAdd, 2, DType::kF16)},
          {"operand src: type q8_0 does not fit the op, expected one that is not quantized",
           setType(kCopy, 0, DType::kQ8_0)},
          {"operand src: type (unknown) does not fit", setType(kCopy, 0, static_cast<DType>(77))},
          {"operand dst: type or dims are not those of src", setType(kCopy, 0, DType::kF32)},
          {"operand out: type f16, expected f32, since it accumulates",
           [](Editor& e) {
             e.attr(kMatmul, 0) = 1;
             e.operand(kMatmul, 2).dtype = DType::kF16;
             e.fit(kMatmul, {2});
           }},
      });
}

TEST(HostileNpuTest, OperandPlaces) {
  expectRefused(
      Target::kNpu,
      {
          {"operand a: lies in CMX of tile 1, expected CMX of the task's tile",
           [](Editor& e) { e.operand(kMatmul, 0).base = 1; }},
          {"operand out: lies in CMX of tile 65535, the machine has 2, expected",
           [](Editor& e) { e.operand(kMatmul, 2).base = kNoBase; }},
          {"operand w: lies in weights with base 0, expected CMX of the task's tile",
           [](Editor& e) { e.operand(kMatmul, 1).space = Space::kWeights; }},
          {"operand table: lies in CMX of tile 0, expected weights",
           [](Editor& e) {
             e.operand(TaskOp::kNpuEmbed, 1).space = Space::kCmx;
             e.operand(TaskOp::kNpuEmbed, 1).base = 0;
           }},
          {"operand cache: lies in scratch with base 0, expected a param of the cache",
           [](Editor& e) { e.operand(TaskOp::kNpuKvWrite, 1).space = Space::kScratch; }},
          {"operand in: lies in kv", [](Editor& e) { e.operand(TaskOp::kNpuKvWrite, 0).space = Space::kKv; }},
          {"operand dst: lies in weights with base 0, expected CMX, scratch, a symbol that is no cache",
           [](Editor& e) { e.operand(kCopy, 1).space = Space::kWeights; }},
          {"operand src: lies in kv with base 65535, expected",
           [](Editor& e) { e.operandOf(copyFrom(e, Space::kKv), 0).base = kNoBase; }},
          {"operand src: lies in symbol with base 9, expected",
           [](Editor& e) { e.operandOf(copyOf(e, SymbolKind::kMask), 0).base = 9; }},
          {"operand src: lies in no known space, expected",
           [](Editor& e) { e.operand(kCopy, 0).space = static_cast<Space>(6); }},
          {"bytes 1048576 and 64 more of CMX, a tile has 1048576",
           [](Editor& e) { e.operandOf(copyOf(e, SymbolKind::kIds), 1).offset = 1 << 20; }},
          {"bytes 1048516 and 64 more of CMX, a tile has 1048576",
           [](Editor& e) { e.operandOf(copyOf(e, SymbolKind::kIds), 1).offset = (1 << 20) - 60; }},
          {"bytes 18446744073709551612 and 64 more of CMX",
           [](Editor& e) { e.operandOf(copyOf(e, SymbolKind::kIds), 1).offset = ~3ULL; }},
          {"operand 0: offset 2 is no multiple of 4", [](Editor& e) { e.operand(TaskOp::kNpuBias, 0).offset = 2; }},
          {"operand 1: reserved0 is not zero", [](Editor& e) { e.operand(TaskOp::kNpuBias, 1).reserved0 = 1; }},
          {"of scratch, the entry has 4096", [](Editor& e) { e.operandOf(copyTo(e, Space::kScratch), 1).offset = 4; }},
          {"base is 0, scratch has none", [](Editor& e) { e.operandOf(copyTo(e, Space::kScratch), 1).base = 0; }},
          {"of its space, which has", [](Editor& e) { e.operand(TaskOp::kNpuEmbed, 1).offset = 1 << 20; }},
          {"of its param, which has 8192",
           [](Editor& e) { e.operandOf(copyFrom(e, Space::kKv), 0).offset = 8192 - 64; }},
          {"base is param 99", [](Editor& e) { e.operandOf(copyFrom(e, Space::kKv), 0).base = 99; }},
          {"points into another space", [](Editor& e) { e.operandOf(copyFrom(e, Space::kKv), 0).base = 2; }},
      });
}

TEST(HostileNpuTest, Symbols) {
  expectRefused(Target::kNpu, {
                                  {"the body uses 65 bytes of symbol mask, which has 64",
                                   [](Editor& e) { e.operandOf(copyOf(e, SymbolKind::kMask), 0).offset = 1; }},
                                  {"the body uses 68 bytes of symbol ids, which has 64",
                                   [](Editor& e) { e.operandOf(copyOf(e, SymbolKind::kIds), 0).offset = 4; }},
                                  {"the body uses symbol logits, which the entry does not have",
                                   [](Editor& e) {
                                     e.operandOf(copyOf(e, SymbolKind::kIds), 0).base =
                                         static_cast<uint16_t>(SymbolKind::kLogits);
                                   }},
                                  {"the body writes symbol ids, an input",
                                   [](Editor& e) {
                                     TaskRecord& task = copyOf(e, SymbolKind::kIds);
                                     std::swap(e.operandOf(task, 0), e.operandOf(task, 1));
                                   }},
                              });
}

TEST(HostileNpuTest, OperandShapes) {
  expectRefused(
      Target::kNpu,
      {
          {"operand a: layout is 1, expected 0 (strided)",
           [](Editor& e) { e.operand(kMatmul, 0).layout = Layout::kPanels; }},
          {"operand a: rank 200, expected 2", [](Editor& e) { e.operand(kMatmul, 0).rank = 200; }},
          {"operand src: rank 0, expected 1 to 4", [](Editor& e) { e.operand(kCopy, 0).rank = 0; }},
          {"operand src: rank 5, expected 1 to 4", [](Editor& e) { e.operand(kCopy, 0).rank = 5; }},
          {"operand a: dim 2 is unused: dims is 1 and strides 1, expected 1 and 0",
           [](Editor& e) { e.operand(kMatmul, 0).strides[2] = 1; }},
          {"operand a: strides[1] is 2, expected 1", [](Editor& e) { e.operand(kMatmul, 0).strides = {64, 2, 0, 0}; }},
          {"operand a: strides[1] is 64, expected 1", [](Editor& e) { e.operand(kMatmul, 0).strides = {1, 64, 0, 0}; }},
          {"operand a: strides[0] is 63, expected at least 64",
           [](Editor& e) { e.operand(kMatmul, 0).strides[0] = 63; }},
          {"operand partials: strides[0] is 511, expected at least 512",
           [](Editor& e) { e.operand(TaskOp::kNpuAccumulate, 0).strides[0] = 511; }},
          {"operand w: strides[1] is 63, expected 1, or those of a transposed matrix, 1 and at least 64",
           [](Editor& e) { e.operand(kMatmul, 1).strides = {1, 63, 0, 0}; }},
          {"operand w: strides[1] is 0, expected 1, or those",
           [](Editor& e) { e.operand(kMatmul, 1).strides = {1, 0, 0, 0}; }},
          {"operand a: bytes is 2049, its dims and strides span 2048",
           [](Editor& e) { ++e.operand(kMatmul, 0).bytes; }},
          {"its dims and strides span no valid extent", [](Editor& e) { e.operand(kMatmul, 0).dims[0] = 0; }},
          {"operand src: strides[0] is 4294967295, expected at least 18446744065119617025",
           [](Editor& e) {
             e.operand(kCopy, 0).rank = 3;
             e.operand(kCopy, 0).dims = {~0U, ~0U, ~0U, 1};
             e.operand(kCopy, 0).strides = {~0U, ~0U, 1, 0};
           }},
          {"operand w: dims[1] is 32, expected 64 (k)",
           [](Editor& e) { e.operand(kMatmul, 1).dims[1] = 32, e.fit(kMatmul, {1}); }},
          {"operand out: dims[0] is 15, expected 16 (m)",
           [](Editor& e) { e.operand(kMatmul, 2).dims[0] = 15, e.fit(kMatmul, {2}); }},
          {"operand row0: dims[0] is 2, expected 1 (1)",
           [](Editor& e) { e.operand(kSoftmax, 2).dims[0] = 2, e.fit(kSoftmax, {2}); }},
          {"operand max: dims[0] is 31, expected 32 (m)",
           [](Editor& e) { e.operand(kSoftmax, 3).dims[0] = 31, e.fit(kSoftmax, {3}); }},
          {"operand mask: dims[0] is 31, expected 32 (r)",
           [](Editor& e) { e.operand(kSoftmax, 1).dims[0] = 31, e.fit(kSoftmax, {1}); }},
          {"operand table: dims[0] is 39, expected at least 40 (V)",
           [](Editor& e) { e.operand(TaskOp::kNpuEmbed, 1).dims[0] = 39, e.fit(TaskOp::kNpuEmbed, {1}); }},
          {"operand positions: dims[0] is 15, expected 16 (m)",
           [](Editor& e) { e.operand(kRope, 1).dims[0] = 15, e.fit(kRope, {1}); }},
      });
}

TEST(HostileNpuTest, Counts) {
  const auto setOp = [](TaskOp from, TaskOp to) {
    return [=](Editor& e) { e.task(from).op = static_cast<uint16_t>(to); };
  };
  expectRefused(Target::kNpu, {
                                  {"op 250 is no task op of target npu", setOp(kMatmul, static_cast<TaskOp>(250))},
                                  {"op 101 is no task op of target npu", setOp(kMatmul, TaskOp::kCpuRmsNorm)},
                                  {"queue dpu 0 has no npu.add", setOp(kMatmul, TaskOp::kNpuAdd)},
                                  {"queue shave 0 has no npu.copy", setOp(TaskOp::kNpuScale, kCopy)},
                                  {"2 operands, expected 3", setOp(TaskOp::kNpuScale, TaskOp::kNpuAdd)},
                                  {"4 operands, expected 5 or 3", setOp(kRope, TaskOp::kNpuAccumulate)},
                                  {"0 attributes, expected 1", setOp(TaskOp::kNpuCast, TaskOp::kNpuScale)},
                                  {"1 attributes, expected 0", setOp(TaskOp::kNpuScale, TaskOp::kNpuCast)},
                              });
}

TEST(HostileNpuTest, Attributes) {
  const auto set = [](TaskOp op, size_t index, uint64_t value) {
    return [=](Editor& e) { e.attr(op, index) = value; };
  };
  expectRefused(
      Target::kNpu,
      {
          {"attribute accumulate: is 2, expected 0 or 1", set(kMatmul, 0, 2)},
          {"attribute bits: is 5, expected 4 or 8", set(kGroups, 0, 5)},
          {"attribute zero: is 16, expected a code of 4 bits", set(kGroups, 1, 16)},
          {"attribute zero: is 18446744073709551615, expected a code of", set(kGroups, 1, ~0ULL)},
          {"attribute type: is 5, expected the number of a type of weights", set(TaskOp::kNpuEmbed, 0, 5)},
          {"attribute type: is 3, expected", set(TaskOp::kNpuExpand, 0, 3)},
          {"attribute type: is 264, expected", set(TaskOp::kNpuExpand, 0, 256 + 8)},
          {"attribute eps: is -1, expected", set(TaskOp::kNpuRmsNorm, 0, doubleAttr(-1))},
          {"attribute pairing: is 2", set(kRope, 0, 2)},
          {"attribute dims: is 6, expected twice the frequencies, 4, and at most the 8 of a head", set(kRope, 1, 6)},
          {"attribute dims: is 4294967304", set(kRope, 1, (1ULL << 32) + 8)},
          {"attribute magnitude", set(kRope, 2, ~0ULL)},
          {"attribute firstRow: is 97, expected a row with 32 rows from it, of 128", set(kSoftmax, 1, 97)},
          {"attribute firstRow: is 18446744073709551615", set(kSoftmax, 1, ~0ULL)},
          {"attribute firstToken: is 49, expected one with 16 tokens from it, of 64", set(kSoftmax, 2, 49)},
          {"attribute firstToken: is 18446744073709551615", set(kSoftmax, 2, ~0ULL)},
          {"attribute group: is 0, expected a divisor of 32 rows of scores", set(kSoftmax, 3, 0)},
          {"attribute group: is 3, expected a divisor of 32", set(kSoftmax, 3, 3)},
          {"attribute window: is 2147483649", set(kSoftmax, 4, (1ULL << 31) + 1)},
          {"attribute isFirst: is 2", set(kSoftmax, 5, 2)},
          {"attribute first: is 9, expected an id with 32 ids from it, of 40", set(TaskOp::kNpuTopK, 0, 9)},
          {"attribute first: is 18446744073709551615", set(TaskOp::kNpuTopK, 0, ~0ULL)},
          {"attribute firstRow: is 2147483649", set(TaskOp::kNpuKvWrite, 0, (1ULL << 31) + 1)},
          {"the body writes 17 rows of the cache, the entry has 16", set(TaskOp::kNpuKvWrite, 0, 1)},
          {"attribute factor", set(TaskOp::kNpuScale, 0, doubleAttr(1e300))},
          {"attribute cap: is 0", set(TaskOp::kNpuSoftcap, 0, 0)},
      });
}

TEST(HostileNpuTest, TilesOfACopy) {
  constexpr std::string_view kExpected =
      ", expected 0, or bits of tiles that the machine has, that of dst in CMX among them";
  const auto lie = [&](uint64_t tiles) { return concat("attribute tiles: is ", tiles, kExpected); };
  const std::string none = lie(5), other = lie(2), outside = lie(1), many = lie(~0ULL);
  expectRefused(Target::kNpu, {
                                  {none, [](Editor& e) { e.attrOf(copyOf(e, SymbolKind::kMask), 0) = 5; }},
                                  {other, [](Editor& e) { e.attrOf(copyOf(e, SymbolKind::kMask), 0) = 2; }},
                                  {many, [](Editor& e) { e.attrOf(copyOf(e, SymbolKind::kMask), 0) = ~0ULL; }},
                                  {outside, [](Editor& e) { e.attrOf(copyTo(e, Space::kScratch), 0) = 1; }},
                                  // The source is where the copy in the other tile goes.
                                  {"operand dst is written and overlaps operand src",
                                   [](Editor& e) { e.attrOf(copyToTheOtherTile(e), 0) = 3; }},
                              });
}

TEST(HostileNpuTest, Overlaps) {
  const auto lay = [](TaskOp op, size_t on, size_t operand) {
    return [=](Editor& e) { e.operand(op, operand).offset = e.operand(op, on).offset; };
  };
  expectRefused(Target::kNpu,
                {
                    {"operand out is written and overlaps operand gate", lay(TaskOp::kNpuSiluMul, 0, 2)},
                    {"operand out is written and overlaps operand up",
                     [](Editor& e) { e.operand(TaskOp::kNpuGeluMul, 2).offset += 4; }},
                    {"operand out is written and overlaps operand in", lay(TaskOp::kNpuCast, 0, 1)},
                    {"operand out is written and overlaps operand a", lay(kMatmul, 0, 2)},
                    {"operand out is written and overlaps operand w", lay(kMatmul, 1, 2)},
                    {"operand probs is written and overlaps operand scores", lay(kSoftmax, 0, 6)},
                    {"operand max is written and overlaps operand sum", lay(kSoftmax, 3, 4)},
                    {"operand out is written and overlaps operand in", lay(TaskOp::kNpuExpand, 0, 1)},
                    {"operand values is written and overlaps operand in", lay(TaskOp::kNpuTopK, 0, 1)},
                    {"operand values is written and overlaps operand values", lay(TaskOp::kNpuTopKMerge, 0, 2)},
                    {"operand v is written and overlaps operand mask", lay(TaskOp::kNpuClean, 0, 1)},
                    {"operand dst is written and overlaps operand src",
                     [](Editor& e) {
                       TaskRecord& task = copyToTheOtherTile(e);
                       e.operandOf(task, 1).base = 0;
                       e.operandOf(task, 1).offset += 64;
                     }},
                });
}

TEST(HostileNpuTest, Ties) {
  const auto write = TaskOp::kNpuKvWrite;
  expectRefused(
      Target::kNpu,
      {
          {"raw rows have 68 bytes, 64 numbers of q4_0 take 36",
           [](Editor& e) { e.attr(TaskOp::kNpuEmbed, 0) = static_cast<uint64_t>(DType::kQ4_0); }},
          {"raw rows have 36 bytes, 64 numbers of f32 take 256",
           [](Editor& e) { e.attr(TaskOp::kNpuExpand, 0) = static_cast<uint64_t>(DType::kF32); }},
          {"64 numbers of q4_k are no whole blocks",
           [](Editor& e) { e.attr(TaskOp::kNpuExpand, 0) = static_cast<uint64_t>(DType::kQ4_K); }},
          {"operand dst: type or dims are not those of src",
           [](Editor& e) {
             OperandRecord& src = e.operandOf(copyOf(e, SymbolKind::kIds), 0);
             src.dims[0] = 15, src.bytes = 60;
           }},
          {"operand codes: dims[1] is 32, expected 64, the bytes of 64 codes",
           [](Editor& e) { e.attr(kGroups, 0) = 8; }},
          {"3 groups of 64 columns, expected columns that are a multiple of 6",
           [](Editor& e) { e.operand(kGroups, 2).dims[0] = 3, e.fit(kGroups, {2}); }},
          {"64 groups of 64 columns, expected columns that are a multiple of 128",
           [](Editor& e) { e.operand(kGroups, 2).dims[0] = 64, e.fit(kGroups, {2}); }},
          {"3 groups of 64 columns, expected columns that are a multiple of 3",
           [](Editor& e) {
             e.operand(TaskOp::kNpuGroupSums, 1).dims[1] = 3;
             e.operand(TaskOp::kNpuGroupSums, 1).strides[0] = 3;
             e.fit(TaskOp::kNpuGroupSums, {1});
           }},
          {"the cache is f32, expected f16",
           [](Editor& e) {
             e.header().kvType = DType::kF32;
             e.header().kvBytes *= 2;
             for (size_t i = 0; i < e.header().params.count; ++i) {
               if (e.param(i).space == Space::kKv) e.param(i).bytes *= 2;
             }
           }},
          {"operand cache: rows of 8, strides 1032, 8, expected those of the cache, 8, 1024, 8",
           [=](Editor& e) { e.operand(write, 1).strides[0] = 1032, e.fit(write, {1}); }},
          {"rows of the cache start at byte 16 of their part", [=](Editor& e) { e.operand(write, 1).offset = 16; }},
          {"rows of the cache are those of 4 heads from head 1, the model has 4",
           [=](Editor& e) { e.operand(write, 1).offset = 2048; }},
          {"3 groups of 64 columns, expected columns that are a multiple of 6",
           [](Editor& e) {
             const auto op = TaskOp::kNpuExpandGroups;
             for (size_t i : {1U, 2U}) {
               e.operand(op, i).dims[1] = e.operand(op, i).strides[0] = 3;
               e.fit(op, {i});
             }
           }},
          {"operand codes: dims[1] is 64, expected 32, the bytes of 64 codes",
           [](Editor& e) { e.attr(TaskOp::kNpuEmbedGroups, 0) = 4; }},
          {"operand values: dims[1] is 8, expected 9 (t)",
           [](Editor& e) { e.operand(TaskOp::kNpuTopK, 1).dims[1] = 8, e.fit(TaskOp::kNpuTopK, {1}); }},
      });
}

}  // namespace
}  // namespace firn::blob
