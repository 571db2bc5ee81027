// The tensors of a GGUF file as an architecture asks for them: by name, checked for shape and type, remembered as used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "compiler/import/gguf_reader.h"
#include "compiler/import/model_spec.h"

namespace firn::import {

/// Hands out views of `file`, which must outlive it. Every refusal names file, tensor, found and expected. One thread.
class WeightSource {
 public:
  explicit WeightSource(const GgufFile& file) : file_(file), used_(file.tensors().size(), false) {}

  const std::string& path() const { return file_.path(); }
  bool has(std::string_view name) const { return file_.findTensor(name) != nullptr; }

  /// The matrix [rows, columns] of any supported weight type.
  Result<TensorView> matrix(const std::string& name, uint64_t rows, uint64_t columns);
  /// The f32 vector [length]: norms, biases, rope factors.
  Result<TensorView> vector(const std::string& name, uint64_t length);
  /// `stem`.weight [rows, columns] and, where the file has it, `stem`.bias [rows].
  Result<LinearSpec> linear(const std::string& stem, uint64_t rows, uint64_t columns);

  /// Tensors that nobody asked for, in file order.
  std::vector<const GgufTensor*> unused() const;

 private:
  Result<const GgufTensor*> require(const std::string& name, const std::vector<uint64_t>& rowMajorDims);

  const GgufFile& file_;
  std::vector<bool> used_;
};

}  // namespace firn::import
