// A machine of the npu target: tiles, engines, clocks, memories and what a kernel costs, as a JSON file says them.
// docs/npu.md explains every field with its unit and limits. Not here: formulas (cost.h), time (timeline.h), where the
// files of known machines are (compiler/target/npu/machine_files.h).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace firn::machine {

/// The kinds of queues, in the order in which a body lists its segments.
enum class Engine : uint8_t { kDma, kDpu, kShave };

/// The kernels of SHAVE. A machine file has a cost line for each, and for no other.
inline constexpr std::array<std::string_view, 22> kShaveKernels = {
    "embed",  "rms_norm", "rope",     "expand",      "accumulate",   "group_sums",   "bias",    "add",
    "mul",    "silu_mul", "gelu_mul", "scale",       "softcap",      "cast",         "softmax", "rescale",
    "finish", "clean",    "top_k",    "top_k_merge", "embed_groups", "expand_groups"};

/// One way in which the MACs of a tile stand: rows x channels x depth of them work in one cycle.
struct Grid {
  uint32_t rows = 0;      ///< rows of the output
  uint32_t channels = 0;  ///< columns of the output
  uint32_t depth = 0;     ///< columns of the input that are summed
};

/// Instructions per 32 elements; both kinds are issued side by side, so the larger one counts.
struct KernelCost {
  uint32_t memory = 0;  ///< loads and stores
  uint32_t ops = 0;     ///< arithmetic
};

/// Picojoules.
struct Energy {
  double perMac = 0;
  double perDdrByte = 0;
  double perCmxByte = 0;
  double perShaveElement = 0;
};

/// Where the figures of a section are from; section "" is the whole file.
struct Source {
  std::string section;
  std::string text;
};

/// All members are within the limits of docs/npu.md once parseMachine has given it.
struct Machine {
  std::string name;
  uint32_t tiles = 0;

  uint32_t dpuMhz = 0;
  uint32_t shaveMhz = 0;  ///< also the clock of CMX and DMA

  uint32_t macsPerCycle = 0;  ///< of one tile, activations of 8 bits
  std::vector<Grid> grids;    ///< at least one; each has macsPerCycle MACs
  uint32_t fp16Factor = 0;    ///< cycles with fp16 activations over those with 8 bits
  uint32_t dpuStartCycles = 0;

  uint32_t shavesPerTile = 0;
  uint32_t shaveLanes = 0;  ///< fp16 numbers that one SHAVE treats at once
  uint32_t shaveStartCycles = 0;
  uint32_t shaveEfficiencyPercent = 0;
  std::array<KernelCost, kShaveKernels.size()> kernels{};  ///< in the order of kShaveKernels

  uint64_t cmxBytes = 0;  ///< of one tile
  uint32_t cmxReadBytesPerCycle = 0;

  uint32_t dmaEngines = 0;
  uint32_t dmaBytesPerCycle = 0;  ///< of one engine
  uint32_t dmaDdrLatencyNs = 0;
  uint32_t dmaCmxLatencyCycles = 0;

  uint32_t ddrMegabytesPerSecond = 0;  ///< 10^6 bytes; all engines together
  uint64_t ddrBytes = 0;

  uint32_t barriers = 0;

  uint32_t callStartNs = 0;  ///< from the call of a body to its first task

  std::optional<Energy> energy;
  std::vector<Source> sources;
};

/// A machine file longer than this is refused.
inline constexpr size_t kMostMachineTextBytes = size_t{1} << 20;
/// DMA engines and two queues a tile.
inline constexpr uint32_t kMostQueues = 64;

/// Reads a machine file; `where` is what messages call it. The text may be hostile. invalid_argument, or unsupported
/// for a machine without CMX; the message names the field, what was found and what was expected.
Result<Machine> parseMachine(std::string_view json, std::string_view where);

/// Queues in their order: DMA engines, the DPU of each tile, the SHAVEs of each tile (one queue a tile).
uint32_t queueCount(const Machine& machine);
/// The queue of a DMA engine, or of the DPU or the SHAVEs of a tile; `index` must be one that the machine has.
uint32_t queueOf(const Machine& machine, Engine engine, uint32_t index);

struct QueueOwner {
  Engine engine = Engine::kDma;
  uint32_t index = 0;  ///< of the DMA engine or the tile
};
/// The way back; `queue` is below queueCount.
QueueOwner ownerOf(const Machine& machine, uint32_t queue);

/// "dma 0", "dpu 3", "shave 3".
std::string queueName(const Machine& machine, uint32_t queue);

}  // namespace firn::machine
