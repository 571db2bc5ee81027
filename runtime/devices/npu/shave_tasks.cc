// SHAVE: everything but matmuls and copies.
#include <algorithm>

#include "kernels/npu/clean.h"
#include "kernels/npu/embed.h"
#include "kernels/npu/rope.h"
#include "kernels/npu/top_k.h"
#include "runtime/devices/npu/npu_tasks.h"
#include "runtime/devices/npu/npu_views.h"

namespace firn::runtime {
namespace {

float real(const Task& task, uint32_t attr) { return static_cast<float>(task.attrDouble(attr)); }

/// gather(id, row) for each row of `out`. The ids lie in CMX, where a faulty program may have put anything: a row of
/// one that is no id of the table, operand 1, is 0.
template <typename Gather>
void gatherRows(const Task& task, const CallFrame& frame, const npu::MatrixView<float>& out, const Gather& gather) {
  const auto* const ids = task.at<const int32_t>(frame, 0);
  npu::MatrixView<float> row = out;
  row.rows = 1;
  for (uint64_t i = 0; i < out.rows; ++i, row.data += row.rowStride) {
    if (ids[i] >= 0 && static_cast<uint64_t>(ids[i]) < task.operand(1).dims[0]) {
      gather(ids + i, row);
    } else {
      std::fill_n(row.data, row.columns, 0.0F);
    }
  }
}

void runEmbed(const Task& task, const CallFrame& frame) {
  const auto out = matrix<float>(task, frame, 2);
  const npu::RawView table = raw(task, frame, 1, out.columns);
  gatherRows(task, frame, out, [&](const int32_t* id, const npu::MatrixView<float>& row) {
    npu::embed({.ids = id, .table = table, .out = row});
  });
}

void runEmbedGroups(const Task& task, const CallFrame& frame) {
  const npu::GroupsView table = groups(task, frame, 1);
  const auto out = matrix<float>(task, frame, task.operandCount - 1);
  gatherRows(task, frame, out, [&](const int32_t* id, const npu::MatrixView<float>& row) {
    kernelsOf(task).embedGroups({.ids = id, .table = table, .out = row});
  });
}

void runRmsNorm(const Task& task, const CallFrame& frame) {
  kernelsOf(task).rmsNorm({.in = matrix<const float>(task, frame, 0),
                           .weight = task.at<const float>(frame, 1),
                           .out = floats(task, frame, 2),
                           .epsilon = real(task, 0)});
}

void runRope(const Task& task, const CallFrame& frame) {
  const blob::OperandRecord& in = task.operand(0);
  const blob::OperandRecord& out = task.operand(3);
  npu::rope({.in = task.at<const float>(frame, 0),
             .inRowStride = in.strides[0],
             .inHeadStride = in.strides[1],
             .outType = out.dtype,
             .out = task.at<void>(frame, 3),
             .outRowStride = out.strides[0],
             .outHeadStride = out.strides[1],
             .rows = in.dims[0],
             .heads = in.dims[1],
             .headDim = in.dims[2],
             .positions = task.at<const int32_t>(frame, 1),
             .freqs = task.at<const float>(frame, 2),
             .dims = task.attrs[1],
             .pairing = static_cast<npu::RopePairing>(task.attrInt(0)),
             .magnitude = real(task, 2)});
}

void runExpand(const Task& task, const CallFrame& frame) {
  const auto out = matrix<uint16_t>(task, frame, 1);
  kernelsOf(task).expand({.in = raw(task, frame, 0, out.columns), .out = out});
}

void runExpandGroups(const Task& task, const CallFrame& frame) {
  kernelsOf(task).expandGroups(
      {.in = groups(task, frame, 0), .out = matrix<uint16_t>(task, frame, task.operandCount - 1)});
}

void runAccumulate(const Task& task, const CallFrame& frame) {
  const uint32_t last = task.operandCount - 1;
  const bool hasMins = last == 4;
  kernelsOf(task).accumulate(
      {.partials = parts<const float>(task, frame, 0),
       .scales = matrix<const uint16_t>(task, frame, 1),
       .mins = hasMins ? matrix<const uint16_t>(task, frame, 2) : npu::MatrixView<const uint16_t>{},
       .sums = hasMins ? matrix<const float>(task, frame, 3) : npu::MatrixView<const float>{},
       .out = matrix<float>(task, frame, last),
       .accumulate = task.attrs[0] != 0});
}

void runGroupSums(const Task& task, const CallFrame& frame) {
  kernelsOf(task).groupSums({.a = matrix<const uint16_t>(task, frame, 0), .sums = matrix<float>(task, frame, 1)});
}

void runBias(const Task& task, const CallFrame& frame) {
  kernelsOf(task).bias({.x = matrix<float>(task, frame, 0), .bias = task.at<const float>(frame, 1)});
}

npu::BinaryArgs binary(const Task& task, const CallFrame& frame) {
  return {.a = matrix<const float>(task, frame, 0),
          .b = matrix<const float>(task, frame, 1),
          .out = matrix<float>(task, frame, 2)};
}

void runAdd(const Task& task, const CallFrame& frame) { kernelsOf(task).add(binary(task, frame)); }
void runMul(const Task& task, const CallFrame& frame) { kernelsOf(task).mul(binary(task, frame)); }

npu::GatedArgs gated(const Task& task, const CallFrame& frame) {
  return {.gate = matrix<const float>(task, frame, 0),
          .up = matrix<const float>(task, frame, 1),
          .out = floats(task, frame, 2)};
}

void runSiluMul(const Task& task, const CallFrame& frame) { kernelsOf(task).siluMul(gated(task, frame)); }
void runGeluMul(const Task& task, const CallFrame& frame) { kernelsOf(task).geluMul(gated(task, frame)); }

void runScale(const Task& task, const CallFrame& frame) {
  kernelsOf(task).scale(
      {.in = matrix<const float>(task, frame, 0), .out = matrix<float>(task, frame, 1), .factor = real(task, 0)});
}

void runSoftcap(const Task& task, const CallFrame& frame) {
  kernelsOf(task).softcap(
      {.in = matrix<const float>(task, frame, 0), .out = matrix<float>(task, frame, 1), .cap = real(task, 0)});
}

void runCast(const Task& task, const CallFrame& frame) {
  kernelsOf(task).cast({.in = matrix<const float>(task, frame, 0), .out = matrix<uint16_t>(task, frame, 1)});
}

void runSoftmax(const Task& task, const CallFrame& frame) {
  kernelsOf(task).softmax({.scores = matrix<const float>(task, frame, 0),
                           .mask = task.at<const uint8_t>(frame, 1),
                           .max = task.at<float>(frame, 3),
                           .sum = task.at<float>(frame, 4),
                           .factor = task.at<float>(frame, 5),
                           .probs = matrix<uint16_t>(task, frame, 6),
                           .scale = real(task, 0),
                           .row0 = *task.at<const int32_t>(frame, 2),
                           .firstRow = static_cast<int64_t>(task.attrs[1]),
                           .firstToken = static_cast<int64_t>(task.attrs[2]),
                           .group = task.attrInt(3),
                           .window = static_cast<int64_t>(task.attrs[4]),
                           .isFirst = task.attrs[5] != 0});
}

void runRescale(const Task& task, const CallFrame& frame) {
  kernelsOf(task).rescale({.acc = matrix<float>(task, frame, 0), .factor = task.at<const float>(frame, 1)});
}

void runFinish(const Task& task, const CallFrame& frame) {
  kernelsOf(task).finish({.acc = matrix<const float>(task, frame, 0),
                          .sum = task.at<const float>(frame, 1),
                          .out = matrix<uint16_t>(task, frame, 2)});
}

void runClean(const Task& task, const CallFrame& frame) {
  npu::clean({.v = matrix<uint16_t>(task, frame, 0),
              .mask = task.at<const uint8_t>(frame, 1),
              .row0 = *task.at<const int32_t>(frame, 2),
              .firstRow = task.attrInt(0),
              .firstToken = task.attrInt(1),
              .window = task.attrInt(2)});
}

void runTopK(const Task& task, const CallFrame& frame) {
  npu::topK({.in = matrix<const float>(task, frame, 0),
             .values = matrix<float>(task, frame, 1),
             .ids = matrix<int32_t>(task, frame, 2),
             .firstId = static_cast<int32_t>(task.attrInt(0))});
}

void runTopKMerge(const Task& task, const CallFrame& frame) {
  npu::topKMerge({.partValues = parts<const float>(task, frame, 0),
                  .partIds = parts<const int32_t>(task, frame, 1),
                  .values = matrix<float>(task, frame, 2),
                  .ids = matrix<int32_t>(task, frame, 3)});
}

}  // namespace

TaskFunction findShaveTask(blob::TaskOp op) {
  switch (op) {
    case blob::TaskOp::kNpuEmbed: return runEmbed;
    case blob::TaskOp::kNpuEmbedGroups: return runEmbedGroups;
    case blob::TaskOp::kNpuRmsNorm: return runRmsNorm;
    case blob::TaskOp::kNpuRope: return runRope;
    case blob::TaskOp::kNpuExpand: return runExpand;
    case blob::TaskOp::kNpuExpandGroups: return runExpandGroups;
    case blob::TaskOp::kNpuAccumulate: return runAccumulate;
    case blob::TaskOp::kNpuGroupSums: return runGroupSums;
    case blob::TaskOp::kNpuBias: return runBias;
    case blob::TaskOp::kNpuAdd: return runAdd;
    case blob::TaskOp::kNpuMul: return runMul;
    case blob::TaskOp::kNpuSiluMul: return runSiluMul;
    case blob::TaskOp::kNpuGeluMul: return runGeluMul;
    case blob::TaskOp::kNpuScale: return runScale;
    case blob::TaskOp::kNpuSoftcap: return runSoftcap;
    case blob::TaskOp::kNpuCast: return runCast;
    case blob::TaskOp::kNpuSoftmax: return runSoftmax;
    case blob::TaskOp::kNpuRescale: return runRescale;
    case blob::TaskOp::kNpuFinish: return runFinish;
    case blob::TaskOp::kNpuClean: return runClean;
    case blob::TaskOp::kNpuTopK: return runTopK;
    case blob::TaskOp::kNpuTopKMerge: return runTopKMerge;
    default: return nullptr;
  }
}

}  // namespace firn::runtime
