// Memory for what the entries of a model read and write besides the cache: ids, positions, hidden rows, logits.
// Not here: caches and masks of sessions (slot_pool.h).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/status.h"
#include "engine/best_tokens.h"
#include "engine/model.h"

namespace firn::engine {

/// Where a symbol stands in runtime::Bindings.
constexpr size_t at(blob::SymbolKind kind) { return static_cast<size_t>(kind); }

/// One buffer with room for every entry of the model. Whoever runs an entry uses it from then on: one at a time.
class StepIo {
 public:
  /// resource_exhausted when the device refuses the memory.
  static Result<std::unique_ptr<StepIo>> create(std::shared_ptr<Model> model);
  ~StepIo();
  StepIo(const StepIo&) = delete;
  StepIo& operator=(const StepIo&) = delete;

  /// The elements of a symbol. The mask is that of a batch, u8[rows, context]; a lone session has its own.
  template <typename T>
  T* at(blob::SymbolKind kind) const {
    return reinterpret_cast<T*>(bytes_.data() + offset_[static_cast<size_t>(kind)]);
  }
  /// `bytes` of a symbol, `skipBytes` behind its start.
  runtime::SymbolBinding binding(blob::SymbolKind kind, uint64_t bytes, uint64_t skipBytes = 0) const {
    return {buffer_, offset_[static_cast<size_t>(kind)] + skipBytes, bytes};
  }
  /// f32[rows, vocab].
  std::span<const float> logits(uint32_t rows = 1) const {
    return {at<float>(blob::SymbolKind::kLogits), uint64_t{rows} * model_->limits().vocab};
  }
  /// Binds the logits of so many rows, and the lists of the best where the model has them.
  void bindLogits(uint32_t rows, runtime::Bindings& bindings);
  /// Rows of the last bindLogits; 0: there was none.
  uint32_t logitRows() const { return logitRows_; }
  /// Of a row below logitRows(); empty where the model has none.
  TopList top(uint32_t row) const;

 private:
  explicit StepIo(std::shared_ptr<Model> model) : model_(std::move(model)) {}

  std::shared_ptr<Model> model_;
  runtime::BufferId buffer_{};
  bool hasBuffer_ = false;
  uint32_t logitRows_ = 0;
  std::span<std::byte> bytes_;
  std::array<uint64_t, blob::kSymbolKinds> offset_{};
};

}  // namespace firn::engine
