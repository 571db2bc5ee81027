// Phase "schedule": task_passes.h. Order is the order of the tasks as lowered; this pass gives out memory.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "base/align.h"
#include "blob/kv_part.h"
#include "compiler/ir/task.h"
#include "compiler/passes/cost_model.h"
#include "compiler/passes/interval_allocator.h"
#include "compiler/passes/npu/machine_of.h"
#include "compiler/passes/npu/schedule_body.h"
#include "compiler/passes/resolve_names.h"
#include "compiler/passes/task_passes.h"
#include "compiler/target/targets.h"
#include "llvm/ADT/StringMap.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace firn::passes {
namespace {

constexpr uint64_t kAlignment = blob::kTensorAlignment;

uint64_t alignUp(uint64_t value) { return roundUp(value, kAlignment); }

/// Gives the streams their place in the weight section, from `start` on: those of all lanes first, then lane by lane,
/// so that each lane reads one run of bytes from layer to layer.
uint64_t placeStreams(task::ProgramOp program, uint64_t start) {
  std::map<int64_t, std::vector<task::StreamOp>> byLane;
  for (auto stream : program.getBody().getOps<task::StreamOp>()) {
    byLane[stream.getLane() ? static_cast<int64_t>(*stream.getLane()) : -1].push_back(stream);
  }
  uint64_t end = start;
  for (auto& [lane, streams] : byLane) {
    for (task::StreamOp stream : streams) {
      stream.setAddress(alignUp(end));
      end = alignUp(end) + static_cast<uint64_t>(stream.getBytes());
    }
  }
  return alignUp(end);
}

/// Places of the buffers of a group, and how far its bodies reach.
struct GroupPlan {
  uint64_t sharedEnd = 0;  ///< end of the buffers that all bodies of the group see
  uint64_t scratchEnd = 0;
};

/// First and last task of a lane that touches a buffer.
struct Lifetime {
  uint64_t first = UINT64_MAX;
  uint64_t last = 0;
  void extend(uint64_t time) {
    first = std::min(first, time);
    last = std::max(last, time);
  }
};

class Scheduler {
 public:
  Scheduler(task::ProgramOp program, const target::Target& target, const std::atomic<bool>* cancel)
      : program_(program), target_(target), cancel_(cancel) {}

  /// `weightsBytes` of the weight section are taken by other programs; gives them and those of this one.
  /// Nullopt after a diagnostic.
  std::optional<uint64_t> run(uint64_t weightsBytes) {
    weightsBytes = placeStreams(program_, weightsBytes);
    for (auto buffer : program_.getBody().getOps<task::BufferOp>()) placeGroupBuffer(buffer);
    addAddresses(program_.getBody(), addresses_);
    for (auto& [name, plan] : groups_) plan.scratchEnd = plan.sharedEnd;
    if (mlir::failed(placeBodies())) return std::nullopt;
    uint64_t scratchBytes = 0;
    for (auto entry : program_.getBody().getOps<task::EntryOp>()) {
      finishEntry(entry);
      scratchBytes = std::max<uint64_t>(scratchBytes, *entry.getScratch());
    }
    setMemory(weightsBytes, scratchBytes);
    return weightsBytes;
  }

 private:
  void placeGroupBuffer(task::BufferOp buffer) {
    GroupPlan& plan = groups_[buffer.getGroup()->str()];
    buffer.setAddress(plan.sharedEnd);
    plan.sharedEnd = alignUp(plan.sharedEnd + static_cast<uint64_t>(buffer.getBytes()));
  }

  mlir::LogicalResult placeBodies() {
    if (target_.needsMachine) return placeForMachine();
    for (auto body : program_.getBody().getOps<task::BodyOp>()) placeBody(body);
    return mlir::success();
  }

  /// Buffers of one lane never meet another lane, so their time is the count of that lane's tasks. Buffers that lanes
  /// share live from segment to segment.
  void placeBody(task::BodyOp body) {
    GroupPlan& plan = groups_[body.getGroup()->str()];
    llvm::StringMap<Lifetime> lifetimes = lifetimesOf(body);
    uint64_t end = plan.sharedEnd;
    for (int64_t lane = -1; lane < static_cast<int64_t>(program_.getLanes()); ++lane) {
      std::vector<task::BufferOp> buffers;
      std::vector<Interval> intervals;
      for (auto buffer : body.getBody().getOps<task::BufferOp>()) {
        if ((buffer.getLane() ? static_cast<int64_t>(*buffer.getLane()) : -1) != lane) continue;
        Lifetime life = lifetimes.lookup(buffer.getSymName());
        buffers.push_back(buffer);
        intervals.push_back({life.first, life.last, static_cast<uint64_t>(buffer.getBytes())});
      }
      uint64_t areaBytes = 0;
      std::vector<uint64_t> offsets = allocateIntervals(intervals, kAlignment, areaBytes);
      for (size_t i = 0; i < buffers.size(); ++i) buffers[i].setAddress(end + offsets[i]);
      end = alignUp(end + areaBytes);
    }
    plan.scratchEnd = std::max(plan.scratchEnd, end);
    Addresses own;
    addAddresses(body.getBody(), own);
    body.walk([&](task::RunOp run) { resolveNames(run, own, addresses_); });
  }

  /// On a machine tasks are dealt out to queues too, and names stay until emit: the check wants them.
  mlir::LogicalResult placeForMachine() {
    return forEachBody(program_, "task.schedule_c2", cancel_, [&](task::BodyOp body, const machine::Machine& machine) {
      GroupPlan& plan = groups_[body.getGroup()->str()];
      uint64_t end = plan.sharedEnd;
      if (mlir::failed(scheduleNpuBody(body, machine, plan.sharedEnd, end))) return mlir::failure();
      plan.scratchEnd = std::max(plan.scratchEnd, alignUp(end));
      return mlir::success();
    });
  }

  static llvm::StringMap<Lifetime> lifetimesOf(task::BodyOp body) {
    llvm::StringMap<bool> shared;
    for (auto buffer : body.getBody().getOps<task::BufferOp>()) shared[buffer.getSymName()] = !buffer.getLane();
    llvm::StringMap<Lifetime> lifetimes;
    std::vector<uint64_t> clocks;
    uint64_t segmentIndex = 0;
    for (auto segment : body.getBody().getOps<task::SegmentOp>()) {
      for (auto lane : segment.getBody().getOps<task::LaneOp>()) {
        clocks.resize(std::max<size_t>(clocks.size(), lane.getIndex() + 1));
        for (auto run : lane.getBody().getOps<task::RunOp>()) {
          uint64_t now = clocks[lane.getIndex()]++;
          for (auto operand : run.getArgs().getAsRange<task::OperandAttr>()) {
            if (operand.getSpace() != blob::Space::kScratch) continue;
            auto known = shared.find(operand.getBase().drop_front());
            if (known != shared.end()) lifetimes[known->getKey()].extend(known->second ? segmentIndex : now);
          }
        }
      }
      ++segmentIndex;
    }
    return lifetimes;
  }

  void finishEntry(task::EntryOp entry) {
    mlir::Builder builder(entry.getContext());
    entry.setScratch(groups_[entry.getGroup().str()].scratchEnd);
    uint64_t picoseconds = 0;
    for (auto call : entry.getBody().getOps<task::CallOp>()) {
      llvm::SmallVector<mlir::Attribute> args;
      for (mlir::Attribute arg : call.getArgs()) {
        auto stream = llvm::dyn_cast<mlir::FlatSymbolRefAttr>(arg);
        args.push_back(stream ? builder.getI64IntegerAttr(static_cast<int64_t>(addresses_.lookup(stream.getValue())))
                              : arg);
      }
      call.setArgsAttr(builder.getArrayAttr(args));
      if (target_.costModel == nullptr) continue;  // barriers tells what its bodies take
      picoseconds += predicted(call.getCallee(), static_cast<int64_t>(entry.getContextRows()));
    }
    if (target_.costModel != nullptr) entry.setPicoseconds(picoseconds);
  }

  uint64_t predicted(llvm::StringRef callee, int64_t context) {
    auto [found, isNew] = predicted_.try_emplace({callee.str(), context}, 0);
    if (isNew) {
      auto body = tables_.lookupSymbolIn<task::BodyOp>(program_, mlir::StringAttr::get(program_.getContext(), callee));
      const auto lanes = static_cast<int64_t>(program_.getLanes());
      found->second = bodyPicoseconds(target_.costModel(lanes), body, context);
    }
    return found->second;
  }

  void setMemory(uint64_t weightsBytes, uint64_t scratchBytes) {
    mlir::Builder builder(program_.getContext());
    mlir::DictionaryAttr model = program_.getModel();
    auto number = [&](llvm::StringRef key) {
      return static_cast<uint64_t>(model.getAs<mlir::IntegerAttr>(key).getInt());
    };
    DType kvType = task::dtypeFromName(model.getAs<mlir::StringAttr>("kv_type").getValue()).value_or(DType::kF32);
    auto part = blob::KvPart::of(kvType, number("kv_heads"), number("kv_rows"), number("head_dim"));
    uint64_t kvBytes = part ? 2 * number("layers") * part->bytes() : 0;
    auto attr = [&](llvm::StringRef key, uint64_t value) {
      return builder.getNamedAttr(key, builder.getI64IntegerAttr(static_cast<int64_t>(value)));
    };
    llvm::SmallVector<mlir::NamedAttribute> memory = {attr("kv_bytes", kvBytes), attr("scratch_bytes", scratchBytes),
                                                      attr("weights_bytes", weightsBytes)};
    program_.setMemoryAttr(builder.getDictionaryAttr(memory));
  }

  task::ProgramOp program_;
  mlir::SymbolTableCollection tables_;
  const target::Target& target_;
  const std::atomic<bool>* cancel_;
  Addresses addresses_;  ///< of streams and group buffers
  std::map<std::string, GroupPlan> groups_;
  std::map<std::pair<std::string, int64_t>, uint64_t> predicted_;  ///< by body and context
};

class SchedulePass : public mlir::PassWrapper<SchedulePass, mlir::OperationPass<mlir::ModuleOp>> {
 public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(SchedulePass)

  explicit SchedulePass(const std::atomic<bool>* cancel) : cancel_(cancel) {}

  llvm::StringRef getArgument() const final { return "task-schedule"; }
  llvm::StringRef getDescription() const final { return "Addresses, sizes and predicted times"; }

  void runOnOperation() final {
    auto programs = getOperation().getOps<task::ProgramOp>();
    if (programs.empty()) {
      getOperation().emitError() << "task.schedule_c1: expected a task.program: run lower first";
      return signalPassFailure();
    }
    uint64_t weightsBytes = 0;
    for (task::ProgramOp program : programs) {
      std::optional<uint64_t> end =
          Scheduler(program, *target::findTarget(program.getTarget()), cancel_).run(weightsBytes);
      if (!end) return signalPassFailure();
      weightsBytes = *end;
    }
  }

 private:
  const std::atomic<bool>* cancel_;
};

}  // namespace

std::unique_ptr<mlir::Pass> createSchedulePass(const std::atomic<bool>* cancel) {
  return std::make_unique<SchedulePass>(cancel);
}

void registerTaskPasses() {
  mlir::registerPass([] { return createLowerPass({}); });
  mlir::registerPass([] { return createSchedulePass(); });
}

}  // namespace firn::passes
