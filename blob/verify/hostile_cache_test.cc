// Lies about the KV cache: which part, heads and scales a task names, and keys without their bias.
#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

#include "blob/verify/blob_editor_for_test.h"

namespace firn::blob {
namespace {

TEST(HostileTest, ScalesOfTheCache) {
  const auto write = TaskOp::kCpuKvWrite;
  const auto attend = TaskOp::kCpuAttention;  // the first has a bias
  expectRefused(
      Target::kCpu,
      {
          {"operand cache: type f16 does not fit", [=](Editor& e) { e.operand(write, 1).dtype = DType::kF16; }},
          {"operand scales: type i8 does not fit", [=](Editor& e) { e.operand(write, 2).dtype = DType::kI8; }},
          {"operand scales: lies in scratch", [=](Editor& e) { e.operand(write, 2).space = Space::kScratch; }},
          {"are those of 2 heads from head 2040, the model has 4",
           [=](Editor& e) { e.operand(write, 2).offset = 1 << 20; }},
          {"start at byte 18446744073709551612", [=](Editor& e) { e.operand(write, 2).offset = ~3ULL; }},
          {"start at byte 4098 of their part", [=](Editor& e) { e.operand(write, 2).offset += 2; }},
          {"the scales of the cache start at byte 0", [=](Editor& e) { e.operand(write, 2).offset = 0; }},
          {"the scales of the cache start at head 1, their rows at head 0",
           [=](Editor& e) { e.operand(write, 2).offset += 512; }},
          {"the scales of the cache lie in the part of param 1, their rows in that of param 0",
           [=](Editor& e) { e.operand(write, 2).base = 1; }},
          {"the scales of the cache lie in the part of param 1, their rows in that of param 0",
           [=](Editor& e) { std::swap(e.operand(attend, 5), e.operand(attend, 6)); }},
          {"its dims and strides span", [=](Editor& e) { e.operand(write, 2).bytes -= 1; }},
          {"its dims and strides span", [=](Editor& e) { e.operand(write, 2).bytes += 4; }},
          {"operand scales: strides[0] is 129, expected T, 128",
           [=](Editor& e) { e.operand(write, 2).strides[0] = 129, e.operand(write, 2).bytes += 512; }},
          {"dims[1] is 127, expected 128 (KV rows)", [=](Editor& e) { e.operand(write, 2).dims[1] = 127; }},
          {"dims[0] is 1, expected 2 (KV heads)", [=](Editor& e) { e.operand(write, 2).dims[0] = 1; }},
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
          {"argument 0 is 4, expected a multiple of 6144",
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
             e.fit(reference, {1, 2, 4, 5, 6, 7});
           }},
      },
      DType::kI8);
}

/// A part of this cache has 4 heads of 128 rows of 8 halves: 2048 bytes a head.
TEST(HostileTest, PartsAndHeadsOfTheCache) {
  const auto write = TaskOp::kCpuKvWrite;
  const auto attend = TaskOp::kCpuAttention;
  expectRefused(
      Target::kCpu,
      {
          {"rows of the cache start at byte 2 of their part, expected 0 and a multiple of 2048",
           [=](Editor& e) { e.operand(write, 1).offset = 2; }},
          {"start at byte 16 of their part", [=](Editor& e) { e.operand(attend, 1).offset = 16; }},
          {"rows of the cache are those of 2 heads from head 3, the model has 4",
           [=](Editor& e) { e.operand(write, 1).offset = 3 * 2048; }},
          {"rows of the cache are those of 2 heads from head 4",
           [=](Editor& e) { e.operand(write, 1).offset = 4 * 2048; }},
          {"K starts at head 0, V at head 1", [=](Editor& e) { e.operand(attend, 2).offset = 2048; }},
          {"rows of the cache have no param", [=](Editor& e) { e.operand(write, 1).base = kNoBase; }},
          {"base is param 99", [=](Editor& e) { e.operand(write, 1).base = 99; }},
          {"points into another space", [=](Editor& e) { e.operand(write, 1).base = 2; }},
          {"param 0: 4096 bytes, expected 8192, those of a part of the cache",
           [](Editor& e) { e.param(0).bytes /= 2; }},
          {"argument 0 is 2048, expected a multiple of 8192", [](Editor& e) { e.arg(0) = 2048; }},
          {"argument 0 is 32768, expected a multiple of 8192 up to 24576", [](Editor& e) { e.arg(0) = 32768; }},
          {"argument 0 is 8192, a V of the cache, which the body reads as K", [](Editor& e) { e.arg(0) = 8192; }},
          {"argument 1 is 0, a K of the cache, which the body reads as V", [](Editor& e) { e.arg(1) = 0; }},
          {"argument 0 is 8192, a V of the cache, which the body reads as K",
           [](Editor& e) { std::swap(e.arg(0), e.arg(1)); }},
          {"argument 0 is 0, a K of the cache, which the body reads as V",
           [=](Editor& e) { std::swap(e.operand(attend, 1).base, e.operand(attend, 2).base); }},
      });
}

/// Rows of i8 cannot do without their scales, and rows of f16 and f32 have none to name.
TEST(HostileTest, ScalesThatDoNotFitTheType) {
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
TEST(HostileTest, HalfAKeyBias) {
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

}  // namespace
}  // namespace firn::blob
