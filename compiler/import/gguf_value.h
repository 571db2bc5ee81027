// A metadata value of a GGUF file, as a view of the file's bytes. Values are verified when the file is parsed; nothing
// here allocates.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <optional>
#include <span>
#include <string_view>

namespace firn::import {

/// Value types of the GGUF specification, by their numbers.
enum class GgufType : uint32_t {
  kU8 = 0,
  kI8 = 1,
  kU16 = 2,
  kI16 = 3,
  kU32 = 4,
  kI32 = 5,
  kF32 = 6,
  kBool = 7,
  kString = 8,
  kArray = 9,
  kU64 = 10,
  kI64 = 11,
  kF64 = 12,
};
inline constexpr uint32_t kGgufTypes = 13;

/// "u32", "string", ...; for messages.
std::string_view ggufTypeName(GgufType type);
/// Bytes of one value of a fixed-size type; 0 for strings and arrays.
uint32_t ggufTypeBytes(GgufType type);

/// The little-endian T at the start of `bytes`, which must hold it; any alignment.
template <typename T>
T loadLittle(const std::byte* bytes) {
  static_assert(std::endian::native == std::endian::little);
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

/// An array of strings, walked in order: each is a u64 length and that many bytes. Copying a view is free; a view lives
/// as long as its file.
class GgufStrings {
 public:
  class Iterator {
   public:
    // NOLINTBEGIN(readability-identifier-naming): the names are those of std::iterator_traits.
    using iterator_category = std::forward_iterator_tag;
    using value_type = std::string_view;
    using difference_type = std::ptrdiff_t;
    using pointer = const std::string_view*;
    using reference = std::string_view;
    // NOLINTEND(readability-identifier-naming)

    Iterator() = default;
    explicit Iterator(const std::byte* at) : at_(at) {}
    std::string_view operator*() const {
      return {reinterpret_cast<const char*>(at_) + 8, static_cast<size_t>(loadLittle<uint64_t>(at_))};
    }
    Iterator& operator++() {
      at_ += 8 + loadLittle<uint64_t>(at_);
      return *this;
    }
    Iterator operator++(int) {
      Iterator old = *this;
      ++*this;
      return old;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const std::byte* at_ = nullptr;
  };

  GgufStrings() = default;
  GgufStrings(std::span<const std::byte> payload, uint64_t count) : payload_(payload), count_(count) {}

  uint64_t size() const { return count_; }
  Iterator begin() const { return Iterator(payload_.data()); }
  Iterator end() const { return Iterator(payload_.data() + payload_.size()); }

 private:
  std::span<const std::byte> payload_;
  uint64_t count_ = 0;
};

/// One verified value. Scalars and strings have count 1; an array's elements have a fixed-size type or are strings.
struct GgufValue {
  GgufType type = GgufType::kU8;
  GgufType element = GgufType::kU8;    ///< of an array; else equal to `type`
  uint64_t count = 1;                  ///< elements of an array
  std::span<const std::byte> payload;  ///< a scalar's bytes, a string's characters, an array's elements

  bool isArray() const { return type == GgufType::kArray; }
  /// The integer at `index` of an array (0 of a scalar), of any width and sign; nullopt when the elements are no
  /// integers, or it is negative.
  std::optional<uint64_t> unsignedAt(uint64_t index) const;
  /// The integer of either sign; nullopt when the elements are no integers or it does not fit.
  std::optional<int64_t> signedAt(uint64_t index) const;
  /// The f32 or f64 at `index`; nullopt for other types.
  std::optional<double> floatAt(uint64_t index) const;
  std::optional<bool> boolean() const;
  std::optional<std::string_view> string() const;
  std::optional<GgufStrings> strings() const;
};

}  // namespace firn::import
