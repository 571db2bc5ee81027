#include "compiler/passes/npu/body_plan.h"

#include <algorithm>
#include <map>

#include "blob/npu_task_cost.h"
#include "blob/npu_task_rules.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/StringMap.h"

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
void setRectangle(task::OperandAttr operand, PlanAccess& access) {
  llvm::SmallVector<int64_t> dims(operand.getDims());
  llvm::SmallVector<int64_t> strides(operand.getStrides());
  for (size_t i = strides.size() == dims.size() ? dims.size() : 0; i-- > 1;) {  // dims that lie close become one
    if (strides[i - 1] != dims[i] * strides[i]) continue;
    dims[i - 1] *= dims[i];
    strides[i - 1] = strides[i];
    dims.erase(dims.begin() + static_cast<ptrdiff_t>(i));
    strides.erase(strides.begin() + static_cast<ptrdiff_t>(i));
  }
  const uint64_t offset = operand.getOffset();
  if (dims.size() == 2 && strides.size() == 2 && strides[1] == 1 && strides[0] > 0 && dims[0] > 1) {
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
  access.firstByte = offset;
  access.bytes = operand.getBytes();
}

class PlanBuilder {
 public:
  PlanBuilder(task::BodyOp body, const machine::Machine& machine) : body_(body), machine_(machine) {}

  mlir::FailureOr<BodyPlan> build(llvm::StringRef error) {
    auto program = body_->getParentOfType<task::ProgramOp>();
    auto rows = program.getModel().getAs<mlir::IntegerAttr>("kv_rows");
    cacheRows_ = rows ? static_cast<uint64_t>(rows.getInt()) : 0;
    for (auto buffer : body_.getBody().getOps<task::BufferOp>()) addLocal(buffer);
    bool isDealtOut = true;
    body_.walk([&](task::RunOp run) {
      isDealtOut = isDealtOut && run.getPosition();
      result_.runs.push_back(run);
    });
    if (isDealtOut) {
      llvm::sort(result_.runs, [](task::RunOp a, task::RunOp b) { return *a.getPosition() < *b.getPosition(); });
    }
    for (task::RunOp run : result_.runs) {
      if (const char* wrong = whyNoTask(run)) return run.emitOpError() << error << ": " << wrong, mlir::failure();
      addTask(run);
    }
    for (target::PlanTask& task : result_.plan.tasks) {
      for (PlanAccess& access : task.accesses) {  // only now are the lengths of other memory known
        if (access.rowBytes == 0) access.rowBytes = result_.plan.buffers[access.buffer].bytes;
      }
    }
    const Status plan = target::checkPlan(result_.plan, machine_);
    if (!plan.isOk()) return body_.emitOpError() << error << ": " << plan.message(), mlir::failure();
    return std::move(result_);
  }

 private:
  void addLocal(task::BufferOp buffer) {
    locals_[buffer.getSymName()] = static_cast<uint32_t>(result_.plan.buffers.size());
    result_.buffers.push_back(buffer);
    result_.plan.buffers.push_back({.name = buffer.getSymName().str(),
                                    .bytes = static_cast<uint64_t>(buffer.getBytes()),
                                    .tiles = static_cast<uint64_t>(buffer.getTiles().value_or(0))});
  }

  /// A memory that lies elsewhere: only the order of those who touch it matters.
  uint32_t fixedBuffer(const std::string& name, uint64_t bytes) {
    std::vector<PlanBuffer>& buffers = result_.plan.buffers;
    auto [found, isNew] = fixed_.try_emplace(name, static_cast<uint32_t>(buffers.size()));
    if (isNew) buffers.push_back({.name = name, .bytes = bytes, .tiles = 0, .isFixed = true});
    PlanBuffer& buffer = buffers[found->second];
    buffer.bytes = std::max(buffer.bytes, bytes);
    return found->second;
  }

  /// Numbers of barriers, and of times they are signalled.
  static bool isBarriers(std::optional<llvm::ArrayRef<int64_t>> numbers) {
    return !numbers || llvm::all_of(*numbers, [](int64_t number) { return number >= 0 && number <= UINT16_MAX; });
  }

  /// Why `run` cannot be a task of the machine; null when it can.
  const char* whyNoTask(task::RunOp run) const {
    const auto op = task::taskOpFromName(run.getOp());
    const blob::NpuTaskRule* rule = op ? blob::npuTaskRule(*op) : nullptr;
    if (rule == nullptr) return "is no task of the npu";
    const mlir::ArrayAttr values = run.getValuesAttr();
    if ((values ? values.size() : 0) != rule->attrCount()) return "has another number of attributes than its op";
    const auto operands = static_cast<uint32_t>(run.getArgs().size());
    if (operands != rule->operandCount(false) && operands != rule->operandCount(true)) {
      return "has another number of operands than its op";
    }
    const bool placesRows = op == blob::TaskOp::kNpuCopy || op == blob::TaskOp::kNpuKvWrite;
    if (placesRows && !llvm::isa<mlir::IntegerAttr>(values[0])) return "has an attribute that is no integer";
    if (!isBarriers(run.getWaits()) || !isBarriers(run.getSignals())) return "names a barrier that no machine has";
    for (auto operand : run.getArgs().getAsRange<task::OperandAttr>()) {
      if (operand.getDims().empty()) return "has an operand without dims";
      if (operand.getSpace() != blob::Space::kCmx) continue;
      const auto base = task::cmxBase(operand.getBase());
      if (!base || !locals_.contains(base->buffer)) return "has an operand in cmx that names no buffer of the body";
      if (base->tile >= machine_.tiles) return "has an operand in a tile that the machine does not have";
    }
    return nullptr;
  }

  void addTask(task::RunOp run) {
    const blob::TaskOp op = *task::taskOpFromName(run.getOp());
    target::PlanTask task;
    task.name = (run.getName() + " (" + run.getOp() + ")").str();
    task.engine = blob::npuTaskRule(op)->engine;
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
    result_.plan.tasks.push_back(std::move(task));
  }

  void addAccesses(task::RunOp run, task::OperandAttr operand, blob::Access mode, target::PlanTask& task) {
    PlanAccess access;
    switch (operand.getSpace()) {
      case blob::Space::kWeights: return;  // nobody writes them
      case blob::Space::kKv: setCacheRows(run, operand, access); break;
      case blob::Space::kSymbol:
        access.buffer = fixedBuffer("symbol " + operand.getBase().str(), operand.getOffset() + operand.getBytes());
        setRectangle(operand, access);
        break;
      case blob::Space::kScratch: {
        const llvm::StringRef name = operand.getBase().drop_front();
        auto local = locals_.find(name);
        access.buffer =
            local != locals_.end() ? local->second : fixedBuffer(name.str(), operand.getOffset() + operand.getBytes());
        setRectangle(operand, access);
        break;
      }
      case blob::Space::kCmx: {
        const task::CmxBase base = *task::cmxBase(operand.getBase());
        access.buffer = locals_.lookup(base.buffer);
        access.tiles = uint64_t{1} << base.tile;
        const bool isCopy = run.getOp() == "npu.copy" && mode == blob::Access::kWrite;
        if (isCopy)
          access.tiles |= static_cast<uint64_t>(llvm::cast<mlir::IntegerAttr>((*run.getValues())[0]).getInt());
        setRectangle(operand, access);
        break;
      }
    }
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
    access.buffer = fixedBuffer("cache " + operand.getBase().str(), cacheRows_);
    access.bytes = cacheRows_;
    if (run.getOp() != "npu.kv_write") return;
    auto rows = llvm::cast<task::OperandAttr>(run.getArgs()[0]);
    access.firstByte = static_cast<uint64_t>(llvm::cast<mlir::IntegerAttr>((*run.getValues())[0]).getInt());
    access.bytes = static_cast<uint64_t>(rows.getDims()[0]);
  }

  task::BodyOp body_;
  const machine::Machine& machine_;
  uint64_t cacheRows_ = 0;  ///< T, which no entry has more rows than
  BodyPlan result_;
  llvm::StringMap<uint32_t> locals_;       ///< buffers of the body, by name: number in the plan
  std::map<std::string, uint32_t> fixed_;  ///< other memory, by a name of its own
};

}  // namespace

mlir::FailureOr<BodyPlan> planOf(task::BodyOp body, const machine::Machine& machine, llvm::StringRef error) {
  return PlanBuilder(body, machine).build(error);
}

target::Schedule scheduleOf(const BodyPlan& plan, task::BodyOp body, uint64_t scratchBytes) {
  target::Schedule schedule;
  schedule.scratchBytes = scratchBytes;
  schedule.addresses.resize(plan.plan.buffers.size());
  for (auto [buffer, address] : llvm::zip(plan.buffers, schedule.addresses)) {
    task::BufferOp op = buffer;
    address = static_cast<uint64_t>(op.getAddress().value_or(0));
  }
  llvm::DenseMap<mlir::Operation*, uint32_t> indices;
  for (task::RunOp run : plan.runs) {
    indices[run] = static_cast<uint32_t>(schedule.waits.size());
    std::vector<machine::Wait>& waits = schedule.waits.emplace_back();
    const llvm::ArrayRef<int64_t> pairs = run.getWaits().value_or(llvm::ArrayRef<int64_t>());
    for (size_t i = 0; i + 1 < pairs.size(); i += 2) {
      waits.push_back({.barrier = static_cast<uint16_t>(pairs[i]), .count = static_cast<uint32_t>(pairs[i + 1])});
    }
    const llvm::ArrayRef<int64_t> signals = run.getSignals().value_or(llvm::ArrayRef<int64_t>());
    schedule.signals.emplace_back(signals.begin(), signals.end());
  }
  for (auto segment : body.getBody().getOps<task::SegmentOp>()) {
    std::vector<uint32_t>& queue = schedule.queues.emplace_back();
    segment.walk([&](task::RunOp run) { queue.push_back(indices.lookup(run)); });
  }
  return schedule;
}

}  // namespace firn::passes
