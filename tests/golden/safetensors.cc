#include "tests/golden/safetensors.h"

#include <cstring>
#include <nlohmann/json.hpp>
#include <utility>

namespace firn::golden {
namespace {

using nlohmann::json;

constexpr uint64_t kLengthBytes = 8;

bool isOffsetPair(const json& value) {
  return value.is_array() && value.size() == 2 && value[0].is_number_unsigned() && value[1].is_number_unsigned();
}

bool isEntry(const json& value) {
  if (!value.is_object() || !value.contains("dtype") || !value.contains("shape")) return false;
  if (!value["dtype"].is_string() || !value["shape"].is_array()) return false;
  for (const json& dim : value["shape"]) {
    if (!dim.is_number_unsigned()) return false;
  }
  return value.contains("data_offsets") && isOffsetPair(value["data_offsets"]);
}

}  // namespace

Result<Safetensors> Safetensors::open(const std::string& path) {
  Safetensors result;
  FIRN_ASSIGN_OR_RETURN(result.file_, MappedFile::open(path));
  const std::span<const std::byte> bytes = result.file_.bytes();
  uint64_t headerBytes = 0;
  if (bytes.size() < kLengthBytes) return corrupt(path + ": shorter than a safetensors header");
  std::memcpy(&headerBytes, bytes.data(), kLengthBytes);
  if (headerBytes > bytes.size() - kLengthBytes) {
    return corrupt(path + ": header of " + std::to_string(headerBytes) + " bytes in a file of " +
                   std::to_string(bytes.size()));
  }
  const char* text = reinterpret_cast<const char*>(bytes.data()) + kLengthBytes;
  const json header = json::parse(text, text + headerBytes, nullptr, /*allow_exceptions=*/false);
  if (!header.is_object()) return corrupt(path + ": the header is no JSON object");
  const std::span<const std::byte> data = bytes.subspan(kLengthBytes + headerBytes);
  for (const auto& [name, entry] : header.items()) {
    if (name == "__metadata__") continue;
    if (!isEntry(entry)) return corrupt(path + ": tensor '" + name + "' has no dtype, shape and data_offsets");
    const auto begin = entry["data_offsets"][0].get<uint64_t>();
    const auto end = entry["data_offsets"][1].get<uint64_t>();
    if (begin > end || end > data.size()) return corrupt(path + ": tensor '" + name + "' lies outside the file");
    result.tensors_[name] = {entry["dtype"], entry["shape"].get<std::vector<uint64_t>>(),
                             data.subspan(begin, end - begin)};
  }
  return result;
}

std::vector<uint64_t> Safetensors::shape(const std::string& name) const {
  const auto found = tensors_.find(name);
  return found == tensors_.end() ? std::vector<uint64_t>{} : found->second.shape;
}

template <typename T>
Result<std::vector<T>> Safetensors::values(const std::string& name, const std::string& dtype) const {
  const auto found = tensors_.find(name);
  if (found == tensors_.end()) return notFound(file_.path() + ": no tensor '" + name + "'");
  const Tensor& tensor = found->second;
  uint64_t expectedBytes = sizeof(T);
  for (const uint64_t dim : tensor.shape) {
    if (__builtin_mul_overflow(expectedBytes, dim, &expectedBytes)) {
      return corrupt(file_.path() + ": the shape of '" + name + "' overflows");
    }
  }
  if (tensor.dtype != dtype || tensor.bytes.size() != expectedBytes) {
    return invalidArgument(file_.path() + ": tensor '" + name + "' has type " + tensor.dtype + " and " +
                           std::to_string(tensor.bytes.size()) + " bytes, expected " + dtype + " and " +
                           std::to_string(expectedBytes));
  }
  std::vector<T> values(expectedBytes / sizeof(T));
  if (!values.empty()) std::memcpy(values.data(), tensor.bytes.data(), expectedBytes);
  return values;
}

Result<std::vector<float>> Safetensors::floats(const std::string& name) const { return values<float>(name, "F32"); }

Result<std::vector<int64_t>> Safetensors::integers(const std::string& name) const {
  return values<int64_t>(name, "I64");
}

}  // namespace firn::golden
