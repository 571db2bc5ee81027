#include "engine/step_io.h"

#include <algorithm>

#include "base/align.h"
#include "base/concat.h"

namespace firn::engine {
namespace {

/// Bytes of each symbol in the largest entry that has it.
std::array<uint64_t, blob::kSymbolKinds> largestSymbols(const Model& model) {
  const ModelLimits& limits = model.limits();
  const VariantTable& variants = model.variants();
  const uint64_t chunkRows = variants.chunks().empty() ? 1 : variants.chunks().back();
  const uint64_t batchRows = variants.batches().empty() ? 1 : variants.batches().back();
  const uint64_t headRows = variants.heads().back().rows;
  std::array<uint64_t, blob::kSymbolKinds> bytes{};
  const auto at = [&](blob::SymbolKind kind) -> uint64_t& { return bytes[static_cast<size_t>(kind)]; };
  using blob::SymbolKind;
  at(SymbolKind::kIds) = std::max(chunkRows, batchRows) * sizeof(int32_t);
  at(SymbolKind::kPositions) = std::max(chunkRows, batchRows) * sizeof(int32_t);
  at(SymbolKind::kValid) = sizeof(int32_t);
  at(SymbolKind::kRow0) = batchRows * sizeof(int32_t);
  at(SymbolKind::kMask) = variants.batches().empty() ? 0 : batchRows * limits.kvRows;
  // A head reads whole rows of its size: room for a last block that starts at the last row.
  at(SymbolKind::kHidden) = (std::max(chunkRows, batchRows) + headRows) * limits.embed * sizeof(float);
  at(SymbolKind::kLogits) = std::max(headRows, batchRows) * limits.vocab * sizeof(float);
  at(SymbolKind::kTopLogits) = std::max(headRows, batchRows) * limits.topTokens * sizeof(float);
  at(SymbolKind::kTopIds) = std::max(headRows, batchRows) * limits.topTokens * sizeof(int32_t);
  return bytes;
}

}  // namespace

Result<std::unique_ptr<StepIo>> StepIo::create(std::shared_ptr<Model> model) {
  std::unique_ptr<StepIo> io(new StepIo(std::move(model)));
  const auto bytes = largestSymbols(*io->model_);
  uint64_t total = 0;
  for (size_t kind = 0; kind < bytes.size(); ++kind) {
    io->offset_[kind] = total;
    total += roundUp(bytes[kind], blob::kTensorAlignment);
  }
  Devices& devices = io->model_->devices();
  const auto buffer = devices.alloc(total);
  if (!buffer) {
    return buffer.status().withPlace(
        concat("inputs and outputs of ", total, " bytes (--prefill-chunks and --batch of the compile)"));
  }
  io->buffer_ = *buffer;
  io->hasBuffer_ = true;
  FIRN_ASSIGN_OR_RETURN(io->bytes_, devices.map(io->buffer_));
  return io;
}

void StepIo::bindLogits(uint32_t rows, runtime::Bindings& bindings) {
  logitRows_ = rows;
  using blob::SymbolKind;
  const uint64_t listBytes = uint64_t{rows} * model_->limits().topTokens * sizeof(float);
  bindings[engine::at(SymbolKind::kLogits)] = binding(SymbolKind::kLogits, logits(rows).size_bytes());
  bindings[engine::at(SymbolKind::kTopLogits)] = binding(SymbolKind::kTopLogits, listBytes);
  bindings[engine::at(SymbolKind::kTopIds)] = binding(SymbolKind::kTopIds, listBytes);
}

TopList StepIo::top(uint32_t row) const {
  const size_t count = model_->limits().topTokens;
  return {.logits = {at<float>(blob::SymbolKind::kTopLogits) + row * count, count},
          .ids = {at<int32_t>(blob::SymbolKind::kTopIds) + row * count, count}};
}

StepIo::~StepIo() {
  if (hasBuffer_) model_->devices().free(buffer_);
}

}  // namespace firn::engine
