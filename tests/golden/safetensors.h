// Reads the safetensors files of recorded answers under tests/data/expected: 8 bytes of header length, a JSON header,
// data. For tests: it checks what it reads, but is no importer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/status.h"

namespace firn::golden {

/// A file of named tensors of i64 and f32.
class Safetensors {
 public:
  static Result<Safetensors> open(const std::string& path);

  bool has(const std::string& name) const { return tensors_.contains(name); }
  /// The shape, slowest dimension first; empty when there is no such tensor.
  std::vector<uint64_t> shape(const std::string& name) const;
  /// All values in row-major order. not_found without such a tensor, invalid_argument when it has another type.
  Result<std::vector<float>> floats(const std::string& name) const;
  Result<std::vector<int64_t>> integers(const std::string& name) const;

 private:
  struct Tensor {
    std::string dtype;
    std::vector<uint64_t> shape;
    std::span<const std::byte> bytes;
  };

  Safetensors() = default;
  template <typename T>
  Result<std::vector<T>> values(const std::string& name, const std::string& dtype) const;

  MappedFile file_;
  std::map<std::string, Tensor> tensors_;
};

}  // namespace firn::golden
