// Operands of npu tasks as the views that kernels/npu takes.
#pragma once

#include "kernels/npu/kernels.h"
#include "kernels/npu/view.h"
#include "runtime/loaded_program.h"

namespace firn::runtime {

inline const npu::NpuKernels& kernelsOf(const Task& task) { return *static_cast<const npu::NpuKernels*>(task.kernels); }

/// [rows, columns]
template <typename T>
npu::MatrixView<T> matrix(const Task& task, const CallFrame& frame, uint32_t index) {
  const blob::OperandRecord& operand = task.operand(index);
  return {.data = task.at<T>(frame, index),
          .rows = operand.dims[0],
          .columns = operand.dims[1],
          .rowStride = operand.strides[0]};
}

/// [parts, rows, columns]
template <typename T>
npu::PartsView<T> parts(const Task& task, const CallFrame& frame, uint32_t index) {
  const blob::OperandRecord& operand = task.operand(index);
  return {.data = task.at<T>(frame, index),
          .parts = operand.dims[0],
          .rows = operand.dims[1],
          .columns = operand.dims[2],
          .partStride = operand.strides[0],
          .rowStride = operand.strides[1]};
}

/// [rows, columns] of f32 or f16
inline npu::FloatView floats(const Task& task, const CallFrame& frame, uint32_t index) {
  const blob::OperandRecord& operand = task.operand(index);
  return {.type = operand.dtype,
          .data = task.at<void>(frame, index),
          .rows = operand.dims[0],
          .columns = operand.dims[1],
          .rowStride = operand.strides[0]};
}

/// [rows, bytes of a row]: `columns` weights of the type that attribute 0 names
inline npu::RawView raw(const Task& task, const CallFrame& frame, uint32_t index, uint64_t columns) {
  const blob::OperandRecord& operand = task.operand(index);
  return {.type = static_cast<DType>(task.attrs[0]),
          .data = task.at<const std::byte>(frame, index),
          .rows = operand.dims[0],
          .columns = columns,
          .rowBytes = operand.strides[0]};
}

/// Codes, scales and perhaps mins, operands `first` and on, with the result behind them; attributes: bits, zero
inline npu::GroupsView groups(const Task& task, const CallFrame& frame, uint32_t first) {
  const bool hasMins = task.operandCount == first + 4;
  return {.codes = matrix<const uint8_t>(task, frame, first),
          .scales = matrix<const uint16_t>(task, frame, first + 1),
          .mins = hasMins ? matrix<const uint16_t>(task, frame, first + 2) : npu::MatrixView<const uint16_t>{},
          .bits = task.attrInt(0),
          .zero = static_cast<int32_t>(task.attrInt(1))};
}

}  // namespace firn::runtime
