// Lies about caches of i8: their scales, and keys without their bias.
#include <gtest/gtest.h>

#include <algorithm>

#include "blob/blob_editor_for_test.h"

namespace firn::blob {
namespace {

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

}  // namespace
}  // namespace firn::blob
