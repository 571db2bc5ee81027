// How linear layers that share their input are spread over tiles and cut into pieces that fit CMX: few candidates,
// costed by the machine's formulas (blob/machine/cost.h). Not here: the tasks (linear_tasks.h). No MLIR.
#pragma once

#include <algorithm>
#include <compare>
#include <cstdint>

#include "base/status.h"
#include "blob/machine/machine.h"

namespace firn::target::npu {

/// How weights come to the DPU.
enum class WeightForm : uint8_t {
  kHalf,    ///< they are f16
  kRaw,     ///< rows of the source format, which SHAVE expands to f16
  kGroups,  ///< planes of codes, scales and mins (kernels/quant/group_split.h): expanded, or multiplied as codes
};

/// y[m, n] = x[m, k] W[n, k]^T.
struct LinearShape {
  int64_t m = 0;
  int64_t n = 0;  ///< of all layers together; of those that are made together, of one
  int64_t k = 0;
  WeightForm form = WeightForm::kRaw;
  uint64_t rowBytes = 0;      ///< of a row of W as it is stored
  int64_t blockElements = 1;  ///< k is cut at multiples of it
  uint32_t codeBits = 0;      ///< of kGroups
  bool hasMins = false;       ///< of kGroups: each group has a min beside its scale
  int64_t groups = 1;         ///< of k, of kGroups
  int64_t width = 1;          ///< layers whose results for the same columns are made together
  bool adds = false;          ///< the result is added to another matrix
  int64_t columnUnit = 16;    ///< results are cut at multiples of it
  bool casts = false;         ///< x is f32 and brought to f16 on SHAVE
  bool norms = false;         ///< x is normed on the way
  bool needsWhole = false;    ///< k cannot be cut

  friend auto operator<=>(const LinearShape&, const LinearShape&) = default;
};

struct LinearTiling {
  bool byRows = false;       ///< tiles have rows of x each, and all of W; else rows of W each, and all of x
  bool isNative = false;     ///< kGroups: codes are multiplied as they are, group by group
  int64_t mBlock = 0;        ///< rows of x that a tile holds at once
  int64_t nChunk = 0;        ///< rows of W, as many results
  int64_t nPiece = 0;        ///< rows of W that are brought in at once, of those of a chunk
  int64_t kChunk = 0;        ///< less than k: results are summed up over pieces of k
  uint64_t picoseconds = 0;  ///< an estimate, for choosing
};

/// Results leave a tile in slices of so many columns at most, where something is added to them: what takes little room.
constexpr int64_t sliceColumns(int64_t rows) {
  constexpr int64_t kFewest = 128;
  constexpr int64_t kElements = 1 << 14;
  return std::max(kFewest, kElements / rows / kFewest * kFewest);
}
/// Rows of x in a unit of work, and of W: those of the DPU's grid.
inline constexpr int64_t kGridUnit = 16;

/// Rows of x that are brought to f16 at once: their f32 form takes little of a tile.
int64_t castRows(const machine::Machine& machine, int64_t rows, int64_t columns);

/// Whether there is room to load what comes next.
enum class Room : uint8_t { kAhead, kLean };

/// The fastest candidate that fits. resource_exhausted, naming the smallest one's bytes and the tile's: none fits.
Result<LinearTiling> chooseTiling(const machine::Machine& machine, const LinearShape& shape, Room room = Room::kAhead);

}  // namespace firn::target::npu
