// The caches of a fixed number of sessions, in memory that is taken once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "engine/model.h"
#include "engine/step_io.h"

namespace firn::engine {

class SlotPool;

/// One slot of a pool, given back when this dies. Its bytes hold whatever the last owner left. Keeps the pool alive.
class KvSlot {
 public:
  KvSlot() = default;
  KvSlot(KvSlot&& other) noexcept { *this = std::move(other); }
  KvSlot& operator=(KvSlot&& other) noexcept;
  ~KvSlot() { giveBack(); }

  /// [layer][K, V][kvHead][T][headDim].
  std::span<std::byte> cache() const { return cache_; }
  /// u8[T]: 1 for every row that holds a token.
  std::span<uint8_t> mask() const { return mask_; }
  runtime::SymbolBinding cacheBinding() const;
  /// The first `context` values of the mask.
  runtime::SymbolBinding maskBinding(uint32_t context) const;
  const std::shared_ptr<SlotPool>& pool() const { return pool_; }

 private:
  friend class SlotPool;
  void giveBack();

  std::shared_ptr<SlotPool> pool_;
  uint32_t index_ = 0;
  std::span<std::byte> cache_;
  std::span<uint8_t> mask_;
};

/// Slots of one size in one device buffer, with a gap before, between and behind all caches and masks, which nothing
/// ever writes. Used by one thread at a time, that of the model.
class SlotPool : public std::enable_shared_from_this<SlotPool> {
 public:
  static constexpr uint64_t kGapBytes = 4096;

  /// Takes the memory of `slots` slots; pages that no row has touched cost nothing where the system commits lazily.
  /// invalid_argument: no slots; resource_exhausted: the device refuses, or more bytes than there are.
  static Result<std::shared_ptr<SlotPool>> create(std::shared_ptr<Model> model, uint32_t slots);
  ~SlotPool();
  SlotPool(const SlotPool&) = delete;
  SlotPool& operator=(const SlotPool&) = delete;

  /// A free slot. resource_exhausted: all are taken.
  Result<KvSlot> take();

  uint32_t slots() const { return static_cast<uint32_t>(isTaken_.size()); }
  uint32_t freeSlots() const;
  const std::shared_ptr<Model>& model() const { return model_; }
  /// Inputs and outputs, shared by all sessions of the pool.
  StepIo& io() const { return *io_; }
  /// The whole buffer, gaps of at least kGapBytes included: a gap, then [cache, gap, mask, gap] for each slot.
  std::span<std::byte> memory() const { return memory_; }
  /// Byte offsets in it.
  uint64_t cacheOffset(uint32_t slot) const { return firstCache_ + slot * slotBytes_; }
  uint64_t maskOffset(uint32_t slot) const { return cacheOffset(slot) + cacheBytes_ + kGapBytes; }

 private:
  friend class KvSlot;
  explicit SlotPool(std::shared_ptr<Model> model) : model_(std::move(model)) {}

  std::shared_ptr<Model> model_;
  std::unique_ptr<StepIo> io_;
  runtime::BufferId buffer_{};
  bool hasBuffer_ = false;
  std::span<std::byte> memory_;
  uint64_t cacheBytes_ = 0;  ///< rounded up to 64
  uint64_t firstCache_ = 0;  ///< where the first cache begins, behind a gap
  uint64_t slotBytes_ = 0;   ///< from one cache to the next: cache, gap, mask, gap
  std::vector<bool> isTaken_;
};

}  // namespace firn::engine
