#include "engine/slot_pool.h"

#include <algorithm>

#include "base/align.h"
#include "base/concat.h"
#include "base/dtype.h"

namespace firn::engine {
namespace {

constexpr uint64_t kPageBytes = 4096;
constexpr uint64_t kHugePageBytes = 2 << 20;
constexpr uint64_t kMostBytes = 1ULL << 56;

}  // namespace

KvSlot& KvSlot::operator=(KvSlot&& other) noexcept {
  if (this == &other) return *this;
  giveBack();
  pool_ = std::move(other.pool_);
  index_ = other.index_;
  cache_ = other.cache_;
  mask_ = other.mask_;
  other.pool_ = nullptr;
  return *this;
}

void KvSlot::giveBack() {
  if (pool_ != nullptr) pool_->isTaken_[index_] = false;
  pool_ = nullptr;
}

runtime::SymbolBinding KvSlot::cacheBinding() const {
  return {pool_->buffer_, pool_->cacheOffset(index_), cache_.size()};
}

runtime::SymbolBinding KvSlot::maskBinding(uint32_t context) const {
  return {pool_->buffer_, pool_->maskOffset(index_), context};
}

Result<std::shared_ptr<SlotPool>> SlotPool::create(std::shared_ptr<Model> model, uint32_t slots) {
  if (slots == 0) return invalidArgument("a pool needs at least one slot");
  std::shared_ptr<SlotPool> pool(new SlotPool(std::move(model)));
  const blob::ProgramHeader& header = pool->model_->blob().header();
  const auto tooMuch = [&] {
    return resourceExhausted(concat(slots, " caches of ", header.kvBytes, " bytes each are more than any machine has"));
  };
  if (header.kvBytes > kMostBytes) return tooMuch();  // and what is rounded below stays within 64 bits
  pool->cacheBytes_ = roundUp(header.kvBytes, blob::kTensorAlignment);
  // Caches begin with a page, so that what a session tells the system about its pages is about them alone; those that
  // huge pages pay for begin with one of those.
  pool->firstCache_ = pool->cacheBytes_ < kHugePageBytes ? kPageBytes : kHugePageBytes;
  pool->slotBytes_ =
      roundUp(pool->cacheBytes_ + roundUp(header.kvRows, blob::kTensorAlignment) + 2 * kGapBytes, pool->firstCache_);
  uint64_t total = 0;
  if (__builtin_mul_overflow(pool->slotBytes_, uint64_t{slots}, &total) ||
      __builtin_add_overflow(total, pool->firstCache_, &total)) {
    return tooMuch();
  }
  Devices& devices = pool->model_->devices();
  const auto buffer = devices.alloc(total);
  if (!buffer) {
    return buffer.status().withPlace(concat("the KV cache of ", slots, slots == 1 ? " session of " : " sessions of ",
                                            header.kvRows, " rows of ", dtypeInfo(header.kvType)->name,
                                            " (--max-prompt-len, --min-response-len and --kv-type of the compile)"));
  }
  pool->buffer_ = *buffer;
  pool->hasBuffer_ = true;
  FIRN_ASSIGN_OR_RETURN(const std::span<std::byte> memory, devices.map(pool->buffer_));
  pool->memory_ = memory.first(total);
  FIRN_ASSIGN_OR_RETURN(pool->io_, StepIo::create(pool->model_));
  pool->isTaken_.assign(slots, false);
  return pool;
}

SlotPool::~SlotPool() {
  if (hasBuffer_) model_->devices().free(buffer_);
}

Result<KvSlot> SlotPool::take() {
  const auto found = std::ranges::find(isTaken_, false);
  if (found == isTaken_.end()) return resourceExhausted(concat("all ", slots(), " slots of the cache are taken"));
  *found = true;
  KvSlot slot;
  slot.pool_ = shared_from_this();
  slot.index_ = static_cast<uint32_t>(found - isTaken_.begin());
  slot.cache_ = memory_.subspan(cacheOffset(slot.index_), model_->blob().header().kvBytes);
  slot.mask_ = {reinterpret_cast<uint8_t*>(memory_.data() + maskOffset(slot.index_)), model_->limits().kvRows};
  return slot;
}

uint32_t SlotPool::freeSlots() const { return static_cast<uint32_t>(std::ranges::count(isTaken_, false)); }

}  // namespace firn::engine
