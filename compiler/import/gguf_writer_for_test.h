// Builds the bytes of GGUF files for tests, right and wrong ones. Only for tests and fuzz seeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/align.h"
#include "compiler/import/ggml_types.h"
#include "compiler/import/gguf_value.h"

namespace firn::import {

using ByteVector = std::vector<std::byte>;

template <typename T>
void append(ByteVector* out, T value) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&value);
  out->insert(out->end(), bytes, bytes + sizeof value);
}

inline void appendText(ByteVector* out, std::string_view text) {
  append<uint64_t>(out, text.size());
  const auto* bytes = reinterpret_cast<const std::byte*>(text.data());
  out->insert(out->end(), bytes, bytes + text.size());
}

/// Keys and tensors in order; `set` and `tensor` replace one of the same name. Nothing is checked.
class GgufWriter {
 public:
  struct Tensor {
    std::string name;
    std::vector<uint64_t> dims;  ///< row length first
    uint32_t type = 0;
    ByteVector data;
    std::optional<uint64_t> offset;  ///< absent: after the tensor before, aligned
  };

  uint32_t version = 3;
  uint64_t alignment = 32;  ///< of the data; say so with a key when it is another

  GgufWriter& set(std::string_view key, GgufType type, ByteVector payload) {
    ByteVector bytes;
    append<uint32_t>(&bytes, static_cast<uint32_t>(type));
    bytes.insert(bytes.end(), payload.begin(), payload.end());
    for (auto& [name, value] : keys_) {
      if (name == key) {
        value = std::move(bytes);
        return *this;
      }
    }
    keys_.emplace_back(key, std::move(bytes));
    return *this;
  }
  template <typename T>
  GgufWriter& scalar(std::string_view key, GgufType type, T value) {
    ByteVector payload;
    append(&payload, value);
    return set(key, type, std::move(payload));
  }
  GgufWriter& u32(std::string_view key, uint32_t value) { return scalar(key, GgufType::kU32, value); }
  GgufWriter& u64(std::string_view key, uint64_t value) { return scalar(key, GgufType::kU64, value); }
  GgufWriter& u16(std::string_view key, uint16_t value) { return scalar(key, GgufType::kU16, value); }
  GgufWriter& i32(std::string_view key, int32_t value) { return scalar(key, GgufType::kI32, value); }
  GgufWriter& f32(std::string_view key, float value) { return scalar(key, GgufType::kF32, value); }
  GgufWriter& f64(std::string_view key, double value) { return scalar(key, GgufType::kF64, value); }
  GgufWriter& boolean(std::string_view key, bool value) {
    return scalar(key, GgufType::kBool, static_cast<uint8_t>(value ? 1 : 0));
  }
  GgufWriter& text(std::string_view key, std::string_view value) {
    ByteVector payload;
    appendText(&payload, value);
    return set(key, GgufType::kString, std::move(payload));
  }
  GgufWriter& texts(std::string_view key, const std::vector<std::string>& values) {
    ByteVector payload;
    append<uint32_t>(&payload, static_cast<uint32_t>(GgufType::kString));
    append<uint64_t>(&payload, values.size());
    for (const std::string& value : values) appendText(&payload, value);
    return set(key, GgufType::kArray, std::move(payload));
  }
  GgufWriter& i32s(std::string_view key, const std::vector<int32_t>& values) {
    ByteVector payload;
    append<uint32_t>(&payload, static_cast<uint32_t>(GgufType::kI32));
    append<uint64_t>(&payload, values.size());
    for (const int32_t value : values) append(&payload, value);
    return set(key, GgufType::kArray, std::move(payload));
  }
  GgufWriter& erase(std::string_view key) {
    std::erase_if(keys_, [&](const auto& entry) { return entry.first == key; });
    return *this;
  }

  GgufWriter& add(Tensor tensor) {
    tensors_.push_back(std::move(tensor));
    return *this;
  }
  /// A tensor of the right size for a known type, its bytes counting up; replaces one of the same name.
  GgufWriter& tensor(std::string_view name, std::vector<uint64_t> dims, uint32_t type = 0) {
    uint64_t elements = 1;
    for (const uint64_t dim : dims) elements *= dim;
    const GgmlType* row = ggmlType(type);
    ByteVector data(row == nullptr ? elements : elements / row->blockElements * row->blockBytes);
    for (size_t i = 0; i < data.size(); ++i) data[i] = std::byte(i & 0x3F);
    Tensor made{std::string(name), std::move(dims), type, std::move(data), std::nullopt};
    if (Tensor* old = find(name)) {
      *old = std::move(made);
      return *this;
    }
    return add(std::move(made));
  }
  GgufWriter& f32Tensor(std::string_view name, const std::vector<float>& values) {
    tensor(name, {values.size()});
    std::memcpy(find(name)->data.data(), values.data(), values.size() * sizeof(float));
    return *this;
  }
  GgufWriter& eraseTensor(std::string_view name) {
    std::erase_if(tensors_, [&](const Tensor& tensor) { return tensor.name == name; });
    return *this;
  }
  GgufWriter& eraseTensors() {
    tensors_.clear();
    return *this;
  }
  Tensor* find(std::string_view name) {
    for (Tensor& tensor : tensors_) {
      if (tensor.name == name) return &tensor;
    }
    return nullptr;
  }
  const std::vector<Tensor>& tensors() const { return tensors_; }

  ByteVector bytes() const {
    ByteVector out;
    for (const char character : std::string_view("GGUF")) append(&out, character);
    append(&out, version);
    append<uint64_t>(&out, tensors_.size());
    append<uint64_t>(&out, keys_.size());
    for (const auto& [name, value] : keys_) {
      appendText(&out, name);
      out.insert(out.end(), value.begin(), value.end());
    }
    uint64_t offset = 0;
    for (const Tensor& tensor : tensors_) {
      appendText(&out, tensor.name);
      append<uint32_t>(&out, static_cast<uint32_t>(tensor.dims.size()));
      for (const uint64_t dim : tensor.dims) append(&out, dim);
      append(&out, tensor.type);
      append<uint64_t>(&out, tensor.offset.value_or(offset));
      offset = aligned(offset + tensor.data.size());
    }
    if (!tensors_.empty()) out.resize(aligned(out.size()));
    for (const Tensor& tensor : tensors_) {
      out.insert(out.end(), tensor.data.begin(), tensor.data.end());
      out.resize(aligned(out.size()));
    }
    return out;
  }

 private:
  uint64_t aligned(uint64_t offset) const { return roundUp(offset, alignment); }

  std::vector<std::pair<std::string, ByteVector>> keys_;
  std::vector<Tensor> tensors_;
};

/// A complete decoder of one layer in about 2 KiB: E 8, 2 heads of 4, 1 KV head, F 16, V 6, with a gpt2 tokenizer.
inline GgufWriter tinyDecoder(const std::string& architecture) {
  GgufWriter file;
  const auto key = [&](const char* suffix) { return architecture + "." + suffix; };
  file.text("general.architecture", architecture).text("general.name", "tiny");
  file.u32(key("block_count"), 1).u32(key("context_length"), 64).u32(key("embedding_length"), 8);
  file.u32(key("feed_forward_length"), 16).u32(key("attention.head_count"), 2);
  file.u32(key("attention.head_count_kv"), 1).f32(key("attention.layer_norm_rms_epsilon"), 1e-5F);
  file.text("tokenizer.ggml.model", "gpt2").text("tokenizer.ggml.pre", "gpt-2");
  file.texts("tokenizer.ggml.tokens", {"a", "b", "c", "ab", "abc", "<|im_end|>"});
  file.i32s("tokenizer.ggml.token_type", {1, 1, 1, 1, 1, 3}).texts("tokenizer.ggml.merges", {"a b", "ab c"});
  file.u32("tokenizer.ggml.eos_token_id", 5);
  file.tensor("token_embd.weight", {8, 6}).tensor("output_norm.weight", {8});
  file.tensor("blk.0.attn_norm.weight", {8}).tensor("blk.0.attn_q.weight", {8, 8});
  file.tensor("blk.0.attn_k.weight", {8, 4}).tensor("blk.0.attn_v.weight", {8, 4});
  file.tensor("blk.0.attn_output.weight", {8, 8}).tensor("blk.0.ffn_norm.weight", {8});
  file.tensor("blk.0.ffn_gate.weight", {8, 16}).tensor("blk.0.ffn_up.weight", {8, 16});
  file.tensor("blk.0.ffn_down.weight", {16, 8});
  return file;
}

inline GgufWriter tinyLlama() { return tinyDecoder("llama"); }

/// With the biases of qwen2.
inline GgufWriter tinyQwen2() {
  GgufWriter file = tinyDecoder("qwen2");
  file.tensor("blk.0.attn_q.bias", {8}).tensor("blk.0.attn_k.bias", {4}).tensor("blk.0.attn_v.bias", {4});
  return file;
}

/// With `layers` layers, the extra norms of gemma3 and a window of 24 rows.
inline GgufWriter tinyGemma3(uint32_t layers = 1) {
  GgufWriter file = tinyDecoder("gemma3");
  const std::vector<GgufWriter::Tensor> first = file.tensors();
  for (uint32_t i = 0; i < layers; ++i) {
    const std::string prefix = "blk." + std::to_string(i) + ".";
    for (const GgufWriter::Tensor& tensor : first) {
      if (i > 0 && tensor.name.starts_with("blk.0.")) file.tensor(prefix + tensor.name.substr(6), tensor.dims);
    }
    file.tensor(prefix + "attn_q_norm.weight", {4}).tensor(prefix + "attn_k_norm.weight", {4});
    file.tensor(prefix + "post_attention_norm.weight", {8}).tensor(prefix + "post_ffw_norm.weight", {8});
  }
  return file.u32("gemma3.block_count", layers).u32("gemma3.attention.sliding_window", 24);
}

}  // namespace firn::import
