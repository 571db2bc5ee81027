#include "compiler/target/npu/dependencies.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <utility>

#include "compiler/target/npu/footprint.h"
#include "compiler/target/npu/interval_index.h"

namespace firn::target {
namespace {

/// An access in one memory: that of a tile, of DDR scratch or of a fixed buffer.
struct Record {
  uint32_t task = 0;
  uint32_t memory = 0;
  uint32_t buffer = 0;
  bool isWrite = false;
  uint32_t place = 0;  ///< among the records of its memory, by begin
  Footprint footprint;
  uint64_t left = 0;  ///< at most so many of its bytes were not written since
};

/// The records of all accesses in the order of the program. Memories: DDR scratch, each tile, each fixed buffer.
std::vector<Record> recordsOf(const Plan& plan, std::span<const uint64_t> addresses) {
  constexpr uint32_t kMemoriesBeforeFixed = 1 + 64;
  std::vector<Record> records;
  for (uint32_t task = 0; task < plan.tasks.size(); ++task) {
    for (const PlanAccess& access : plan.tasks[task].accesses) {
      const PlanBuffer& buffer = plan.buffers[access.buffer];
      const uint64_t base = buffer.isFixed ? 0 : addresses[access.buffer];
      Record record;
      record.task = task;
      record.buffer = access.buffer;
      record.isWrite = access.isWrite;
      record.footprint = joinedRows({.begin = base + access.firstRow * access.rowBytes + access.firstByte,
                                     .rows = access.rows,
                                     .stride = access.rowBytes,
                                     .bytes = access.bytes});
      record.left = record.footprint.rows * record.footprint.bytes;
      if (buffer.tiles == 0) {
        record.memory = buffer.isFixed ? kMemoriesBeforeFixed + access.buffer : 0;
        records.push_back(record);
      }
      for (uint64_t rest = buffer.tiles & access.tiles; rest != 0; rest &= rest - 1) {
        record.memory = 1 + static_cast<uint32_t>(std::countr_zero(rest));
        records.push_back(record);
      }
    }
  }
  return records;
}

/// The reads and writes of one memory whose bytes nobody has written since.
struct History {
  IntervalIndex reads;
  IntervalIndex writes;
  std::vector<uint32_t> records;  ///< by place

  void erase(const Record& record) { (record.isWrite ? writes : reads).erase(record.place); }
  void insert(const Record& record) { (record.isWrite ? writes : reads).insert(record.place, record.footprint.end()); }
};

class Finder {
 public:
  explicit Finder(std::vector<Record> records) : records_(std::move(records)) { makeHistories(); }

  Dependencies run(size_t tasks) {
    Dependencies result;
    marks_.assign(tasks, UINT32_MAX);
    size_t next = 0;
    for (uint32_t task = 0; task < tasks; ++task) {
      result.first.push_back(static_cast<uint32_t>(result.tasks.size()));
      candidates_.clear();
      size_t behind = next;
      while (behind < records_.size() && records_[behind].task == task) ++behind;
      visit(next, behind);
      next = behind;
      keepNeeded(task, result);
    }
    result.first.push_back(static_cast<uint32_t>(result.tasks.size()));
    return result;
  }

 private:
  void makeHistories() {
    uint32_t memories = 0;
    for (const Record& record : records_) memories = std::max(memories, record.memory + 1);
    std::vector<std::vector<uint32_t>> sorted(memories);
    for (uint32_t i = 0; i < records_.size(); ++i) sorted[records_[i].memory].push_back(i);
    for (std::vector<uint32_t>& list : sorted) {
      std::sort(list.begin(), list.end(), [&](uint32_t a, uint32_t b) {
        return std::pair(records_[a].footprint.begin, a) < std::pair(records_[b].footprint.begin, b);
      });
      std::vector<uint64_t> begins;
      begins.reserve(list.size());
      for (uint32_t i = 0; i < list.size(); ++i) {
        records_[list[i]].place = i;
        begins.push_back(records_[list[i]].footprint.begin);
      }
      IntervalIndex index(std::move(begins));
      histories_.push_back({index, index, std::move(list)});
    }
  }

  /// The records of one task: it reads before it writes.
  void visit(size_t first, size_t behind) {
    for (size_t i = first; i < behind; ++i) {
      if (!records_[i].isWrite) collect(records_[i]);
    }
    for (size_t i = first; i < behind; ++i) {
      if (!records_[i].isWrite) continue;
      collect(records_[i]);
      overwrite(records_[i]);
      histories_[records_[i].memory].insert(records_[i]);
    }
    for (size_t i = first; i < behind; ++i) {
      if (!records_[i].isWrite) histories_[records_[i].memory].insert(records_[i]);
    }
  }

  /// Fills met_ with the earlier records that conflict with `record`, and adds their tasks to the candidates.
  void collect(const Record& record) {
    const History& history = histories_[record.memory];
    met_.clear();
    const auto meet = [&](uint32_t place) {
      const Record& other = records_[history.records[place]];
      // A read sees only bytes that were written for its own buffer. The writer of those has already waited for whoever
      // used their place before.
      if (!record.isWrite && other.buffer != record.buffer) return;
      if (overlap(record.footprint, other.footprint)) met_.push_back(history.records[place]);
    };
    history.writes.forEach(record.footprint.begin, record.footprint.end(), meet);
    if (record.isWrite) history.reads.forEach(record.footprint.begin, record.footprint.end(), meet);
    for (const uint32_t other : met_) {
      if (records_[other].task != record.task) candidates_.push_back(records_[other].task);
    }
  }

  /// Takes the bytes of `record` from what it has met. The present writes hold all bytes that were ever written. So
  /// where none of those met came after some other record, no byte is written for the second time since that, and is
  /// counted.
  void overwrite(const Record& record) {
    History& history = histories_[record.memory];
    uint32_t lastWrite = 0;  // task 0 meets nothing but itself
    for (const uint32_t index : met_) {
      if (records_[index].isWrite) lastWrite = std::max(lastWrite, records_[index].task);
    }
    const bool meetsItself = lastWrite == record.task;  // only a task's own writes are that late
    for (const uint32_t index : met_) {
      Record& other = records_[index];
      const uint64_t common = commonBytes(record.footprint, other.footprint).value_or(0);
      if (other.task >= lastWrite && !meetsItself) other.left -= std::min(common, other.left);
      const Footprint rest = remainder(other.footprint, record.footprint);
      other.left = std::min(other.left, rest.rows * rest.bytes);
      const bool endsEarlier = rest.end() != other.footprint.end();
      other.footprint = rest;
      if (other.left == 0) {
        history.erase(other);
      } else if (endsEarlier) {
        history.insert(other);
      }
    }
  }

  /// Leaves out candidates that a later candidate follows, as far as a few looks per candidate show it.
  void keepNeeded(uint32_t task, Dependencies& result) {
    constexpr size_t kMostLooks = 32;
    std::sort(candidates_.begin(), candidates_.end(), std::greater<>());
    candidates_.erase(std::unique(candidates_.begin(), candidates_.end()), candidates_.end());
    for (const uint32_t candidate : candidates_) {
      if (marks_[candidate] != task) result.tasks.push_back(candidate);
      const std::span<const uint32_t> implied = {result.tasks.data() + result.first[candidate],
                                                 result.tasks.data() + result.first[candidate + 1]};
      for (const uint32_t other : implied.first(std::min(implied.size(), kMostLooks))) marks_[other] = task;
    }
  }

  std::vector<Record> records_;
  std::vector<History> histories_;
  std::vector<uint32_t> met_;
  std::vector<uint32_t> candidates_;
  std::vector<uint32_t> marks_;  ///< the last task to which each task is implied
};

}  // namespace

Dependencies dependenciesOf(const Plan& plan, std::span<const uint64_t> addresses) {
  return Finder(recordsOf(plan, addresses)).run(plan.tasks.size());
}

}  // namespace firn::target
