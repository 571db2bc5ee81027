#include "compiler/target/tensor.h"

#include <cassert>
#include <utility>

namespace firn::target {
namespace {

/// Bytes of one element of a type that is not quantized.
uint64_t elementBytes(DType dtype) {
  const DTypeInfo* info = dtypeInfo(dtype);
  assert(info->blockElements == 1 && "quantized tensors have no single elements");
  return info->blockBytes;
}

}  // namespace

task::OperandAttr Tensor::attr(mlir::MLIRContext* context) const {
  uint64_t bytes = task::operandExtent(dtype, layout, dims, strides).value_or(0);
  return task::OperandAttr::get(context, space, base, offset, dtype, layout, dims, strides, bytes);
}

Tensor Tensor::columns(int64_t first, int64_t count) const {
  Tensor part = *this;
  part.offset += static_cast<uint64_t>(first * strides.back()) * elementBytes(dtype);
  part.dims.back() = count;
  return part;
}

Tensor Tensor::heads(int64_t headDim) const {
  Tensor split = *this;
  split.dims = {dims[0], dims[1] / headDim, headDim};
  split.strides = {strides[0], headDim, 1};
  return split;
}

Tensor Tensor::asPartial() const {
  Tensor one = *this;
  one.dims = {1, dims[0], dims[1]};
  one.strides = {dims[0] * strides[0], strides[0], strides[1]};
  return one;
}

Tensor Tensor::slice(int64_t first, int64_t count) const {
  Tensor part = *this;
  part.offset += static_cast<uint64_t>(first * strides.front()) * elementBytes(dtype);
  part.dims.front() = count;
  return part;
}

Tensor Tensor::element(int64_t index) const {
  Tensor part = slice(index, 1);
  part.dims.erase(part.dims.begin());
  part.strides.erase(part.strides.begin());
  return part;
}

Tensor denseTensor(blob::Space space, std::string base, DType dtype, llvm::ArrayRef<int64_t> dims) {
  Tensor tensor;
  tensor.space = space;
  tensor.base = std::move(base);
  tensor.dtype = dtype;
  tensor.dims.assign(dims.begin(), dims.end());
  tensor.strides.resize(dims.size());
  int64_t stride = 1;
  for (size_t i = dims.size(); i-- > 0;) {
    tensor.strides[i] = stride;
    stride *= dims[i];
  }
  return tensor;
}

uint64_t denseBytes(DType dtype, llvm::ArrayRef<int64_t> dims) {
  uint64_t elements = 1;
  for (int64_t dim : dims) elements *= static_cast<uint64_t>(dim);
  return dtypeBytes(dtype, elements).value_or(0);
}

}  // namespace firn::target
