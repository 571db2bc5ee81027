// A program as a device executes it: the tables of a blob resolved once, so that running an entry only walks arrays.
// Not here: what a task computes (the devices' task tables), threads, buffers.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "blob/layout.h"
#include "blob/reader.h"
#include "blob/task_op.h"
#include "runtime/buffers.h"

namespace firn::runtime {

/// Where the base address of an operand stands in CallFrame::bases: the spaces, the symbols by kind, then the params of
/// the body in their order.
inline constexpr uint32_t kScratchBase = 0;
inline constexpr uint32_t kWeightsBase = 1;
inline constexpr uint32_t kKvBase = 2;
inline constexpr uint32_t kCmxBase = 3;  ///< npu: the CMX of tile 0, the other tiles behind it
inline constexpr uint32_t kFirstSymbolBase = 4;
inline constexpr uint32_t kFirstParamBase = kFirstSymbolBase + blob::kSymbolKinds;

/// What a task may know of the run besides its operands.
struct CallFrame {
  std::byte* const* bases = nullptr;  ///< of the call being run
  uint32_t valid = 0;                 ///< rows to compute, 1..m
  uint32_t row0 = 0;                  ///< cache row of the first
  uint32_t context = 0;               ///< cache rows [0, context) may be read
  const uint32_t* row0s = nullptr;    ///< batch: cache row of each; else null
  uint32_t rowBases = 0;              ///< batch: the bases of row i, its cache and mask, are bases + i * rowBases
  uint64_t tileBytes = 0;             ///< npu: from the CMX of a tile to that of the next

  /// For ops that touch the cache: part(frame, first) once for each run of rows that share one, `frame` being theirs
  /// and `first` the number of the first of them. All rows share a cache, or in a batch none do.
  template <typename Part>
  void forEachCache(Part&& part) const {
    if (row0s == nullptr) return part(*this, 0U);
    for (uint32_t row = 0; row < valid; ++row) {
      part(CallFrame{.bases = bases + size_t{row} * rowBases, .valid = 1, .row0 = row0s[row], .context = context}, row);
    }
  }
};

/// One operand: its record (dims, strides, type) and where its bytes are found.
struct Operand {
  const blob::OperandRecord* record = nullptr;
  uint32_t base = 0;
  uint64_t offset = 0;  ///< from the base; in CMX the tile included
};

struct Task;
using TaskFunction = void (*)(const Task& task, const CallFrame& frame);

/// One task with everything resolved but the base addresses.
struct Task {
  TaskFunction run = nullptr;
  const void* kernels = nullptr;  ///< the device's kernel table for the instruction set in use
  const Operand* operands = nullptr;
  const uint64_t* attrs = nullptr;
  uint32_t operandCount = 0;
  uint32_t profileRow = 0;

  const blob::OperandRecord& operand(uint32_t index) const { return *operands[index].record; }
  /// Address of operand `index` in this run.
  template <typename T>
  T* at(const CallFrame& frame, uint32_t index) const {
    const Operand& operand = operands[index];
    return reinterpret_cast<T*>(frame.bases[operand.base] + operand.offset);
  }
  /// Rows of operand `index` to compute in this run: the valid ones, at most those the operand has. A task on scratch
  /// alone is verified against its operands and not against the entry: it may have fewer rows.
  uint32_t rows(const CallFrame& frame, uint32_t index) const { return std::min(frame.valid, operand(index).dims[0]); }
  double attrDouble(uint32_t index) const { return std::bit_cast<double>(attrs[index]); }
  uint32_t attrInt(uint32_t index) const { return static_cast<uint32_t>(attrs[index]); }
};

struct TaskRange {
  const Task* begin = nullptr;
  const Task* end = nullptr;
};

/// A call of a body: `bases` is its list of base addresses, or one list behind the other for the rows of a batch.
struct Call {
  const blob::CallRecord* record = nullptr;
  uint32_t firstSegment = 0;
  uint32_t segmentCount = 0;
  std::byte** bases = nullptr;
  uint32_t rowBases = 0;  ///< length of one list
};

/// A symbol of an entry and the memory it is bound to.
struct BoundSymbol {
  const blob::SymbolRecord* record = nullptr;  ///< nullptr: the entry has no such symbol
  BufferId buffer{};
  std::byte* data = nullptr;
};

/// An entry with its binding.
struct Entry {
  const blob::EntryRecord* record = nullptr;
  std::string name;
  std::array<BoundSymbol, blob::kSymbolKinds> symbols{};  ///< by SymbolKind
  bool isBound = false;
  bool isForeign = false;  ///< for a target that the device does not run
  std::vector<Call> calls;
  std::vector<std::byte*> bases;  ///< the lists of all calls

  bool isBatch() const { return record->kind == blob::EntryKind::kBatch; }
  /// Caches it is bound to: one for each row of a batch.
  uint32_t caches() const { return isBatch() ? record->rows : 1; }
  const BoundSymbol& symbol(blob::SymbolKind kind) const { return symbols[static_cast<uint32_t>(kind)]; }
};

/// Room for the bases of all calls. A batch has a list for each of its rows, 1200 bytes for a call of 16 bytes in the
/// file, so that a file could ask for seventy times its size; a model of 128 layers with 64 batch entries takes 10 MB.
inline constexpr uint64_t kMostBaseBytes = 256 << 20;

/// How a device turns tasks into code.
struct TaskTable {
  std::string_view device;                          ///< for messages
  TaskFunction (*find)(blob::TaskOp op) = nullptr;  ///< nullptr result: the device has no such op
  /// What the device needs beyond the rules of the blob format (workspace sizes); may be null.
  Status (*check)(blob::TaskOp op, const Task& task) = nullptr;
  const void* kernels = nullptr;  ///< handed to every task
};

/// A loaded program. The blob must outlive it. One thread at a time, but its tasks may be run by many.
class LoadedProgram {
 public:
  /// Resolves what the entries for `target` need and takes the scratch (npu: and CMX); weights are not touched. A null
  /// `table` makes a program without tasks, for devices that run none, of entries for any target. Errors: unsupported
  /// (an op the device lacks), corrupt (what TaskTable::check finds), resource_exhausted (memory, or more than
  /// kMostBaseBytes for calls).
  static Result<std::unique_ptr<LoadedProgram>> create(const blob::Blob& blob, const TaskTable* table,
                                                       blob::Target target);

  const blob::Blob& blob() const { return *blob_; }
  uint32_t lanes() const { return lanes_; }
  std::span<Entry> entries() { return entries_; }
  std::span<const Entry> entries() const { return entries_; }
  /// "attn_q (cpu.linear_i8)", by Task::profileRow.
  const std::vector<std::string>& profileNames() const { return profileNames_; }

  /// The tasks of `lane` in segment `segment` (an index of the blob's table).
  TaskRange tasks(uint32_t segment, uint32_t lane) const { return ranges_[segmentRanges_[segment] + lane]; }
  /// The task of that index in the blob.
  const Task& task(uint32_t index) const { return tasks_[index]; }
  /// Npu: from the CMX of a tile to that of the next.
  uint64_t tileBytes() const { return tileBytes_; }

  /// Works the addresses of `entry.symbols` into the bases of its calls. Allocates nothing.
  void applyBinding(Entry& entry) const;

 private:
  LoadedProgram() = default;
  Status takeMemory(blob::Target target);
  Status resolveTasks(const TaskTable& table, blob::Target target);
  /// resource_exhausted: the calls of all entries need more than kMostBaseBytes.
  Status checkBases() const;
  void resolveCalls(Entry& entry);
  static uint64_t basesOf(const Entry& entry, std::span<const blob::CallRecord> calls);

  const blob::Blob* blob_ = nullptr;
  uint32_t lanes_ = 1;
  uint64_t tileBytes_ = 0;
  PageBuffer scratch_;
  PageBuffer cmx_;
  std::vector<Operand> operands_;
  std::vector<Task> tasks_;
  std::vector<TaskRange> ranges_;
  std::vector<uint32_t> segmentRanges_;  ///< first range of each segment
  std::vector<Entry> entries_;
  std::vector<std::string> profileNames_;
};

}  // namespace firn::runtime
