#include "runtime/devices/cpu/cpu_tasks.h"

#include <string>

#include "kernels/cpu/kernels.h"

namespace firn::runtime {
namespace {

constexpr uint64_t kMaxGroup = 1 << 16;

const cpu::CpuKernels& kernelsOf(const Task& task) { return *static_cast<const cpu::CpuKernels*>(task.kernels); }

cpu::ConstRows input(const Task& task, const CallFrame& frame, uint32_t index) {
  return {.data = task.at<const float>(frame, index), .rowStride = task.operand(index).strides[0]};
}

cpu::Rows output(const Task& task, const CallFrame& frame, uint32_t index) {
  return {.data = task.at<float>(frame, index), .rowStride = task.operand(index).strides[0]};
}

// Operands `first` .. `first` + 2: codes i8[planes, m, Kp], scales f32[m, Kp/32], sums i32[m, Kp/32].
template <typename CodesT, typename Int8T, typename FloatT, typename Int32T>
CodesT codesAt(const Task& task, const CallFrame& frame, uint32_t first) {
  const blob::OperandRecord& codes = task.operand(first);
  return {.codes = task.at<Int8T>(frame, first),
          .scales = task.at<FloatT>(frame, first + 1),
          .sums = task.at<Int32T>(frame, first + 2),
          .planeStride = codes.strides[0],
          .rowStride = codes.strides[1],
          .groupStride = task.operand(first + 1).strides[0],
          .planes = codes.dims[0]};
}

const float* optionalBias(const Task& task, const CallFrame& frame, uint32_t index, uint32_t countWithBias) {
  return task.operandCount == countWithBias ? task.at<const float>(frame, index) : nullptr;
}

void runEmbed(const Task& task, const CallFrame& frame) {
  const blob::OperandRecord& table = task.operand(1);
  kernelsOf(task).embed({.ids = task.at<const int32_t>(frame, 0),
                         .table = task.at<const void>(frame, 1),
                         .type = table.dtype,
                         .rows = task.rows(frame, 2),
                         .vocab = table.dims[0],
                         .columns = table.dims[1],
                         .out = output(task, frame, 2)});
}

void runRmsNorm(const Task& task, const CallFrame& frame) {
  kernelsOf(task).rmsNorm({.in = input(task, frame, 0),
                           .weight = task.at<const float>(frame, 1),
                           .out = output(task, frame, 2),
                           .rows = task.rows(frame, 2),
                           .columns = task.operand(2).dims[1],
                           .epsilon = static_cast<float>(task.attrDouble(0))});
}

void runQuantize(const Task& task, const CallFrame& frame) {
  kernelsOf(task).quantize({.in = input(task, frame, 0),
                            .out = codesAt<cpu::Codes, int8_t, float, int32_t>(task, frame, 1),
                            .rows = task.rows(frame, 0),
                            .columns = task.operand(0).dims[1]});
}

void runLinearI8(const Task& task, const CallFrame& frame) {
  const blob::OperandRecord& weight = task.operand(3);
  const uint32_t out = task.operandCount - 1;
  kernelsOf(task).linearI8({.in = codesAt<cpu::ConstCodes, const int8_t, const float, const int32_t>(task, frame, 0),
                            .weight = task.at<const void>(frame, 3),
                            .type = weight.dtype,
                            .bias = optionalBias(task, frame, 4, 6),
                            .out = output(task, frame, out),
                            .rows = task.rows(frame, out),
                            .outputs = weight.dims[0],
                            .columns = weight.dims[1]});
}

void runLinearF32(const Task& task, const CallFrame& frame) {
  const blob::OperandRecord& weight = task.operand(1);
  const uint32_t out = task.operandCount - 1;
  kernelsOf(task).linearF32({.in = input(task, frame, 0),
                             .weight = task.at<const void>(frame, 1),
                             .type = weight.dtype,
                             .bias = optionalBias(task, frame, 2, 4),
                             .out = output(task, frame, out),
                             .rows = task.rows(frame, out),
                             .outputs = weight.dims[0],
                             .columns = weight.dims[1]});
}

void runRope(const Task& task, const CallFrame& frame) {
  const blob::OperandRecord& x = task.operand(0);
  kernelsOf(task).rope({.x = task.at<float>(frame, 0),
                        .rowStride = x.strides[0],
                        .headStride = x.strides[1],
                        .positions = task.at<const int32_t>(frame, 1),
                        .table = task.at<const float>(frame, 2),
                        .tableStride = task.operand(2).strides[0],
                        .rows = task.rows(frame, 0),
                        .heads = x.dims[1],
                        .dims = task.attrInt(1),
                        .halfSplit = task.attrInt(0) == 1});
}

/// Rows `first` and on, all in the cache of `frame`.
void writeRows(const Task& task, const CallFrame& frame, uint32_t first) {
  const blob::OperandRecord& in = task.operand(0);
  const blob::OperandRecord& cache = task.operand(1);
  const bool hasScales = task.operandCount == 3;
  kernelsOf(task).kvWrite({.in = task.at<const float>(frame, 0) + size_t{first} * in.strides[0],
                           .rowStride = in.strides[0],
                           .headStride = in.strides[1],
                           .cache = task.at<void>(frame, 1),
                           .type = cache.dtype,
                           .cacheRowStride = cache.strides[1],
                           .cacheHeadStride = cache.strides[0],
                           .scales = hasScales ? task.at<float>(frame, 2) : nullptr,
                           .scaleHeadStride = hasScales ? task.operand(2).strides[0] : 0,
                           .row0 = frame.row0,
                           .rows = task.rows(frame, 0),
                           .heads = in.dims[1],
                           .headDim = in.dims[2]});
}

void runKvWrite(const Task& task, const CallFrame& frame) {
  frame.forEachCache([&](const CallFrame& part, uint32_t first) { writeRows(task, part, first); });
}

/// Rows `first` and on, all in the cache of `frame`.
void attendRows(const Task& task, const CallFrame& frame, uint32_t first) {
  const blob::OperandRecord& q = task.operand(0);
  const blob::OperandRecord& k = task.operand(1);
  const uint32_t outIndex = task.operandCount - 1;
  const blob::OperandRecord& out = task.operand(outIndex);
  const bool hasScales = k.dtype == DType::kI8;
  cpu::AttentionArgs args = {.q = task.at<const float>(frame, 0) + size_t{first} * q.strides[0],
                             .qRowStride = q.strides[0],
                             .qHeadStride = q.strides[1],
                             .k = task.at<const void>(frame, 1),
                             .v = task.at<const void>(frame, 2),
                             .type = k.dtype,
                             .kvRowStride = k.strides[1],
                             .kvHeadStride = k.strides[0],
                             .kScales = hasScales ? task.at<const float>(frame, 5) : nullptr,
                             .vScales = hasScales ? task.at<const float>(frame, 6) : nullptr,
                             .scaleHeadStride = hasScales ? task.operand(5).strides[0] : 0,
                             .keyBias = {},
                             .mask = task.at<const uint8_t>(frame, 3),
                             .workspace = task.at<float>(frame, 4),
                             .out = task.at<float>(frame, outIndex) + size_t{first} * out.strides[0],
                             .outRowStride = out.strides[0],
                             .outHeadStride = out.strides[1],
                             .scale = static_cast<float>(task.attrDouble(0)),
                             .row0 = frame.row0,
                             .rows = task.rows(frame, 0),
                             .context = frame.context,
                             .heads = q.dims[1],
                             .headDim = q.dims[2],
                             .firstHead = task.attrInt(1),
                             .group = task.attrInt(2),
                             .window = task.attrInt(3)};
  constexpr uint32_t kOperandsWithBias = 10;
  if (task.operandCount == kOperandsWithBias) {
    args.keyBias = {.bias = task.at<const float>(frame, 7),
                    .biasHeadStride = task.operand(7).strides[0],
                    .table = task.at<const float>(frame, 8),
                    .tableStride = task.operand(8).strides[0],
                    .dims = task.attrInt(5),
                    .halfSplit = task.attrInt(4) == 1};
  }
  kernelsOf(task).attention(args);
}

void runAttention(const Task& task, const CallFrame& frame) {
  frame.forEachCache([&](const CallFrame& part, uint32_t first) { attendRows(task, part, first); });
}

void runSiluMul(const Task& task, const CallFrame& frame) {
  kernelsOf(task).siluMul({.gate = input(task, frame, 0),
                           .up = input(task, frame, 1),
                           .out = output(task, frame, 2),
                           .rows = task.rows(frame, 2),
                           .columns = task.operand(2).dims[1]});
}

void runGeluMul(const Task& task, const CallFrame& frame) {
  kernelsOf(task).geluMul({.gate = input(task, frame, 0),
                           .up = input(task, frame, 1),
                           .out = output(task, frame, 2),
                           .rows = task.rows(frame, 2),
                           .columns = task.operand(2).dims[1]});
}

void runScale(const Task& task, const CallFrame& frame) {
  kernelsOf(task).scale({.in = input(task, frame, 0),
                         .out = output(task, frame, 1),
                         .rows = task.rows(frame, 1),
                         .columns = task.operand(1).dims[1],
                         .factor = static_cast<float>(task.attrDouble(0))});
}

void runAddPartials(const Task& task, const CallFrame& frame) {
  const blob::OperandRecord& partials = task.operand(1);
  kernelsOf(task).addPartials({.x = output(task, frame, 0),
                               .partials = {.data = task.at<const float>(frame, 1), .rowStride = partials.strides[1]},
                               .partialStride = partials.strides[0],
                               .partialCount = partials.dims[0],
                               .rows = task.rows(frame, 0),
                               .columns = task.operand(0).dims[1]});
}

void runCopy(const Task& task, const CallFrame& frame) {
  kernelsOf(task).copy({.in = input(task, frame, 0),
                        .out = output(task, frame, 1),
                        .rows = task.rows(frame, 1),
                        .columns = task.operand(1).dims[1]});
}

cpu::TopLists topLists(const Task& task, const CallFrame& frame, uint32_t values) {
  return {.values = task.at<float>(frame, values),
          .ids = task.at<int32_t>(frame, values + 1),
          .valueStride = task.operand(values).strides[0],
          .idStride = task.operand(values + 1).strides[0]};
}

void runTopK(const Task& task, const CallFrame& frame) {
  kernelsOf(task).topK({.in = input(task, frame, 0),
                        .out = topLists(task, frame, 1),
                        .rows = task.rows(frame, 1),
                        .columns = task.operand(0).dims[1],
                        .count = task.operand(1).dims[1],
                        .firstId = static_cast<int32_t>(task.attrInt(0))});
}

void runTopKMerge(const Task& task, const CallFrame& frame) {
  const blob::OperandRecord& values = task.operand(0);
  const blob::OperandRecord& ids = task.operand(1);
  kernelsOf(task).topKMerge({.values = task.at<const float>(frame, 0),
                             .ids = task.at<const int32_t>(frame, 1),
                             .valuePartStride = values.strides[0],
                             .valueStride = values.strides[1],
                             .idPartStride = ids.strides[0],
                             .idStride = ids.strides[1],
                             .out = topLists(task, frame, 2),
                             .parts = values.dims[0],
                             .rows = task.rows(frame, 2),
                             .count = values.dims[2]});
}

Status checkWorkspace(const Task& task) {
  const blob::OperandRecord& q = task.operand(0);
  const uint64_t group = task.attrs[2];
  const uint64_t found = task.operand(4).bytes / sizeof(float);
  // A group this large has more heads than any model, and its workspace might not fit in 64 bits.
  if (group > kMaxGroup) {
    return corrupt("groups of " + std::to_string(group) + " heads, expected at most " + std::to_string(kMaxGroup));
  }
  const uint64_t needed = cpu::attentionWorkspaceFloats(q.dims[0], task.attrInt(2), q.dims[2]);
  if (found >= needed) return Status::ok();
  return corrupt("workspace of " + std::to_string(found) + " floats, expected at least " + std::to_string(needed));
}

}  // namespace

TaskFunction findCpuTask(blob::TaskOp op) {
  switch (op) {
    case blob::TaskOp::kCpuEmbed: return runEmbed;
    case blob::TaskOp::kCpuRmsNorm: return runRmsNorm;
    case blob::TaskOp::kCpuQuantize: return runQuantize;
    case blob::TaskOp::kCpuLinearI8: return runLinearI8;
    case blob::TaskOp::kCpuLinearF32: return runLinearF32;
    case blob::TaskOp::kCpuRope: return runRope;
    case blob::TaskOp::kCpuKvWrite: return runKvWrite;
    case blob::TaskOp::kCpuAttention: return runAttention;
    case blob::TaskOp::kCpuSiluMul: return runSiluMul;
    case blob::TaskOp::kCpuAddPartials: return runAddPartials;
    case blob::TaskOp::kCpuCopy: return runCopy;
    case blob::TaskOp::kCpuGeluMul: return runGeluMul;
    case blob::TaskOp::kCpuScale: return runScale;
    case blob::TaskOp::kCpuTopK: return runTopK;
    case blob::TaskOp::kCpuTopKMerge: return runTopKMerge;
    default: return nullptr;
  }
}

Status checkCpuTask(blob::TaskOp op, const Task& task) {
  return op == blob::TaskOp::kCpuAttention ? checkWorkspace(task) : Status::ok();
}

}  // namespace firn::runtime
