// Blobs that lie with a right hash: every kind of lie is refused, by a message that names the record.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "blob/frame.h"
#include "blob/reader.h"
#include "blob/sample_program.h"
#include "blob/verifier.h"

namespace firn::blob {
namespace {

/// The bytes of a sample blob, to be spoiled.
class Editor {
 public:
  explicit Editor(Target target, std::optional<DType> kvType = std::nullopt)
      : bytes_(*sampleBlob(target, SampleSize::kFull, kvType)) {
    const auto blob = Blob::fromMemory(bytes_);
    EXPECT_TRUE(blob.isOk());
    frame_ = blob->frame();
  }

  ProgramHeader& header() { return *reinterpret_cast<ProgramHeader*>(section(SectionId::kProgram)); }
  EntryRecord& entry(size_t i) { return record<EntryRecord>(header().entries, i); }
  CallRecord& call(size_t i) { return record<CallRecord>(header().calls, i); }
  uint64_t& arg(size_t i) { return record<uint64_t>(header().callArgs, i); }
  BodyRecord& body(size_t i) { return record<BodyRecord>(header().bodies, i); }
  ParamRecord& param(size_t i) { return record<ParamRecord>(header().params, i); }
  SegmentRecord& segment(size_t i) { return record<SegmentRecord>(header().segments, i); }
  LaneRange& range(size_t i) { return record<LaneRange>(header().laneRanges, i); }
  SymbolRecord& symbol(size_t i) { return record<SymbolRecord>(header().symbols, i); }
  /// Of the batch entry, which is the last.
  SymbolRecord& batchSymbol(size_t i) { return symbol(entry(4).firstSymbol + i); }
  char& string(size_t i) { return record<char>(header().strings, i); }
  TaskRecord& task(size_t i) { return record<TaskRecord>(header().tasks, i); }

  /// The first task of that op.
  TaskRecord& task(TaskOp op) {
    for (size_t i = 0; i < header().tasks.count; ++i) {
      if (task(i).op == static_cast<uint16_t>(op)) return task(i);
    }
    ADD_FAILURE() << "no task " << taskOpName(op);
    return task(size_t{0});
  }
  OperandRecord& operand(TaskOp op, size_t i) {
    return record<OperandRecord>(header().operands, task(op).firstOperand + i);
  }
  uint64_t& attr(TaskOp op, size_t i) { return record<uint64_t>(header().attrs, task(op).firstAttr + i); }

  void editIdent(const std::function<void(Ident&)>& edit) {
    std::byte* at = section(SectionId::kNote) + kNoteDescriptorOffset;
    Ident ident;
    std::memcpy(&ident, at, sizeof(ident));
    edit(ident);
    std::memcpy(at, &ident, sizeof(ident));
  }

  std::byte* section(SectionId id) { return bytes_.data() + frame_.place(id).offset; }

  /// What a reader says once the hash is right again.
  Status read() {
    FIRN_RETURN_IF_ERROR(sealContent(bytes_));
    return Blob::fromMemory(bytes_).status();
  }

 private:
  template <typename Record>
  Record& record(const Table& table, size_t i) {
    return reinterpret_cast<Record*>(section(SectionId::kProgram) + table.offset)[i];
  }

  std::vector<std::byte> bytes_;
  Frame frame_;
};

struct Lie {
  std::string_view expected;  ///< part of the message
  std::function<void(Editor&)> tell;
};

void expectRefused(Target target, const std::vector<Lie>& lies, std::optional<DType> kvType = std::nullopt) {
  ASSERT_TRUE(Editor(target, kvType).read().isOk());
  for (size_t i = 0; i < lies.size(); ++i) {
    Editor editor(target, kvType);
    lies[i].tell(editor);
    const Status status = editor.read();
    ASSERT_FALSE(status.isOk()) << "lie " << i << ": " << lies[i].expected;
    EXPECT_NE(status.message().find(lies[i].expected), std::string::npos)
        << "lie " << i << " expects '" << lies[i].expected << "', found: " << status.toString();
  }
}

TEST(Hostile, Header) {
  expectRefused(
      Target::kCpu,
      {
          {"target is 9", [](Editor& e) { e.editIdent([](Ident& i) { i.target = static_cast<Target>(9); }); }},
          {"lanes is 0", [](Editor& e) { e.editIdent([](Ident& i) { i.lanes = 0; }); }},
          {"lanes is 4294967295", [](Editor& e) { e.editIdent([](Ident& i) { i.lanes = ~0U; }); }},
          {"lanes is 257, expected 1..256", [](Editor& e) { e.editIdent([](Ident& i) { i.lanes = kMaxLanes + 1; }); }},
          {"segment 0: takes laneRanges", [](Editor& e) { e.editIdent([](Ident& i) { i.lanes = 200; }); }},
          {"does not belong to target reference",
           [](Editor& e) { e.editIdent([](Ident& i) { i.target = Target::kReference; }); }},
          {"layers is 0", [](Editor& e) { e.header().layers = 0; }},
          {"headDim is 4294967295", [](Editor& e) { e.header().headDim = ~0U; }},
          {"heads is 8, expected a multiple of kvHeads, 3", [](Editor& e) { e.header().kvHeads = 3; }},
          {"maxPromptTokens is 63", [](Editor& e) { e.header().maxPromptTokens = 63; }},
          {"kvRows is 64, expected 128", [](Editor& e) { e.header().kvRows = 64; }},
          {"kvBytes is", [](Editor& e) { e.header().kvBytes += 64; }},
          {"kvBytes is", [](Editor& e) { e.header().layers = 1 << 24, e.header().kvBytes = 0; }},
          {"kvType is 2, expected 0, 1 or 4 (f32, f16, i8)", [](Editor& e) { e.header().kvType = DType::kBf16; }},
          {"kvType is 200", [](Editor& e) { e.header().kvType = static_cast<DType>(200); }},
          {"reserved0 is 5", [](Editor& e) { e.header().reserved0[2] = 0, e.header().reserved0[0] = 5; }},
          {"weightsBytes is 0", [](Editor& e) { e.header().weightsBytes = 0; }},
          {"scratchBytes is 0", [](Editor& e) { e.header().scratchBytes = 0; }},
      });
}

TEST(Hostile, Tables) {
  expectRefused(Target::kCpu,
                {
                    {"program table entries: offset is 8", [](Editor& e) { e.header().entries.offset = 8; }},
                    {"program table operands: 18446744073709551615 records",
                     [](Editor& e) { e.header().operands.count = ~0ULL; }},
                    {"program table tasks: offset is", [](Editor& e) { e.header().tasks.offset = ~7ULL; }},
                    {"program table strings: offset is", [](Editor& e) { --e.header().symbols.count; }},
                    {"bytes, its tables end at", [](Editor& e) { e.header().strings.count -= 8; }},
                    {"before table end is not zero", [](Editor& e) { e.string(e.header().strings.count) = 'x'; }},
                    {"NUL at the end", [](Editor& e) { e.string(e.header().strings.count - 1) = 'x'; }},
                    {"NUL at the end", [](Editor& e) { e.string(0) = 'x'; }},
                    {"no printable UTF-8", [](Editor& e) { e.string(1) = '\xFF'; }},
                    {"no printable UTF-8", [](Editor& e) { e.string(1) = '\x1B'; }},
                    {"entry 1: takes calls", [](Editor& e) { e.entry(1).firstCall = 0; }},
                    {"entry 0: takes calls 0 and 4294967295", [](Editor& e) { e.entry(0).callCount = ~0U; }},
                    {"table symbols has", [](Editor& e) { --e.entry(4).symbolCount; }},
                    {"call 2: takes callArgs", [](Editor& e) { e.call(2).firstArg = 0xFFFFFFF0; }},
                    {"body 1: takes segments", [](Editor& e) { e.body(1).firstSegment = 7; }},
                    {"body 1: takes params 0", [](Editor& e) { e.body(0).paramCount = 1; }},
                    {"segment 1: takes laneRanges 0", [](Editor& e) { e.segment(1).firstRange = 0; }},
                    {"laneRange 0: takes tasks", [](Editor& e) { e.range(0).taskCount = 1000000; }},
                    {"task 3: takes operands", [](Editor& e) { e.task(size_t{3}).firstOperand = 0; }},
                    {"task 0: takes operands", [](Editor& e) { e.task(size_t{0}).operandCount = 65535; }},
                    {"takes attrs", [](Editor& e) { e.task(TaskOp::kCpuRope).firstAttr += 1; }},
                });
}

TEST(Hostile, Records) {
  expectRefused(
      Target::kCpu,
      {
          {"param 1: space is 1", [](Editor& e) { e.param(1).space = Space::kScratch; }},
          {"param 1: reserved", [](Editor& e) { e.param(1).reserved0[6] = 1; }},
          {"param 0: 18446744073709551615 bytes", [](Editor& e) { e.param(0).bytes = ~0ULL; }},
          {"body 1: name is 4294967295", [](Editor& e) { e.body(1).name = ~0U; }},
          {"task 0: name is 2", [](Editor& e) { e.task(size_t{0}).name = 2; }},
          {"body 0: reserved0", [](Editor& e) { e.body(0).reserved0 = 1; }},
          {"task 0: reserved0", [](Editor& e) { e.task(size_t{0}).reserved0 = 1; }},
          {"entry 0: kind is 7", [](Editor& e) { e.entry(0).kind = static_cast<EntryKind>(7); }},
          {"entry 0: rows is 0", [](Editor& e) { e.entry(0).rows = 0; }},
          {"entry 0: context is 15, expected 16..128", [](Editor& e) { e.entry(0).context = 15; }},
          {"entry 0: context is 129", [](Editor& e) { e.entry(0).context = 129; }},
          {"entry 2: rows is 2, expected 1", [](Editor& e) { e.entry(2).rows = 2; }},
          {"entry 3: context is 64", [](Editor& e) { e.entry(3).context = 64; }},
          {"entry 0: name is prefill.16.64, expected prefill.16.65", [](Editor& e) { e.entry(0).context = 65; }},
          {"entry 4: rows is 1, expected 2..8", [](Editor& e) { e.entry(4).rows = 1; }},
          {"entry 4: rows is 9, expected 2..8", [](Editor& e) { e.entry(4).rows = 9; }},
          {"entry 4: rows is 4294967295, expected 2..8", [](Editor& e) { e.entry(4).rows = ~0U; }},
          {"entry 4: context is 1, expected 2..128", [](Editor& e) { e.entry(4).context = 1; }},
          {"entry 4: name is batch.2.64, expected batch.3.64", [](Editor& e) { e.entry(4).rows = 3; }},
          {"entry 4: name is batch.2.64, expected prefill.2.64",
           [](Editor& e) { e.entry(4).kind = EntryKind::kPrefill; }},
          {"8 symbols, expected 9",
           [](Editor& e) {
             e.entry(4).rows = 3;
             std::memcpy(&e.string(e.entry(4).name), "batch.3.64", 10);
           }},
          {"symbol 3", [](Editor& e) { e.batchSymbol(3).dims[0] = 1; }},
          {"symbol 4", [](Editor& e) { e.batchSymbol(4).bytes = 64; }},
          {"symbol 7", [](Editor& e) { e.batchSymbol(7).kind = SymbolKind::kKv; }},
          {"symbol 7", [](Editor& e) { e.batchSymbol(7).bytes *= 2; }},
          {"the body's tasks have 2 rows, the entry 1",
           [](Editor& e) { std::swap(e.call(e.entry(2).firstCall).body, e.call(e.entry(4).firstCall).body); }},
          {"operand mask: lies in symbol",
           [](Editor& e) { e.operand(TaskOp::kCpuAttention, 3).base = static_cast<uint16_t>(SymbolKind::kKv1); }},
          {"symbol 4", [](Editor& e) { e.symbol(4).bytes = 1; }},
          {"symbol 0", [](Editor& e) { e.symbol(0).dims[0] = 1 << 20; }},
          {"symbol 0", [](Editor& e) { e.symbol(0).isOutput = 1; }},
          {"symbol 6", [](Editor& e) { e.symbol(6).kind = SymbolKind::kLogits; }},
          {"no entry calls it", [](Editor& e) { e.call(e.header().calls.count - 1).body = 0; }},
          {"call 0: body is 77", [](Editor& e) { e.call(0).body = 77; }},
          {"call 1: layer is 2", [](Editor& e) { e.call(1).layer = 2; }},
          {"call 0: 0 arguments", [](Editor& e) { e.call(0).body = 1; }},
          {"call 1: argument 0 is 18446744073709551104", [](Editor& e) { e.arg(0) = 0ULL - 512; }},
          {"argument 1 is", [](Editor& e) { e.arg(1) += 4; }},
          {"argument 1 is", [](Editor& e) { e.arg(1) = e.header().weightsBytes; }},
          {"of scratch, the entry has", [](Editor& e) { e.entry(1).scratchBytes = 64; }},
          {"the body's tasks have 1 rows, the entry 16", [](Editor& e) { e.call(0).body = 3; }},
          {"two entries are named",
           [](Editor& e) {
             e.entry(1).context = 64, e.entry(1).name = e.entry(0).name;
             e.symbol(11).dims[0] = 64, e.symbol(11).bytes = 64;
           }},
      });
}

TEST(Hostile, OperandPlaces) {
  const auto q = TaskOp::kCpuLinearI8;
  expectRefused(
      Target::kCpu,
      {
          {"ends at byte", [=](Editor& e) { e.operand(q, 3).offset = 1 << 20; }},
          {"overflows", [=](Editor& e) { e.operand(q, 3).offset = ~63ULL; }},
          {"of scratch, the entry has", [=](Editor& e) { e.operand(q, 0).offset = 1ULL << 40; }},
          {"of scratch, the entry has", [=](Editor& e) { e.operand(q, 0).bytes = 1ULL << 40; }},
          {"its dims and strides span", [=](Editor& e) { e.operand(q, 0).bytes -= 1; }},
          {"its dims and strides span", [=](Editor& e) { e.operand(q, 3).bytes -= 1; }},
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
      });
}

TEST(Hostile, OperandShapes) {
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
          {"layout is not panels", [=](Editor& e) { e.operand(q, 3).layout = Layout::kStrided; }},
          {"layout is not strided", [=](Editor& e) { e.operand(q, 5).layout = static_cast<Layout>(7); }},
          {"rank 200, expected 3", [=](Editor& e) { e.operand(q, 0).rank = 200; }},
          {"dim 3 is unused", [=](Editor& e) { e.operand(q, 0).dims[3] = 2; }},
          {"panels have strides 0", [=](Editor& e) { e.operand(q, 3).strides[0] = 64; }},
          {"the last stride is not 1", [=](Editor& e) { e.operand(q, 5).strides[1] = 2; }},
          {"strides[0] is 0", [=](Editor& e) { e.operand(q, 5).strides[0] = 0; }},
          {"dims[0] is 0", [=](Editor& e) { e.operand(q, 1).dims[0] = 0; }},
          {"dims[0] is 3, expected at most 2 (planes)", [=](Editor& e) { e.operand(q, 0).dims[0] = 3; }},
          {"dims[1] is 1, expected 2 (groups)", [=](Editor& e) { e.operand(q, 2).dims[1] = 1; }},
          {"padded columns is 64, expected 32", [=](Editor& e) { e.operand(q, 3).dims[1] = 32; }},
          {"dims[1] is 32, expected 48 (out)",
           [=](Editor& e) {
             e.operand(q, 3).dims[0] = 48;
             e.operand(q, 4).dims[0] = 48;
             e.operand(q, 3).bytes = e.operand(q, 4).bytes = 1 << 20;
           }},
          {"expected that of scales", [=](Editor& e) { e.operand(q, 2).strides[0] += 1, e.operand(q, 2).bytes += 64; }},
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
             out.bytes = in.bytes = 1ULL << 41;
             in.offset = 0;
           }},
      });
}

TEST(Hostile, Attributes) {
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

TEST(Hostile, ReferenceTasks) {
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
          {"attribute window", [](Editor& e) { e.attr(TaskOp::kRefAttention, 1) = (1ULL << 31) + 1; }},
          {"heads are no multiple of",
           [](Editor& e) {
             for (size_t i : {1U, 2U}) e.operand(TaskOp::kRefAttention, i).dims[0] = 3;
           }},
      });
}

TEST(Hostile, ScalesOfTheCache) {
  const auto write = TaskOp::kCpuKvWrite;
  const auto attend = TaskOp::kCpuAttention;  // the first has a bias
  expectRefused(
      Target::kCpu,
      {
          {"operand cache: type f16 does not fit", [=](Editor& e) { e.operand(write, 1).dtype = DType::kF16; }},
          {"operand scales: type i8 does not fit", [=](Editor& e) { e.operand(write, 2).dtype = DType::kI8; }},
          {"operand scales: lies in scratch", [=](Editor& e) { e.operand(write, 2).space = Space::kScratch; }},
          {"which has", [=](Editor& e) { e.operand(write, 2).offset = 1 << 20; }},
          {"overflows", [=](Editor& e) { e.operand(write, 2).offset = ~3ULL; }},
          {"is no multiple of 4", [=](Editor& e) { e.operand(write, 2).offset += 2; }},
          {"its dims and strides span", [=](Editor& e) { e.operand(write, 2).bytes -= 1; }},
          {"operand scales: strides[0] is 129, expected T, 128",
           [=](Editor& e) { e.operand(write, 2).strides[0] = 129, e.operand(write, 2).bytes += 512; }},
          {"dims[1] is 127, expected 128 (KV rows)", [=](Editor& e) { e.operand(write, 2).dims[1] = 127; }},
          {"dims[0] is 1, expected 2 (KV heads)", [=](Editor& e) { e.operand(write, 2).dims[0] = 1; }},
          {"operand cache is written and overlaps operand scales",
           [=](Editor& e) { e.operand(write, 2).offset = e.operand(write, 1).offset; }},
          {"operand K scales: type i8", [=](Editor& e) { e.operand(attend, 5).dtype = DType::kI8; }},
          {"operand V scales: lies in weights", [=](Editor& e) { e.operand(attend, 6).space = Space::kWeights; }},
          {"operand bias: lies in kv", [=](Editor& e) { e.operand(attend, 7).space = Space::kKv; }},
          {"expected 8", [=](Editor& e) { e.operand(attend, 7).dims[1] = 4; }},
          {"dims[0] is 127, expected at least 128 (table rows)",
           [=](Editor& e) { e.operand(attend, 8).dims[0] = 127; }},
          {"attribute dims", [=](Editor& e) { e.attr(attend, 5) = 6; }},
          {"attribute pairing", [=](Editor& e) { e.attr(attend, 4) = 2; }},
          {"KV heads, the view has 2", [=](Editor& e) { e.attr(attend, 2) = 1; }},
          {"KV heads, the view has 2", [=](Editor& e) { e.attr(attend, 1) = 1; }},
          {"kvBytes is", [](Editor& e) { e.header().kvBytes -= 4; }},
          {"argument 0 is 4, expected a multiple of 64",
           [](Editor& e) {
             for (size_t i = 0; i < e.header().callArgs.count; ++i) {
               if (e.arg(i) == 0) e.arg(i) = 4;
             }
           }},
      },
      DType::kI8);
  const auto reference = TaskOp::kRefAttention;
  expectRefused(
      Target::kReference,
      {
          {"operand workspace: lies in kv", [=](Editor& e) { e.operand(reference, 4).space = Space::kKv; }},
          {"operand workspace: dims[0] is 1, expected 2", [=](Editor& e) { e.operand(reference, 4).dims[0] = 1; }},
          {"operand K scales: type i8", [=](Editor& e) { e.operand(reference, 5).dtype = DType::kI8; }},
          {"operand bias: type i8", [=](Editor& e) { e.operand(reference, 7).dtype = DType::kI8; }},
          {"attribute magnitude", [=](Editor& e) { e.attr(reference, 4) = ~0ULL; }},
          {"heads are no multiple of",
           [=](Editor& e) {
             for (size_t i : {1U, 2U, 5U, 6U, 7U}) e.operand(reference, i).dims[0] = 3;
             e.operand(reference, 4).dims[1] = 3;
           }},
      },
      DType::kI8);
}

/// Rows of i8 cannot do without their scales, and rows of f16 and f32 have none to name.
TEST(Hostile, ScalesThatDoNotFitTheType) {
  for (const Target target : {Target::kCpu, Target::kReference}) {
    for (const DType kvType : {DType::kI8, DType::kF16}) {
      Contents contents = sampleContents(target, SampleSize::kFull, kvType);
      Program& program = contents.program;
      const auto op = static_cast<uint16_t>(target == Target::kCpu ? TaskOp::kCpuKvWrite : TaskOp::kRefStateWrite);
      const auto task = std::ranges::find(program.tasks, op, &TaskRecord::op);
      ASSERT_NE(task, program.tasks.end());
      const auto behind = program.operands.begin() + task->firstOperand + 2;
      const bool hasScales = kvType == DType::kI8;
      if (hasScales) {
        program.operands.erase(behind);
      } else {
        program.operands.insert(behind, OperandRecord(*(behind - 1)));
      }
      task->operandCount += hasScales ? -1 : 1;
      for (auto after = task + 1; after != program.tasks.end(); ++after) after->firstOperand += hasScales ? -1 : 1;
      const Status status = Writer::create("/dev/full/none", contents).status();
      const std::string_view expected = hasScales ? "2 operands, expected 3" : "3 operands, expected 2";
      EXPECT_NE(status.message().find(expected), std::string::npos) << status.toString();
    }
  }
}

/// A key bias is its bias and its table, with the attributes of the turn, or nothing of all that.
TEST(Hostile, HalfAKeyBias) {
  for (const Target target : {Target::kCpu, Target::kReference}) {
    for (const uint32_t dropped : {1U, 2U}) {
      Contents contents = sampleContents(target, SampleSize::kFull, DType::kI8);
      Program& program = contents.program;
      const auto op = static_cast<uint16_t>(target == Target::kCpu ? TaskOp::kCpuAttention : TaskOp::kRefAttention);
      const auto task = std::ranges::find(program.tasks, op, &TaskRecord::op);
      const auto bias = program.operands.begin() + task->firstOperand + 7;
      program.operands.erase(bias, bias + dropped);
      task->operandCount = static_cast<uint16_t>(task->operandCount - dropped);
      for (auto after = task + 1; after != program.tasks.end(); ++after) after->firstOperand -= dropped;
      const Status status = Writer::create("/dev/full/none", contents).status();
      const std::string_view expected = dropped == 1 ? "9 operands, expected 10 or 8" : " attributes, expected ";
      EXPECT_NE(status.message().find(expected), std::string::npos) << status.toString();
    }
  }
}

TEST(Hostile, Texts) {
  expectRefused(
      Target::kCpu,
      {
          {".firn.card: ", [](Editor& e) { *e.section(SectionId::kCard) = std::byte{'['}; }},
          {".firn.card: ", [](Editor& e) { e.section(SectionId::kCard)[2] = std::byte{0xFF}; }},
          {".firn.template: not UTF-8", [](Editor& e) { *e.section(SectionId::kTemplate) = std::byte{0xC0}; }},
          {".symtab: not the symbols", [](Editor& e) { e.section(SectionId::kSymtab)[40] ^= std::byte{1}; }},
          {".strtab: not the symbol names", [](Editor& e) { e.section(SectionId::kStrtab)[3] ^= std::byte{1}; }},
          {"the padding before .firn.program is not zero",
           [](Editor& e) { *(e.section(SectionId::kProgram) - 1) = std::byte{1}; }},
          {"the padding before .firn.weights is not zero",
           [](Editor& e) { *(e.section(SectionId::kWeights) - 1) = std::byte{1}; }},
      });
}

TEST(Hostile, Sections) {
  // Fields of the section headers: sh_type, sh_flags, sh_addr, sh_offset, sh_size, sh_link, sh_info, sh_addralign,
  // sh_entsize.
  constexpr std::pair<uint64_t, std::string_view> kFields[] = {
      {4, "sh_type"},  {8, "sh_flags"}, {16, "sh_addr"},      {24, "sh_offset"}, {32, ""},
      {40, "sh_link"}, {44, "sh_info"}, {48, "sh_addralign"}, {56, "sh_entsize"}};
  const auto bytes = sampleBlob(Target::kCpu);
  ASSERT_TRUE(bytes.isOk());
  const uint32_t sections = static_cast<uint32_t>((*bytes)[60]);
  for (uint32_t section = 0; section < sections; ++section) {
    for (const auto& [offset, name] : kFields) {
      for (uint64_t value : {1ULL, 0x7FFFFFFFULL, 0xFFFFFFFFULL}) {
        std::vector<std::byte> bad = *bytes;
        std::byte* at = bad.data() + kElfHeaderBytes + section * kSectionHeaderBytes + offset;
        if (std::memcmp(at, &value, 4) == 0) continue;
        std::memcpy(at, &value, 4);
        EXPECT_FALSE(sealContent(bad).isOk()) << section << " " << name;
        const auto blob = Blob::fromMemory(bad);
        ASSERT_FALSE(blob.isOk()) << section << " " << name;
      }
    }
  }
}

/// A blob of `bodies` bodies, each called once by its one entry, all but the first without tasks; the last is `name`.
Status readBodies(size_t bodies, std::string_view name = "") {
  Contents contents = sampleContents(Target::kReference, SampleSize::kHeadOnly);
  Program& program = contents.program;
  program.bodies.resize(bodies, {.name = 0,
                                 .firstParam = static_cast<uint32_t>(program.params.size()),
                                 .paramCount = 0,
                                 .firstSegment = static_cast<uint32_t>(program.segments.size()),
                                 .segmentCount = 0,
                                 .reserved0 = 0});
  for (size_t i = 1; i < bodies; ++i) {
    program.calls.push_back({.body = static_cast<uint32_t>(i),
                             .layer = kNoLayer,
                             .firstArg = static_cast<uint32_t>(program.callArgs.size()),
                             .argCount = 0});
  }
  program.entries[0].callCount = static_cast<uint32_t>(program.calls.size());
  if (!name.empty()) program.bodies.back().name = program.intern(name);
  return Writer::create("/dev/full/none", contents).status();
}

// What verification keeps of a body is several times the body, so a file of empty ones must be refused before.
TEST(Hostile, BodiesAreBounded) {
  EXPECT_EQ(readBodies(kMaxRecords).code(), Code::kNotFound) << "only the folder is at fault";
  const Status status = readBodies(kMaxRecords + 1);
  EXPECT_NE(status.message().find("table bodies has 65537 records"), std::string::npos) << status.toString();
}

// Every task may name the same string, and whoever lists the tasks copies it.
TEST(Hostile, StringsAreBounded) {
  EXPECT_EQ(readBodies(1, std::string(kMaxStringBytes, 'n')).code(), Code::kNotFound) << "only the folder is at fault";
  const Status status = readBodies(1, std::string(kMaxStringBytes + 1, 'n'));
  EXPECT_NE(status.message().find("has 257 bytes, expected at most 256"), std::string::npos) << status.toString();
}

TEST(Hostile, AnotherVersionIsNamedBesideOurs) {
  for (uint32_t minor : {0U, kFormatMinor + 1}) {
    Editor editor(Target::kCpu);
    editor.editIdent([&](Ident& ident) { ident.formatMinor = minor; });
    const Status status = editor.read();
    EXPECT_EQ(status.code(), Code::kVersionMismatch);
    EXPECT_NE(status.message().find("version 0." + std::to_string(minor)), std::string::npos) << status.toString();
    EXPECT_NE(status.message().find("reads 0." + std::to_string(kFormatMinor)), std::string::npos) << status.toString();
  }
}

}  // namespace
}  // namespace firn::blob
