// What a conversation costs on the simulated machine of a blob for the npu: a prompt is cut in chunks and steps choose
// their variants as a session does, and the timelines of the entries are added up. Nothing is computed, no weight is
// read and no cache is there, so any length and any model takes a moment. Not here: when tasks of one entry run
// (runtime/devices/npu/entry_timeline.h), what reports say (tools/timeline).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "blob/machine/machine.h"
#include "blob/reader.h"
#include "engine/prefill_plan.h"
#include "engine/variants.h"
#include "engine/weight_extents.h"
#include "runtime/devices/npu/entry_timeline.h"

namespace firn::engine {

/// The cost of some runs, and the least that any program for the same machine would have to take.
struct SimulatedStage {
  runtime::SimulatedRun run;
  double picojoules = 0;  ///< 0 for a machine that does not tell its energies
  /// Multiply-adds that the tokens ask for: padding, masked rows and logits that nobody reads are none.
  uint64_t usefulMacs = 0;
  /// Bytes of DDR that have to be moved: each weight once a stage (of steps: once a step), the rows of the cache that a
  /// token sees, and its own.
  uint64_t leastDdrBytes = 0;
  double macPicoseconds = 0;  ///< usefulMacs at the peak rate of the DPUs for f16 activations
  double ddrPicoseconds = 0;  ///< leastDdrBytes at the bandwidth of DDR
  /// The larger of the two; of steps the sum of what it is for each.
  double limitPicoseconds = 0;
};

struct Simulation {
  uint32_t promptTokens = 0;
  uint32_t decodeTokens = 0;
  SimulatedStage prompt;         ///< with the head that gives the first token
  SimulatedStage decode;         ///< of all steps
  std::vector<uint32_t> chunks;  ///< entries of the prompt in order, the head aside
};

/// Of one blob. Keeps what it has found of bodies, so many lengths cost little more than one. One thread.
class Simulator {
 public:
  /// `blob` must outlive it; messages do not name it. unsupported, naming the entry: a blob with parts for another
  /// target, or whose card does not tell what its layers multiply; resource_exhausted: weights, cache and scratch are
  /// more than the machine's DDR.
  static Result<Simulator> create(const blob::Blob& blob);

  const machine::Machine& machine() const { return machine_; }

  /// Called before each chunk of the prompt, and before each step behind it; false cancels.
  using Progress = std::function<bool(std::string_view stage, uint64_t done, uint64_t total)>;

  /// A prompt into an empty cache, then `decodeTokens` steps, one token each. invalid_argument: no prompt;
  /// out_of_range: a prompt above the blob's limit, more rows than its cache has, or a prompt or an answer
  /// of more than 40 simulated hours. corrupt: tasks that never end.
  /// cancelled: by `progress`.
  Result<Simulation> run(uint32_t promptTokens, uint32_t decodeTokens, const Progress& progress = {});

 private:
  explicit Simulator(const blob::Blob& blob) : blob_(&blob) {}

  Status readModel();
  Status checkFits(uint32_t promptTokens, uint32_t decodeTokens) const;
  Status runEntry(uint32_t entry, SimulatedStage& stage);
  Status needBody(uint32_t body);
  Status simulatePrompt(Simulation& result, const Progress& progress);
  Status simulateDecode(Simulation& result, const Progress& progress);
  /// Multiply-adds of attention, and rows of K and V, for the token at `position`.
  void addToken(uint32_t position, SimulatedStage& stage) const;
  void setLimits(SimulatedStage& stage) const;
  double macPicosecondsOf(uint64_t macs) const;
  double ddrPicosecondsOf(uint64_t bytes) const;

  const blob::Blob* blob_;
  machine::Machine machine_;
  VariantTable variants_;
  WeightExtents weights_{*blob_};
  uint64_t linearMacs_ = 0;  ///< of the layers, for one token
  uint64_t headMacs_ = 0;
  std::vector<uint32_t> windows_;  ///< of each layer; 0: it sees all rows
  std::vector<runtime::BodyTimeline> bodies_;
  std::vector<std::optional<double>> picojoules_;  ///< of one run of a body; nullopt: the body is not known yet
};

}  // namespace firn::engine
