#include "runtime/devices/null/null_device.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/reference/top_k.h"

namespace firn::runtime {
namespace {

class NullExecutor final : public Executor {
 public:
  uint32_t threads() const override { return 1; }

  Status run(const LoadedProgram& program, const Entry& entry, const RunValues& values, TaskClock* /*clock*/) override {
    const uint32_t embed = program.blob().header().embed;
    const uint32_t vocab = program.blob().header().vocab;
    auto* hidden = reinterpret_cast<float*>(entry.symbol(blob::SymbolKind::kHidden).data);
    auto* logits = reinterpret_cast<float*>(entry.symbol(blob::SymbolKind::kLogits).data);
    auto* topLogits = reinterpret_cast<float*>(entry.symbol(blob::SymbolKind::kTopLogits).data);
    auto* topIds = reinterpret_cast<int32_t*>(entry.symbol(blob::SymbolKind::kTopIds).data);
    const auto* positions = reinterpret_cast<const int32_t*>(entry.symbol(blob::SymbolKind::kPositions).data);
    for (uint32_t row = 0; row < values.valid; ++row) {
      float* hiddenRow = hidden == nullptr ? nullptr : hidden + uint64_t{row} * embed;
      const float position = positions != nullptr ? static_cast<float>(positions[row]) : *hiddenRow;
      if (logits != nullptr) {
        writePeak(logits + uint64_t{row} * vocab, vocab, position);
      } else if (hiddenRow != nullptr) {
        std::fill_n(hiddenRow, embed, 0.0F);
        hiddenRow[0] = position;
      }
    }
    if (topIds == nullptr) return Status::ok();
    const uint32_t top = program.blob().header().topTokens;
    reference::topK({.in = {logits, values.valid, vocab, vocab},
                     .values = {topLogits, values.valid, top, top},
                     .ids = {topIds, values.valid, top, top}});
    return Status::ok();
  }

 private:
  static void writePeak(float* logits, uint32_t vocab, float position) {
    std::fill_n(logits, vocab, 0.0F);
    // A head may be given any hidden row; only one that a prefill wrote holds a position.
    if (!(position >= 0.0F && position < 16777216.0F)) return;
    logits[(static_cast<uint32_t>(position) + 1) % vocab] = 1.0F;
  }
};

class NullBackend final : public Backend {
 public:
  // It takes every target; the one named here is what a compiler would aim at.
  DeviceInfo info() const override {
    return {.name = "null", .instructionSet = "", .target = blob::Target::kReference, .maxThreads = 1};
  }

  const TaskTable* taskTable() const override { return nullptr; }

  Result<std::unique_ptr<Executor>> admit(const blob::Blob& blob, const LoadOptions& options) override {
    if (options.threads > blob.ident().lanes) {
      return invalidArgument(blob.path() + ": " + std::to_string(options.threads) +
                             " threads asked for, its program has " + std::to_string(blob.ident().lanes) + " lanes");
    }
    return std::unique_ptr<Executor>(std::make_unique<NullExecutor>());
  }
};

}  // namespace

Result<std::unique_ptr<Backend>> openNullBackend(const DeviceOptions&) {
  return std::unique_ptr<Backend>(std::make_unique<NullBackend>());
}

}  // namespace firn::runtime
