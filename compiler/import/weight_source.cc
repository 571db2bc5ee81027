#include "compiler/import/weight_source.h"

#include "base/quote.h"

namespace firn::import {
namespace {

// Shapes as people write them: rows first, 1s behind the last real dimension dropped, as the format's writers do.
std::string shapeText(std::vector<uint64_t> rowMajorDims) {
  std::string text = "[";
  for (size_t i = 0; i < rowMajorDims.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(rowMajorDims[i]);
  return text + "]";
}

std::vector<uint64_t> rowMajor(const GgufTensor& tensor) {
  return {std::make_reverse_iterator(tensor.dims.begin() + tensor.rank), tensor.dims.rend()};
}

bool sameShape(const GgufTensor& tensor, const std::vector<uint64_t>& rowMajorDims) {
  for (size_t i = 0; i < tensor.dims.size(); ++i) {
    const uint64_t expected = i < rowMajorDims.size() ? rowMajorDims[rowMajorDims.size() - 1 - i] : 1;
    if (tensor.dims[i] != expected) return false;
  }
  return true;
}

}  // namespace

Result<const GgufTensor*> WeightSource::require(const std::string& name, const std::vector<uint64_t>& rowMajorDims) {
  const GgufTensor* tensor = file_.findTensor(name);
  if (tensor == nullptr) {
    return corrupt(file_.path() + ": tensor " + quoted(name) + " is missing, expected " + shapeText(rowMajorDims));
  }
  if (!sameShape(*tensor, rowMajorDims)) {
    return corrupt(file_.path() + ": tensor " + quoted(name) + " is " + shapeText(rowMajor(*tensor)) +
                   ", the model's sizes ask for " + shapeText(rowMajorDims));
  }
  used_[static_cast<size_t>(tensor - file_.tensors().data())] = true;
  return tensor;
}

Result<TensorView> WeightSource::matrix(const std::string& name, uint64_t rows, uint64_t columns) {
  FIRN_ASSIGN_OR_RETURN(const GgufTensor* tensor, require(name, {rows, columns}));
  const std::optional<DType> type = weightType(tensor->type->number);
  if (!type) {
    return unsupported(file_.path() + ": unsupported tensor type " + std::string(tensor->type->name) + " in tensor " +
                       quoted(name) + "; supported: " + supportedWeightTypes());
  }
  return TensorView{name, *type, {rows, columns}, tensor->bytes};
}

Result<TensorView> WeightSource::vector(const std::string& name, uint64_t length) {
  FIRN_ASSIGN_OR_RETURN(const GgufTensor* tensor, require(name, {length}));
  if (weightType(tensor->type->number) != DType::kF32) {
    return unsupported(file_.path() + ": unsupported tensor type " + std::string(tensor->type->name) + " in tensor " +
                       quoted(name) + "; supported for norms, biases and rope factors: f32");
  }
  return TensorView{name, DType::kF32, {length}, tensor->bytes};
}

Result<LinearSpec> WeightSource::linear(const std::string& stem, uint64_t rows, uint64_t columns) {
  LinearSpec spec;
  FIRN_ASSIGN_OR_RETURN(spec.weight, matrix(stem + ".weight", rows, columns));
  if (has(stem + ".bias")) {
    FIRN_ASSIGN_OR_RETURN(spec.bias, vector(stem + ".bias", rows));
  }
  return spec;
}

std::vector<const GgufTensor*> WeightSource::unused() const {
  std::vector<const GgufTensor*> tensors;
  for (size_t i = 0; i < used_.size(); ++i) {
    if (!used_[i]) tensors.push_back(&file_.tensors()[i]);
  }
  return tensors;
}

}  // namespace firn::import
