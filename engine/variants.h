// The static programs of one blob as the engine sees them: which chunk sizes and context sizes exist, and what each
// costs. Not here: running them (session.h) or covering a prompt with them (prefill_plan.h).
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/status.h"
#include "blob/reader.h"

namespace firn::engine {

/// The sizes a run may use, in tokens and rows; an empty list means all that the blob holds.
struct Ladders {
  std::vector<uint32_t> prefillChunks;
  std::vector<uint32_t> contexts;
};

/// One entry of the blob. Costs are the compiler's prediction in picoseconds.
struct Variant {
  uint32_t entry = 0;    ///< index into the blob's entries, of its first part
  uint32_t rows = 0;     ///< tokens it takes: chunk size, 1 for generate, rows of a head or batch
  uint32_t context = 0;  ///< cache rows it may read; 0 for a head
  uint64_t cost = 0;
  uint64_t weightBytes = 0;  ///< that its tasks name, each lane's part once per call; rows of the embedding and
                             ///< of rope tables aside
};

/// All variants of a blob, sorted by size. Immutable; threads may share it.
class VariantTable {
 public:
  /// Takes the entries that `ladders` allows. invalid_argument when a named size is not in the blob, corrupt when the
  /// blob lacks what every program needs (a generate entry for all T rows, head.1, a batch of each size for all T
  /// rows).
  static Result<VariantTable> create(const blob::Blob& blob, const Ladders& ladders);

  /// Chunk sizes, ascending; generate is not among them.
  const std::vector<uint32_t>& chunks() const { return chunks_; }
  /// Generate contexts, ascending; the last is T.
  const std::vector<Variant>& generates() const { return generates_; }
  /// Batch sizes, ascending; generate, which is that of 1, is not among them. Empty when the blob has none.
  const std::vector<uint32_t>& batches() const { return batches_; }
  /// Head sizes, ascending; the first is 1.
  const std::vector<Variant>& heads() const { return heads_; }

  /// The smallest generate variant that reads at least `rows` rows; nullptr when none does. Each O(log).
  const Variant* generateFor(uint32_t rows) const;
  /// The variant of chunk size `chunk` with the smallest context of at least `rows` rows; nullptr when none does. A
  /// chunk lies inside its context: at cache row row0 it needs row0 + chunk rows, however few of its tokens are valid.
  const Variant* prefillFor(uint32_t chunk, uint32_t rows) const;
  /// The smallest batch of at least `sessions` rows with the smallest context of at least `rows` cache rows. nullptr
  /// only when one of them is more than there are, since every batch size has an entry for all T rows.
  const Variant* batchFor(uint32_t sessions, uint32_t rows) const;
  /// The smallest head of at least `rows` rows, or else the largest one.
  const Variant& headFor(uint32_t rows) const;
  /// True when prefill entries run a layer on another target than generate entries do: a prompt then belongs to them.
  bool hasPromptTarget() const { return hasPromptTarget_; }

 private:
  std::vector<uint32_t> chunks_;
  std::vector<Variant> prefills_;  ///< by chunk, then context
  std::vector<Variant> generates_;
  std::vector<uint32_t> batches_;
  std::vector<Variant> batchSteps_;  ///< by rows, then context
  std::vector<Variant> heads_;
  bool hasPromptTarget_ = false;
};

}  // namespace firn::engine
