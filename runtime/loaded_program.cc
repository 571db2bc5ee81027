#include "runtime/loaded_program.h"

#include <algorithm>
#include <map>
#include <utility>

#include "blob/machine/machine.h"
#include "runtime/cmx_memory.h"

namespace firn::runtime {
namespace {

constexpr auto kMask = static_cast<uint32_t>(blob::SymbolKind::kMask);

uint32_t baseIndex(const blob::OperandRecord& operand) {
  switch (operand.space) {
    case blob::Space::kScratch: return kScratchBase;
    case blob::Space::kSymbol: return kFirstSymbolBase + operand.base;
    case blob::Space::kWeights: return operand.base == blob::kNoBase ? kWeightsBase : kFirstParamBase + operand.base;
    case blob::Space::kKv: return operand.base == blob::kNoBase ? kKvBase : kFirstParamBase + operand.base;
    case blob::Space::kCmx: return kCmxBase;
  }
  return kScratchBase;
}

std::byte* weightsOf(const blob::Blob& blob) {
  // Tasks write no weights (the verifier refuses such operands); bases are shared with memory that they do write.
  return const_cast<std::byte*>(blob.weights().data());
}

/// Which tasks the entries for `target` run.
std::vector<bool> tasksOfTarget(const blob::Blob& blob, blob::Target target) {
  // Bodies first: any number of calls may share one, and each is walked once.
  std::vector<bool> isCalled(blob.bodies().size());
  for (const blob::EntryRecord& entry : blob.entries()) {
    if (entry.target != target) continue;
    for (const blob::CallRecord& call : blob.callsOf(entry)) isCalled[call.body] = true;
  }
  std::vector<bool> isOwn(blob.tasks().size());
  for (size_t body = 0; body < isCalled.size(); ++body) {
    if (!isCalled[body]) continue;
    for (const blob::SegmentRecord& segment : blob.segmentsOf(blob.bodies()[body])) {
      for (const blob::LaneRange& range : blob.lanesOf(segment)) {
        std::fill_n(isOwn.begin() + range.firstTask, range.taskCount, true);
      }
    }
  }
  return isOwn;
}

}  // namespace

Result<std::unique_ptr<LoadedProgram>> LoadedProgram::create(const blob::Blob& blob, const TaskTable* table,
                                                             blob::Target target) {
  std::unique_ptr<LoadedProgram> program(new LoadedProgram());
  program->blob_ = &blob;
  program->lanes_ = blob.ident().lanes;
  if (table != nullptr) {
    FIRN_RETURN_IF_ERROR(program->takeMemory(target));
    FIRN_RETURN_IF_ERROR(program->resolveTasks(*table, target));
  }
  program->entries_.resize(blob.entries().size());
  for (size_t i = 0; i < program->entries_.size(); ++i) {
    Entry& entry = program->entries_[i];
    entry.record = &blob.entries()[i];
    entry.name = std::string(blob.string(entry.record->name));
    for (const blob::SymbolRecord& symbol : blob.symbolsOf(*entry.record)) {
      entry.symbols[static_cast<uint32_t>(symbol.kind)].record = &symbol;
    }
    entry.isForeign = table != nullptr && entry.record->target != target;
  }
  if (table == nullptr) return program;
  FIRN_RETURN_IF_ERROR(program->checkBases());
  for (Entry& entry : program->entries_) {
    if (!entry.isForeign) program->resolveCalls(entry);
  }
  return program;
}

Status LoadedProgram::takeMemory(blob::Target target) {
  if (const uint64_t bytes = blob_->header().scratchBytes; bytes != 0) {
    FIRN_ASSIGN_OR_RETURN(scratch_, allocateDeviceMemory(bytes));
  }
  if (target != blob::Target::kNpu) return Status::ok();
  FIRN_ASSIGN_OR_RETURN(const machine::Machine machine, machine::parseMachine(blob_->machine(), blob_->path()));
  const CmxMemory cmx(machine);
  tileBytes_ = cmx.tileBytes;
  FIRN_ASSIGN_OR_RETURN(cmx_, allocateDeviceMemory(cmx.bytes));
  return Status::ok();
}

Status LoadedProgram::resolveTasks(const TaskTable& table, blob::Target target) {
  operands_.reserve(blob_->operands().size());
  for (const blob::OperandRecord& record : blob_->operands()) {
    const uint64_t tile = record.space == blob::Space::kCmx ? record.base * tileBytes_ : 0;
    operands_.push_back({.record = &record, .base = baseIndex(record), .offset = tile + record.offset});
  }
  const std::vector<bool> isOwn = tasksOfTarget(*blob_, target);
  std::map<std::pair<uint32_t, uint16_t>, uint32_t> rows;
  tasks_.resize(blob_->tasks().size());
  for (size_t i = 0; i < tasks_.size(); ++i) {
    if (!isOwn[i]) continue;
    const blob::TaskRecord& record = blob_->tasks()[i];
    const auto op = static_cast<blob::TaskOp>(record.op);
    const auto name = [&] {
      return std::string(blob_->string(record.name)) + " (" + std::string(blob::taskOpName(op)) + ")";
    };
    const TaskFunction function = table.find(op);
    if (function == nullptr) {
      return unsupported(blob_->path() + ": task " + std::to_string(i) + ", " + name() + ", op " +
                         std::to_string(record.op) + ": device " + std::string(table.device) +
                         " has no such op; compile the model for this device");
    }
    const auto [row, isNew] = rows.try_emplace({record.name, record.op}, profileNames_.size());
    if (isNew) profileNames_.push_back(name());
    tasks_[i] = {.run = function,
                 .kernels = table.kernels,
                 .operands = operands_.data() + record.firstOperand,
                 .attrs = blob_->attrs().data() + record.firstAttr,
                 .operandCount = record.operandCount,
                 .profileRow = row->second};
    if (table.check == nullptr) continue;
    if (const Status checked = table.check(op, tasks_[i]); !checked.isOk()) {
      return checked.withPlace(blob_->path() + ": task " + name());
    }
  }
  ranges_.reserve(blob_->laneRanges().size());
  for (const blob::LaneRange& range : blob_->laneRanges()) {
    const Task* begin = tasks_.data() + range.firstTask;
    ranges_.push_back({.begin = begin, .end = begin + range.taskCount});
  }
  segmentRanges_.reserve(blob_->segments().size());
  for (const blob::SegmentRecord& segment : blob_->segments()) segmentRanges_.push_back(segment.firstRange);
  return Status::ok();
}

uint64_t LoadedProgram::basesOf(const Entry& entry, std::span<const blob::CallRecord> calls) {
  uint64_t count = 0;
  for (const blob::CallRecord& call : calls) count += uint64_t{entry.caches()} * (kFirstParamBase + call.argCount);
  return count;
}

Status LoadedProgram::checkBases() const {
  uint64_t bytes = 0;
  for (const Entry& entry : entries_) {
    if (!entry.isForeign) bytes += basesOf(entry, blob_->callsOf(*entry.record)) * sizeof(std::byte*);
  }
  if (bytes <= kMostBaseBytes) return Status::ok();
  return resourceExhausted(blob_->path() + ": the addresses of its " + std::to_string(blob_->calls().size()) +
                           " calls take " + std::to_string(bytes) + " bytes, the limit is " +
                           std::to_string(kMostBaseBytes) + "; compile it with fewer batches or contexts");
}

void LoadedProgram::resolveCalls(Entry& entry) {
  const std::span<const blob::CallRecord> records = blob_->callsOf(*entry.record);
  entry.bases.assign(basesOf(entry, records), nullptr);
  entry.calls.reserve(records.size());
  std::byte** bases = entry.bases.data();
  std::byte* const weights = weightsOf(*blob_);
  for (const blob::CallRecord& record : records) {
    const blob::BodyRecord& body = blob_->bodies()[record.body];
    entry.calls.push_back({.record = &record,
                           .firstSegment = body.firstSegment,
                           .segmentCount = body.segmentCount,
                           .bases = bases,
                           .rowBases = kFirstParamBase + record.argCount});
    const std::span<const uint64_t> args = blob_->argsOf(record);
    const std::span<const blob::ParamRecord> params = blob_->paramsOf(body);
    for (uint32_t row = 0; row < entry.caches(); ++row, bases += kFirstParamBase + args.size()) {
      bases[kScratchBase] = scratch_.bytes().data();
      bases[kWeightsBase] = weights;
      bases[kCmxBase] = cmx_.bytes().data();
      for (size_t i = 0; i < args.size(); ++i) {
        // Without weights nothing reads them, and a null pointer takes no offset.
        const bool isWeight = params[i].space == blob::Space::kWeights && blob_->hasWeights();
        if (isWeight) bases[kFirstParamBase + i] = weights + args[i];
      }
    }
  }
}

void LoadedProgram::applyBinding(Entry& entry) const {
  for (const Call& call : entry.calls) {
    const std::span<const uint64_t> args = blob_->argsOf(*call.record);
    const std::span<const blob::ParamRecord> params = blob_->paramsOf(blob_->bodies()[call.record->body]);
    for (uint32_t row = 0; row < entry.caches(); ++row) {
      std::byte** const bases = call.bases + size_t{row} * call.rowBases;
      std::byte* const kv = entry.symbol(blob::kvOfRow(row)).data;
      bases[kKvBase] = kv;
      for (uint32_t i = 0; i < blob::kSymbolKinds; ++i) bases[kFirstSymbolBase + i] = entry.symbols[i].data;
      // The mask of a batch is u8[m, c]; the other symbols are read as a whole.
      if (row != 0) bases[kFirstSymbolBase + kMask] += size_t{row} * entry.record->context;
      for (size_t i = 0; i < args.size(); ++i) {
        if (kv != nullptr && params[i].space == blob::Space::kKv) bases[kFirstParamBase + i] = kv + args[i];
      }
    }
  }
}

}  // namespace firn::runtime
