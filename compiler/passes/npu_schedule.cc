#include "compiler/passes/npu_schedule.h"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "blob/npu_task_cost.h"
#include "blob/npu_task_rules.h"
#include "compiler/target/npu/program_check.h"
#include "compiler/target/npu/schedule.h"
#include "compiler/target/npu/schedule_program.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/Builders.h"

namespace firn::passes {
namespace {

using target::PlanAccess;
using target::PlanBuffer;

uint64_t elementBytes(task::OperandAttr operand) { return dtypeInfo(operand.getDtype())->blockBytes; }

/// The record of an operand as far as costs go: type, dims and space.
blob::OperandRecord recordOf(task::OperandAttr operand) {
  blob::OperandRecord record{};
  record.space = operand.getSpace();
  record.dtype = operand.getDtype();
  record.rank = static_cast<uint8_t>(operand.getDims().size());
  record.dims.fill(1);
  for (size_t i = 0; i < record.rank; ++i) record.dims[i] = static_cast<uint32_t>(operand.getDims()[i]);
  return record;
}

/// Which bytes of its buffer an operand spans: rows of one distance where its dims say so, else all from first to last.
void setRectangle(task::OperandAttr operand, uint64_t bufferBytes, PlanAccess& access) {
  llvm::SmallVector<int64_t> dims(operand.getDims());
  llvm::SmallVector<int64_t> strides(operand.getStrides());
  for (size_t i = dims.size(); i-- > 1;) {  // dims that lie close become one
    if (strides[i - 1] != dims[i] * strides[i]) continue;
    dims[i - 1] *= dims[i];
    strides[i - 1] = strides[i];
    dims.erase(dims.begin() + static_cast<ptrdiff_t>(i));
    strides.erase(strides.begin() + static_cast<ptrdiff_t>(i));
  }
  const uint64_t offset = operand.getOffset();
  if (dims.size() == 2 && strides[1] == 1 && dims[0] > 1) {
    const uint64_t rowBytes = static_cast<uint64_t>(strides[0]) * elementBytes(operand);
    const uint64_t bytes = static_cast<uint64_t>(dims[1]) * elementBytes(operand);
    if (offset % rowBytes + bytes <= rowBytes) {
      access.firstRow = offset / rowBytes;
      access.rows = static_cast<uint64_t>(dims[0]);
      access.rowBytes = rowBytes;
      access.firstByte = offset % rowBytes;
      access.bytes = bytes;
      return;
    }
  }
  access.rowBytes = bufferBytes;
  access.firstByte = offset;
  access.bytes = operand.getBytes();
}

class BodyScheduler {
 public:
  BodyScheduler(task::BodyOp body, const machine::Machine& machine) : body_(body), machine_(machine) {}

  mlir::LogicalResult run(uint64_t scratchStart, uint64_t& scratchEnd) {
    for (auto buffer : body_.getBody().getOps<task::BufferOp>()) addLocal(buffer);
    body_.walk([&](task::RunOp run) { addTask(run); });
    Result<target::Schedule> schedule = target::schedulePlan(plan_, machine_);
    if (!schedule) return body_.emitOpError() << "npu.schedule_c1: " << schedule.status().message();
    const Status checked = target::checkProgram(target::programOf(plan_, *schedule, machine_));
    if (!checked.isOk()) return body_.emitOpError() << "npu.check_c1: " << checked.message();
    scratchEnd = scratchStart + schedule->scratchBytes;
    for (auto buffer : body_.getBody().getOps<task::BufferOp>()) {
      const uint64_t address = schedule->addresses[locals_.lookup(buffer.getSymName())];
      buffer.setAddress(static_cast<int64_t>(buffer.getTiles() ? address : scratchStart + address));
      addresses_[buffer.getSymName()] = static_cast<uint64_t>(*buffer.getAddress());
    }
    rewrite(*schedule);
    return mlir::success();
  }

 private:
  void addLocal(task::BufferOp buffer) {
    locals_[buffer.getSymName()] = static_cast<uint32_t>(plan_.buffers.size());
    plan_.buffers.push_back({.name = buffer.getSymName().str(),
                             .bytes = static_cast<uint64_t>(buffer.getBytes()),
                             .tiles = static_cast<uint64_t>(buffer.getTiles().value_or(0))});
  }

  /// A memory that lies elsewhere: only the order of those who touch it matters.
  uint32_t fixedBuffer(const std::string& name, uint64_t bytes) {
    auto [found, isNew] = fixed_.try_emplace(name, static_cast<uint32_t>(plan_.buffers.size()));
    if (isNew) plan_.buffers.push_back({.name = name, .bytes = bytes, .tiles = 0, .isFixed = true});
    PlanBuffer& buffer = plan_.buffers[found->second];
    buffer.bytes = std::max(buffer.bytes, bytes);
    return found->second;
  }

  void addTask(task::RunOp run) {
    runs_.push_back(run);
    const blob::TaskOp op = *task::taskOpFromName(run.getOp());
    const blob::NpuTaskRule& rule = *blob::npuTaskRule(op);
    target::PlanTask task;
    task.name = (run.getName() + " (" + run.getOp() + ")").str();
    task.engine = rule.engine;
    std::vector<uint64_t> attrs;
    for (mlir::Attribute value : run.getValues().value_or(mlir::ArrayAttr::get(run.getContext(), {}))) {
      auto integer = llvm::dyn_cast<mlir::IntegerAttr>(value);
      attrs.push_back(integer ? static_cast<uint64_t>(integer.getInt()) : 0);  // nothing here goes by a real one
    }
    std::vector<blob::OperandRecord> records;
    const auto count = static_cast<uint32_t>(run.getArgs().size());
    for (auto [index, operand] : llvm::enumerate(run.getArgs().getAsRange<task::OperandAttr>())) {
      records.push_back(recordOf(operand));
      if (operand.getSpace() == blob::Space::kCmx) task.tile = task::cmxBase(operand.getBase())->tile;
      addAccesses(run, operand, blob::npuAccess(op, static_cast<uint32_t>(index), count, attrs), task);
    }
    task.work = blob::npuTaskWork(machine_, op, records, attrs);
    plan_.tasks.push_back(std::move(task));
  }

  void addAccesses(task::RunOp run, task::OperandAttr operand, blob::Access mode, target::PlanTask& task) {
    PlanAccess access;
    switch (operand.getSpace()) {
      case blob::Space::kWeights: return;  // nobody writes them
      case blob::Space::kKv: setCacheRows(run, operand, access); break;
      case blob::Space::kSymbol:
        access.buffer = fixedBuffer("symbol " + operand.getBase().str(), operand.getOffset() + operand.getBytes());
        setRectangle(operand, 0, access);
        break;
      case blob::Space::kScratch: {
        const llvm::StringRef name = operand.getBase().drop_front();
        auto local = locals_.find(name);
        access.buffer =
            local != locals_.end() ? local->second : fixedBuffer(name.str(), operand.getOffset() + operand.getBytes());
        setRectangle(operand, 0, access);
        break;
      }
      case blob::Space::kCmx: {
        const task::CmxBase base = *task::cmxBase(operand.getBase());
        access.buffer = locals_.lookup(base.buffer);
        access.tiles = uint64_t{1} << base.tile;
        const bool isCopy = run.getOp() == "npu.copy" && mode == blob::Access::kWrite;
        if (isCopy)
          access.tiles |= static_cast<uint64_t>(llvm::cast<mlir::IntegerAttr>((*run.getValues())[0]).getInt());
        setRectangle(operand, plan_.buffers[access.buffer].bytes, access);
        break;
      }
    }
    if (access.rowBytes == 0) access.rowBytes = plan_.buffers[access.buffer].bytes;
    if (mode != blob::Access::kWrite) {
      access.isWrite = false;
      task.accesses.push_back(access);
    }
    if (mode != blob::Access::kRead) {
      access.isWrite = true;
      task.accesses.push_back(access);
    }
  }

  /// Rows of the cache that are written are known to the run only, but which rows of the entry they are is known here:
  /// a byte stands for each of these, and readers read all of them.
  void setCacheRows(task::RunOp run, task::OperandAttr operand, PlanAccess& access) {
    constexpr uint64_t kMostRows = uint64_t{1} << 24;
    access.buffer = fixedBuffer("cache " + operand.getBase().str(), kMostRows);
    access.bytes = kMostRows;
    if (run.getOp() != "npu.kv_write") return;
    auto rows = llvm::cast<task::OperandAttr>(run.getArgs()[0]);
    access.firstByte = static_cast<uint64_t>(llvm::cast<mlir::IntegerAttr>((*run.getValues())[0]).getInt());
    access.bytes = static_cast<uint64_t>(rows.getDims()[0]);
  }

  /// "@name:3" + offset becomes "3" + an address, "@name" of this body an address alone.
  task::OperandAttr resolved(task::OperandAttr operand) const {
    std::string base = operand.getBase().str();
    uint64_t offset = operand.getOffset();
    if (operand.getSpace() == blob::Space::kCmx) {
      const task::CmxBase cmx = *task::cmxBase(operand.getBase());
      offset += addresses_.lookup(cmx.buffer);
      base = std::to_string(cmx.tile);
    } else if (operand.getSpace() == blob::Space::kScratch) {
      auto local = addresses_.find(operand.getBase().drop_front());
      if (local == addresses_.end()) return operand;
      offset += local->second;
      base.clear();
    }
    return task::OperandAttr::get(operand.getContext(), operand.getSpace(), base, offset, operand.getDtype(),
                                  operand.getLayout(), operand.getDims(), operand.getStrides(), operand.getBytes());
  }

  /// A segment for each queue, with its tasks in lane 0.
  void rewrite(const target::Schedule& schedule) {
    mlir::OpBuilder builder(body_.getContext());
    auto old = llvm::to_vector(body_.getBody().getOps<task::SegmentOp>());
    const auto lanes = static_cast<size_t>(body_->getParentOfType<task::ProgramOp>().getLanes());
    builder.setInsertionPointToEnd(&body_.getBody().front());
    for (const std::vector<uint32_t>& queue : schedule.queues) {
      auto segment = builder.create<task::SegmentOp>(body_.getLoc());
      mlir::OpBuilder inSegment = mlir::OpBuilder::atBlockBegin(&segment.getBody().emplaceBlock());
      for (size_t lane = 0; lane < lanes; ++lane) {
        auto op = inSegment.create<task::LaneOp>(body_.getLoc(), lane);
        mlir::OpBuilder inLane = mlir::OpBuilder::atBlockBegin(&op.getBody().emplaceBlock());
        if (lane != 0) continue;
        for (uint32_t index : queue) place(inLane, index, schedule);
      }
    }
    for (task::SegmentOp segment : old) segment.erase();
    body_.setPicoseconds(schedule.picoseconds);
  }

  void place(mlir::OpBuilder& builder, uint32_t index, const target::Schedule& schedule) {
    task::RunOp run = runs_[index];
    llvm::SmallVector<mlir::Attribute> args;
    for (auto operand : run.getArgs().getAsRange<task::OperandAttr>()) args.push_back(resolved(operand));
    llvm::SmallVector<int64_t> waits;
    for (const machine::Wait& wait : schedule.waits[index]) waits.append({wait.barrier, wait.count});
    const llvm::SmallVector<int64_t> signals(schedule.signals[index].begin(), schedule.signals[index].end());
    builder.create<task::RunOp>(run.getLoc(), run.getOpAttr(), run.getNameAttr(), builder.getArrayAttr(args),
                                run.getValuesAttr(),
                                waits.empty() ? mlir::DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(waits),
                                signals.empty() ? mlir::DenseI64ArrayAttr() : builder.getDenseI64ArrayAttr(signals));
  }

  task::BodyOp body_;
  const machine::Machine& machine_;
  target::Plan plan_;
  std::vector<task::RunOp> runs_;          ///< by index of the plan's tasks
  llvm::StringMap<uint32_t> locals_;       ///< buffers of the body, by name: number in the plan
  std::map<std::string, uint32_t> fixed_;  ///< other memory, by a name of its own
  llvm::StringMap<uint64_t> addresses_;    ///< of the body's buffers
};

}  // namespace

mlir::LogicalResult scheduleNpuBody(task::BodyOp body, const machine::Machine& machine, uint64_t scratchStart,
                                    uint64_t& scratchEnd) {
  return BodyScheduler(body, machine).run(scratchStart, scratchEnd);
}

}  // namespace firn::passes
