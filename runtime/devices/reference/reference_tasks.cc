#include "runtime/devices/reference/reference_tasks.h"

#include <algorithm>
#include <optional>

#include "kernels/reference/add.h"
#include "kernels/reference/add_key_bias.h"
#include "kernels/reference/attention.h"
#include "kernels/reference/concat.h"
#include "kernels/reference/copy.h"
#include "kernels/reference/embed.h"
#include "kernels/reference/gelu.h"
#include "kernels/reference/layer_norm.h"
#include "kernels/reference/linear.h"
#include "kernels/reference/mul.h"
#include "kernels/reference/rms_norm.h"
#include "kernels/reference/rope.h"
#include "kernels/reference/scale.h"
#include "kernels/reference/silu.h"
#include "kernels/reference/slice.h"
#include "kernels/reference/softcap.h"
#include "kernels/reference/state_read.h"
#include "kernels/reference/state_write.h"
#include "kernels/reference/top_k.h"

namespace firn::runtime {
namespace {

namespace ref = firn::reference;

ref::ConstMatrix input(const Task& task, const CallFrame& frame, uint32_t index) {
  const blob::OperandRecord& operand = task.operand(index);
  return {.data = task.at<const float>(frame, index),
          .rows = task.rows(frame, index),
          .columns = operand.dims[1],
          .rowStride = operand.strides[0]};
}

ref::Matrix output(const Task& task, const CallFrame& frame, uint32_t index) {
  const blob::OperandRecord& operand = task.operand(index);
  return {.data = task.at<float>(frame, index),
          .rows = task.rows(frame, index),
          .columns = operand.dims[1],
          .rowStride = operand.strides[0]};
}

// [m, heads, d] from row `first` on.
template <typename T>
ref::HeadsView<T> rowHeads(const Task& task, const CallFrame& frame, uint32_t index, uint32_t first = 0) {
  const blob::OperandRecord& operand = task.operand(index);
  return {.data = task.at<T>(frame, index) + size_t{first} * operand.strides[0],
          .rows = task.rows(frame, index),
          .heads = operand.dims[1],
          .headDim = operand.dims[2],
          .rowStride = operand.strides[0],
          .headStride = operand.strides[1]};
}

// [heads, T, d]
template <typename T>
ref::HeadsView<T> cacheHeads(const Task& task, const CallFrame& frame, uint32_t index) {
  const blob::OperandRecord& operand = task.operand(index);
  return {.data = task.at<T>(frame, index),
          .rows = operand.dims[1],
          .heads = operand.dims[0],
          .headDim = operand.dims[2],
          .rowStride = operand.strides[1],
          .headStride = operand.strides[0]};
}

// The same with the type of the cache, and `scales` f32[heads, T] where that has them.
ref::CacheView cacheView(const Task& task, const CallFrame& frame, uint32_t index, std::optional<uint32_t> scales) {
  const blob::OperandRecord& operand = task.operand(index);
  return {.type = operand.dtype,
          .data = task.at<std::byte>(frame, index),
          .scales = scales ? task.at<float>(frame, *scales) : nullptr,
          .rows = operand.dims[1],
          .heads = operand.dims[0],
          .headDim = operand.dims[2],
          .rowStride = operand.strides[1],
          .headStride = operand.strides[0],
          .scaleHeadStride = scales ? task.operand(*scales).strides[0] : 0};
}

// Rows of the cache that may be seen in this run.
uint64_t rowsInUse(const CallFrame& frame) {
  return std::min(uint64_t{frame.context}, uint64_t{frame.row0} + frame.valid);
}

// [N, K], or [n] as one row.
ref::WeightView weight(const Task& task, const CallFrame& frame, uint32_t index) {
  const blob::OperandRecord& operand = task.operand(index);
  const bool isVector = operand.rank < 2;
  return {.type = operand.dtype,
          .data = task.at<const std::byte>(frame, index),
          .rows = isVector ? 1 : operand.dims[0],
          .columns = isVector ? operand.dims[0] : operand.dims[1],
          .rowStride = isVector ? operand.dims[0] : operand.strides[0]};
}

void runEmbed(const Task& task, const CallFrame& frame) {
  ref::embed({.ids = task.at<const int32_t>(frame, 0), .table = weight(task, frame, 1), .out = output(task, frame, 2)});
}

void runRmsNorm(const Task& task, const CallFrame& frame) {
  ref::rmsNorm({.in = input(task, frame, 0),
                .weight = weight(task, frame, 1),
                .out = output(task, frame, 2),
                .epsilon = static_cast<float>(task.attrDouble(0))});
}

void runLayerNorm(const Task& task, const CallFrame& frame) {
  const bool hasBias = task.operandCount == 4;
  ref::layerNorm({.in = input(task, frame, 0),
                  .weight = weight(task, frame, 1),
                  .bias = hasBias ? weight(task, frame, 2) : ref::WeightView{},
                  .out = output(task, frame, task.operandCount - 1),
                  .epsilon = static_cast<float>(task.attrDouble(0))});
}

void runLinear(const Task& task, const CallFrame& frame) {
  const bool hasBias = task.operandCount == 4;
  ref::linear({.in = input(task, frame, 0),
               .weight = weight(task, frame, 1),
               .bias = hasBias ? weight(task, frame, 2) : ref::WeightView{},
               .out = output(task, frame, task.operandCount - 1)});
}

void runRope(const Task& task, const CallFrame& frame) {
  ref::rope({.in = rowHeads<const float>(task, frame, 0),
             .out = rowHeads<float>(task, frame, 3),
             .positions = task.at<const int32_t>(frame, 1),
             .freqs = task.at<const float>(frame, 2),
             .dims = task.attrInt(1),
             .pairing = static_cast<ref::RopePairing>(task.attrInt(0)),
             .magnitude = static_cast<float>(task.attrDouble(2))});
}

/// Rows `first` and on, all in the cache of `frame`.
void writeRows(const Task& task, const CallFrame& frame, uint32_t first) {
  ref::stateWrite({.in = rowHeads<const float>(task, frame, 0, first),
                   .cache = cacheView(task, frame, 1, task.operandCount == 3 ? std::optional(2U) : std::nullopt),
                   .row0 = frame.row0,
                   .valid = task.rows(frame, 0)});
}

void runStateWrite(const Task& task, const CallFrame& frame) {
  frame.forEachCache([&](const CallFrame& part, uint32_t first) { writeRows(task, part, first); });
}

// The KV heads of K (0) or V (1) in fp32 in the workspace, operand 4.
ref::Heads workspaceHeads(const Task& task, const CallFrame& frame, uint32_t which) {
  const blob::OperandRecord& operand = task.operand(4);
  return {.data = task.at<float>(frame, 4) + uint64_t{which} * operand.strides[0],
          .rows = operand.dims[2],
          .heads = operand.dims[1],
          .headDim = operand.dims[3],
          .rowStride = operand.strides[2],
          .headStride = operand.strides[1]};
}

ref::ConstHeads constant(const ref::Heads& heads) {
  return {heads.data, heads.rows, heads.heads, heads.headDim, heads.rowStride, heads.headStride};
}

// Reads K and V into the workspace, and gives the keys the bias that they are stored without.
void readCache(const Task& task, const CallFrame& frame) {
  const bool hasScales = task.operand(1).dtype == DType::kI8;
  for (const uint32_t which : {0U, 1U}) {
    ref::stateRead({.cache = cacheView(task, frame, 1 + which, hasScales ? std::optional(5 + which) : std::nullopt),
                    .out = workspaceHeads(task, frame, which),
                    .rows = rowsInUse(frame)});
  }
  constexpr uint32_t kOperandsWithBias = 10;
  if (task.operandCount != kOperandsWithBias) return;
  ref::addKeyBias({.x = workspaceHeads(task, frame, 0),
                   .rows = rowsInUse(frame),
                   .bias = weight(task, frame, 7),
                   .freqs = task.at<const float>(frame, 8),
                   .dims = task.attrInt(3),
                   .pairing = static_cast<ref::RopePairing>(task.attrInt(2)),
                   .magnitude = static_cast<float>(task.attrDouble(4))});
}

/// Keys and values in fp32.
struct Cached {
  ref::ConstHeads keys;
  ref::ConstHeads values;
};

/// The cache itself where it is f32, else what is read from it.
Cached cachedOf(const Task& task, const CallFrame& frame) {
  if (task.operand(1).dtype == DType::kF32) {
    return {cacheHeads<const float>(task, frame, 1), cacheHeads<const float>(task, frame, 2)};
  }
  readCache(task, frame);
  return {constant(workspaceHeads(task, frame, 0)), constant(workspaceHeads(task, frame, 1))};
}

/// Rows `first` and on, all in the cache of `frame`.
void attendRows(const Task& task, const CallFrame& frame, uint32_t first) {
  const Cached cached = cachedOf(task, frame);
  ref::attention({.query = rowHeads<const float>(task, frame, 0, first),
                  .keys = cached.keys,
                  .values = cached.values,
                  .mask = task.at<const uint8_t>(frame, 3),
                  .context = frame.context,
                  .row0 = frame.row0,
                  .window = task.attrInt(1),
                  .scale = static_cast<float>(task.attrDouble(0)),
                  .out = rowHeads<float>(task, frame, task.operandCount - 1, first)});
}

void runAttention(const Task& task, const CallFrame& frame) {
  frame.forEachCache([&](const CallFrame& part, uint32_t first) { attendRows(task, part, first); });
}

void runSilu(const Task& task, const CallFrame& frame) {
  ref::silu({.in = input(task, frame, 0), .out = output(task, frame, 1)});
}

void runGelu(const Task& task, const CallFrame& frame) {
  ref::gelu({.in = input(task, frame, 0), .out = output(task, frame, 1), .tanhForm = task.attrs[0] == 1});
}

void runMul(const Task& task, const CallFrame& frame) {
  ref::mul({.a = input(task, frame, 0), .b = input(task, frame, 1), .out = output(task, frame, 2)});
}

void runAdd(const Task& task, const CallFrame& frame) {
  ref::add({.a = input(task, frame, 0), .b = input(task, frame, 1), .out = output(task, frame, 2)});
}

void runScale(const Task& task, const CallFrame& frame) {
  ref::scale(
      {.in = input(task, frame, 0), .out = output(task, frame, 1), .factor = static_cast<float>(task.attrDouble(0))});
}

void runSoftcap(const Task& task, const CallFrame& frame) {
  ref::softcap(
      {.in = input(task, frame, 0), .out = output(task, frame, 1), .cap = static_cast<float>(task.attrDouble(0))});
}

void runSlice(const Task& task, const CallFrame& frame) {
  ref::slice({.in = input(task, frame, 0), .out = output(task, frame, 1), .first = task.attrs[0]});
}

void runConcat(const Task& task, const CallFrame& frame) {
  ref::concat({.a = input(task, frame, 0), .b = input(task, frame, 1), .out = output(task, frame, 2)});
}

void runCopy(const Task& task, const CallFrame& frame) {
  ref::copy({.in = input(task, frame, 0), .out = output(task, frame, 1)});
}

void runTopK(const Task& task, const CallFrame& frame) {
  const blob::OperandRecord& ids = task.operand(2);
  ref::topK({.in = input(task, frame, 0),
             .values = output(task, frame, 1),
             .ids = {.data = task.at<int32_t>(frame, 2),
                     .rows = task.rows(frame, 2),
                     .columns = ids.dims[1],
                     .rowStride = ids.strides[0]}});
}

}  // namespace

TaskFunction findReferenceTask(blob::TaskOp op) {
  switch (op) {
    case blob::TaskOp::kRefEmbed: return runEmbed;
    case blob::TaskOp::kRefRmsNorm: return runRmsNorm;
    case blob::TaskOp::kRefLayerNorm: return runLayerNorm;
    case blob::TaskOp::kRefLinear: return runLinear;
    case blob::TaskOp::kRefRope: return runRope;
    case blob::TaskOp::kRefStateWrite: return runStateWrite;
    case blob::TaskOp::kRefAttention: return runAttention;
    case blob::TaskOp::kRefSilu: return runSilu;
    case blob::TaskOp::kRefGelu: return runGelu;
    case blob::TaskOp::kRefMul: return runMul;
    case blob::TaskOp::kRefAdd: return runAdd;
    case blob::TaskOp::kRefScale: return runScale;
    case blob::TaskOp::kRefSoftcap: return runSoftcap;
    case blob::TaskOp::kRefSlice: return runSlice;
    case blob::TaskOp::kRefConcat: return runConcat;
    case blob::TaskOp::kRefCopy: return runCopy;
    case blob::TaskOp::kRefTopK: return runTopK;
    default: return nullptr;
  }
}

}  // namespace firn::runtime
