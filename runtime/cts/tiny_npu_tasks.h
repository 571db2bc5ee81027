// Tasks of a body for the npu, written down like a plain program: one after the other. Which of them may run at once
// follows from what they touch.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "blob/machine/machine.h"
#include "blob/program.h"

namespace firn::runtime::cts {

using Dims = std::vector<uint32_t>;

/// A row-major view in the CMX of a tile.
blob::OperandRecord cmx(uint32_t tile, DType type, const Dims& dims, uint64_t offset);
/// Columns [first, first + count) of a matrix.
blob::OperandRecord columnsOf(blob::OperandRecord matrix, uint32_t first, uint32_t count);
/// Rows [first, first + count) of a matrix.
blob::OperandRecord rowsOf(blob::OperandRecord matrix, uint32_t first, uint32_t count);
/// Element `index` of the outermost dim.
blob::OperandRecord partOf(blob::OperandRecord parts, uint32_t index);
/// The same bytes, contiguous ones, with other dims.
blob::OperandRecord shaped(const blob::OperandRecord& operand, const Dims& dims);

class NpuTaskList {
 public:
  explicit NpuTaskList(const machine::Machine& machine) : machine_(machine) {}

  using Operands = std::vector<blob::OperandRecord>;
  using Attrs = std::vector<uint64_t>;
  /// A DMA takes the engines in turn.
  void dma(blob::TaskOp op, std::string_view name, const Operands& operands, const Attrs& attrs);
  void copy(std::string_view name, const blob::OperandRecord& src, const blob::OperandRecord& dst, uint64_t tiles = 0) {
    dma(blob::TaskOp::kNpuCopy, name, {src, dst}, {tiles});
  }
  void dpu(uint32_t tile, blob::TaskOp op, std::string_view name, const Operands& operands, const Attrs& attrs = {});
  void shave(uint32_t tile, blob::TaskOp op, std::string_view name, const Operands& operands, const Attrs& attrs = {});

  /// Makes them the body that `program` has just begun. Barrier q counts the tasks of queue q that have ended; queues
  /// run in order, so a task waits for another by its number there.
  void addTo(blob::Program& program) const;

 private:
  /// An operand and whether the task writes it; one for each tile of a multicast.
  struct Touched {
    blob::OperandRecord operand;
    bool isWritten = false;
  };
  struct Item {
    uint32_t queue = 0;
    uint32_t number = 0;  ///< in its queue, from 1 on
    blob::TaskOp op{};
    std::string_view name;
    Operands operands;
    Attrs attrs;
    std::vector<Touched> touched = {};
  };
  static std::vector<Touched> touchedBy(const Item& item);
  static bool conflict(const Item& a, const Item& b);
  void add(uint32_t queue, Item item);
  /// For each other queue the last task before `index` that touches the same bytes, one of both writing.
  std::vector<blob::BarrierUse> waitsOf(size_t index) const;

  const machine::Machine& machine_;
  uint32_t copies_ = 0;
  std::vector<Item> items_;
};

}  // namespace firn::runtime::cts
