// Lies of the tables of the program and their records: entries, calls, bodies, params, symbols.
#include <gtest/gtest.h>

#include <cstring>
#include <utility>

#include "blob/verify/blob_editor_for_test.h"

namespace firn::blob {
namespace {

TEST(HostileTest, Tables) {
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

TEST(HostileTest, Records) {
  expectRefused(
      Target::kCpu,
      {
          {"param 1: space is 1", [](Editor& e) { e.param(1).space = Space::kScratch; }},
          {"param 1: reserved", [](Editor& e) { e.param(1).reserved0[6] = 1; }},
          {"param 0: 18446744073709551615 bytes", [](Editor& e) { e.param(0).bytes = ~0ULL; }},
          {"body 1: name is 4294967295", [](Editor& e) { e.body(1).name = ~0U; }},
          {"task 0: name is 2", [](Editor& e) { e.task(size_t{0}).name = 2; }},
          {"body 0: reserved0", [](Editor& e) { e.body(0).reserved0 = 1; }},
          {"task 1: takes attrs 0 and 1 in all, expected the next, 1",
           [](Editor& e) { e.task(size_t{0}).waitCount = 1; }},
          {"task 1: has 1 waits and 0 signals, expected none: only tasks of target npu have them",
           [](Editor& e) { e.task(size_t{1}).attrCount = 0, e.task(size_t{1}).waitCount = 1; }},
          {"task 1: has 0 waits and 1 signals",
           [](Editor& e) { e.task(size_t{1}).attrCount = 0, e.task(size_t{1}).signalCount = 1; }},
          {"entry 0: target is 9, expected one of cpu, npu, reference",
           [](Editor& e) { e.entry(0).target = static_cast<Target>(9); }},
          {"entries for reference and for cpu call it", [](Editor& e) { e.entry(0).target = Target::kReference; }},
          {"no entry is for cpu, the target of the note",
           [](Editor& e) {
             for (size_t i = 0; i < e.header().entries.count; ++i) e.entry(i).target = Target::kReference;
           }},
          {"entry 1: reserved0", [](Editor& e) { e.entry(1).reserved0 = 1; }},
          {"entry 1: reason is 3,", [](Editor& e) { e.entry(1).reason = 3; }},
          {"entry 0: parts is 0, expected 1..65535", [](Editor& e) { e.entry(0).parts = 0; }},
          {"entry 3: parts is 2, expected 1..1", [](Editor& e) { e.entry(3).parts = 2; }},
          {"entry 0: part 1 of 1, expected part 0", [](Editor& e) { e.entry(0).part = 1; }},
          {"entry 0: part 1 of 2, expected part 0", [](Editor& e) { e.entry(0).part = 1, e.entry(0).parts = 2; }},
          {"entry 1: part 0 of 1, expected part 1 of the entry before", [](Editor& e) { e.entry(0).parts = 2; }},
          {"entry 1: part 1 of 2, expected part 1 of the entry before",
           [](Editor& e) { e.entry(0).parts = e.entry(1).parts = 2, e.entry(1).part = 1; }},
          {"the last entry is part 0 of 2", [](Editor& e) { e.entry(4).parts = 2; }},
          {"entry 0: kind is 7", [](Editor& e) { e.entry(0).kind = static_cast<EntryKind>(7); }},
          {"entry 0: rows is 0", [](Editor& e) { e.entry(0).rows = 0; }},
          {"entry 0: rows is 65, expected 1..64", [](Editor& e) { e.entry(0).rows = 65; }},
          {"entry 3: head.2 has no calls",
           [](Editor& e) {
             e.entry(3).callCount = 0;
             --e.entry(4).firstCall, ++e.entry(4).callCount;
           }},
          {"call 12: the body writes symbol hidden, an input",
           [](Editor& e) { e.firstOperand(6, 2) = e.firstOperand(6, 0); }},
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
          {"10 symbols, expected 11",
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
          {"argument 2 is", [](Editor& e) { e.arg(2) += 4; }},
          {"argument 2 is", [](Editor& e) { e.arg(2) = e.header().weightsBytes; }},
          {"of scratch, the entry has", [](Editor& e) { e.entry(1).scratchBytes = 64; }},
          {"the body's tasks have 1 rows, the entry 16", [](Editor& e) { e.call(0).body = 3; }},
          {"two entries are named",
           [](Editor& e) {
             e.entry(1).context = 64, e.entry(1).name = e.entry(0).name;
             e.symbol(11).dims[0] = 64, e.symbol(11).bytes = 64;
           }},
      });
}

}  // namespace
}  // namespace firn::blob
