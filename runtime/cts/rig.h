// What every conformance test works with: a device, a tiny program on it, and buffers with canaries around everything.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "blob/reader.h"
#include "runtime/cts/tiny_model.h"
#include "runtime/device.h"

namespace firn::runtime::cts {

/// A device under test, and the programs it gets.
struct DeviceCase {
  std::string name;  ///< of the test case
  std::string device;
  DeviceOptions options;
  TinyOptions program;

  /// A device of fixed size computes all rows of a chunk, and writes them to the cache.
  bool writesPadding() const { return device == "npu"; }
};

/// How test messages name a case.
inline std::ostream& operator<<(std::ostream& out, const DeviceCase& testCase) { return out << testCase.name; }

/// Tokens of one submission: rows row0 .. row0 + ids.size() - 1.
struct Tokens {
  std::vector<int32_t> ids;
  uint32_t row0 = 0;
};

/// One row of a batch: a token for cache row `row0` of slot `slot`.
struct BatchRow {
  int32_t id = 0;
  uint32_t row0 = 0;
  uint32_t slot = 0;
};

/// Caches of a rig, each in memory of its own between canaries.
inline constexpr uint32_t kSlots = 9;

/// `count` ids of the tiny vocabulary; the same for the same `first`.
std::vector<int32_t> someIds(uint32_t count, uint32_t first = 0);

/// Heads of one cache, counted [layer][K, V][kvHead].
inline constexpr uint32_t kCacheHeads = kLayers * 2 * kKvHeads;

inline constexpr std::byte kCanary{0xA5};

class Rig {
 public:
  /// Opens, loads, allocates. Any failure is a test failure, and gives nullptr.
  static std::unique_ptr<Rig> open(const DeviceCase& testCase, const LoadOptions& options = {});

  Device& device() { return *device_; }
  const blob::Blob& blob() const { return *blob_; }
  ProgramId program() const { return program_; }
  /// Index of the entry of that name; the test fails when there is none.
  uint32_t entry(std::string_view name) const;

  /// Bindings of all symbols of the entry, to this rig's buffers: the cache of row i of a batch is slot i, that of
  /// other entries the one of useSlot.
  Bindings bindings(uint32_t entry) const;
  /// The slot that entries with one cache are bound to from now on; 0 at first.
  void useSlot(uint32_t slot) { slot_ = slot; }
  /// Writes ids, positions, valid, row0 and mask.
  void setInputs(const Tokens& tokens);
  /// The value of a scalar or array input, for tests that spoil it.
  std::span<int32_t> ints(blob::SymbolKind kind);

  /// bind, submit, wait of an entry with the inputs as they are.
  Status run(std::string_view entry);
  /// setInputs, then run.
  Status run(std::string_view entry, const Tokens& tokens);
  /// Writes the inputs of a batch entry of `entryRows` rows and context `context`: those of `rows`, then padding.
  void setBatch(const std::vector<BatchRow>& rows, uint32_t entryRows, uint32_t context);
  /// setBatch, then bind (of valid rows only), submit, wait. The entry is batch.<entryRows>.<context>.
  Status runBatch(const std::vector<BatchRow>& rows, uint32_t entryRows, uint32_t context);
  std::span<std::byte> mask() { return symbol(blob::SymbolKind::kMask); }
  /// Appends all tokens by generate.128, one at a time.
  Status generateAll(const Tokens& tokens);

  std::span<float> logits(uint32_t rows);
  std::span<float> topLogits(uint32_t rows);
  std::span<int32_t> topIds(uint32_t rows);
  std::span<float> hidden(uint32_t rows);
  /// The KV cache of a slot.
  std::span<std::byte> cache(uint32_t slot = 0);
  /// The bytes of a row of one head of a slot, `head` counting [layer][K, V][kvHead]; and of its scale, empty where the
  /// type has none.
  std::span<std::byte> cacheRow(uint32_t slot, uint32_t head, uint32_t row);
  std::span<std::byte> cacheScale(uint32_t slot, uint32_t head, uint32_t row);
  /// True when every byte of row `row` of a slot, in all heads, is a canary, and its scales are.
  bool isRowIntact(uint32_t slot, uint32_t row);
  /// Makes every element of a slot from row `firstRow` on read as `value`, NaN or infinite.
  void poisonCache(uint32_t slot, uint32_t firstRow, float value);
  /// True when nothing but the symbols and slots themselves was written since open.
  bool marginsIntact();

 private:
  Rig() = default;
  Status start(const DeviceCase& testCase, const LoadOptions& options);
  std::span<std::byte> symbol(blob::SymbolKind kind);
  uint64_t slotOffset(uint32_t slot) const;

  std::unique_ptr<blob::Blob> blob_;
  std::unique_ptr<Device> device_;
  ProgramId program_{};
  BufferId kvBuffer_{};
  BufferId ioBuffer_{};
  std::span<std::byte> kv_;
  std::span<std::byte> io_;
  uint32_t slot_ = 0;
};

/// A copy of float values, for comparing bits.
std::vector<uint32_t> bitsOf(std::span<const float> values);

}  // namespace firn::runtime::cts
