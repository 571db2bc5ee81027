#include <algorithm>
#include <array>
#include <optional>
#include <random>
#include <utility>

#include "base/concat.h"
#include "compiler/target/npu/plans_for_test.h"

namespace firn::target {
namespace {

using machine::Engine;

/// A buffer of rows x rowBytes, and the rectangles that are still to be written.
struct Sheet {
  uint32_t buffer = 0;
  uint64_t rows = 1;
  uint64_t rowBytes = 64;
  std::vector<PlanAccess> unwritten;
};

class Maker {
 public:
  Maker(const machine::Machine& machine, const RandomShape& shape)
      : machine_(machine), shape_(shape), random_(shape.seed) {
    for (uint32_t i = 0; i < 2; ++i) {
      plan_.buffers.push_back({concat("fixed ", i), 1024, 0, true});
      readable_.push_back({.buffer = i, .rows = 16, .rowBytes = 64, .unwritten = {}});
    }
  }

  Plan make() && {
    while (plan_.tasks.size() < shape_.tasks) addTask();
    return std::move(plan_);
  }

 private:
  uint64_t below(uint64_t limit) { return random_() % limit; }

  void addTask() {
    PlanTask task;
    task.name = concat("t", plan_.tasks.size());
    task.engine = std::array{Engine::kDma, Engine::kDma, Engine::kDpu, Engine::kShave}[below(4)];
    task.tile = static_cast<uint32_t>(below(machine_.tiles));
    const uint64_t bytes = 64 * (1 + below(64));
    task.work = task.engine == Engine::kDma ? machine::dmaWork(machine_, bytes, below(2) == 0)
                                            : machine::Work{1000 * below(2000), 0, 0};
    if (task.engine != Engine::kDma) task.tile = static_cast<uint32_t>(below(machine_.tiles));
    for (uint64_t i = below(4); i > 0; --i) addRead(task);
    addWrite(task);
    plan_.tasks.push_back(std::move(task));
    while (readable_.size() > shape_.liveBuffers)
      readable_.erase(readable_.begin() + static_cast<int64_t>(below(readable_.size())));
  }

  /// The tiles of a buffer that an engine sees; nothing if it does not see the buffer.
  std::optional<uint64_t> seenTiles(const PlanTask& task, uint32_t buffer) const {
    const uint64_t tiles = plan_.buffers[buffer].tiles;
    if (task.engine == Engine::kDma) return tiles;
    const uint64_t own = tiles >> task.tile & 1;
    return own == 0 ? std::nullopt : std::optional(own << task.tile);
  }

  PlanAccess part(const Sheet& sheet, uint64_t tiles) {
    PlanAccess access{.buffer = sheet.buffer, .tiles = tiles};
    if (shape_.hasMixedStrides && below(4) == 0) {  // any stretch
      access.firstByte = below(sheet.rows * sheet.rowBytes);
      access.bytes = 1 + below(sheet.rows * sheet.rowBytes - access.firstByte);
      return access;
    }
    access.rowBytes = sheet.rowBytes;
    if (shape_.hasMixedStrides && sheet.rows % 2 == 0 && below(4) == 0) access.rowBytes *= 2;
    const uint64_t rows = sheet.rows * sheet.rowBytes / access.rowBytes;
    access.firstRow = below(rows);
    access.rows = 1 + below(rows - access.firstRow);
    if (below(2) == 0) access.firstByte = below(access.rowBytes);
    access.bytes = 1 + below(access.rowBytes - access.firstByte);
    return access;
  }

  void addRead(PlanTask& task) {
    if (readable_.empty()) return;
    const Sheet& sheet = readable_[below(readable_.size())];
    const auto tiles = seenTiles(task, sheet.buffer);
    if (!tiles) return;
    // A DMA task reads one copy.
    task.accesses.push_back(part(sheet, *tiles & (0 - *tiles)));
  }

  void addWrite(PlanTask& task) {
    const uint64_t kind = below(4);
    if (kind == 0 && !readable_.empty()) {  // a change in place, or a part written anew
      const Sheet& sheet = readable_[below(readable_.size())];
      if (const auto tiles = seenTiles(task, sheet.buffer)) {
        PlanAccess access = part(sheet, *tiles);
        if (below(2) == 0) task.accesses.push_back(access);
        access.isWrite = true;
        task.accesses.push_back(access);
        return;
      }
    }
    for (size_t i = 0; i < growing_.size() && kind <= 2; ++i) {
      const auto tiles = seenTiles(task, growing_[i].buffer);
      if (tiles && *tiles == plan_.buffers[growing_[i].buffer].tiles) return writeNext(task, i);
    }
    addSheet(task);
    writeNext(task, growing_.size() - 1);
  }

  void writeNext(PlanTask& task, size_t index) {
    Sheet& sheet = growing_[index];
    task.accesses.push_back(sheet.unwritten.back());
    sheet.unwritten.pop_back();
    if (!sheet.unwritten.empty()) return;
    readable_.push_back(std::move(sheet));
    growing_.erase(growing_.begin() + static_cast<int64_t>(index));
  }

  /// A buffer that `task` can write, cut by rows or by columns.
  void addSheet(const PlanTask& task) {
    const uint64_t all = (uint64_t{1} << machine_.tiles) - 1;
    uint64_t tiles = uint64_t{1} << task.tile;
    if (task.engine == Engine::kDma && below(3) == 0) tiles = all;
    if (task.engine == Engine::kDma && below(3) == 0) tiles = 0;
    Sheet sheet{.buffer = static_cast<uint32_t>(plan_.buffers.size()),
                .rows = 1 + below(8),
                .rowBytes = 16 * (1 + below(8)),
                .unwritten = {}};
    plan_.buffers.push_back({concat("b", sheet.buffer), sheet.rows * sheet.rowBytes, tiles, false});
    PlanAccess access{.buffer = sheet.buffer,
                      .isWrite = true,
                      .tiles = tiles,
                      .rows = sheet.rows,
                      .rowBytes = sheet.rowBytes,
                      .bytes = sheet.rowBytes};
    const uint64_t cut = below(3);
    if (cut == 1 && sheet.rows > 1) {
      PlanAccess below = access;
      below.firstRow = access.rows = sheet.rows / 2;
      below.rows = sheet.rows - below.firstRow;
      sheet.unwritten.push_back(below);
    } else if (cut == 2) {
      PlanAccess right = access;
      right.firstByte = access.bytes = sheet.rowBytes / 2;
      right.bytes = sheet.rowBytes - right.firstByte;
      sheet.unwritten.push_back(right);
    }
    sheet.unwritten.push_back(access);
    growing_.push_back(std::move(sheet));
  }

  const machine::Machine& machine_;
  RandomShape shape_;
  std::mt19937 random_;
  Plan plan_;
  std::vector<Sheet> readable_;
  std::vector<Sheet> growing_;
};

}  // namespace

Plan randomPlan(const machine::Machine& machine, const RandomShape& shape) { return Maker(machine, shape).make(); }

}  // namespace firn::target
