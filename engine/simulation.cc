#include "engine/simulation.h"

#include <algorithm>
#include <set>
#include <string>

#include <nlohmann/json.hpp>

#include "base/concat.h"
#include "blob/machine_memory.h"
#include "blob/names.h"
#include "blob/npu_task_cost.h"
#include "blob/npu_task_rules.h"

namespace firn::engine {
namespace {

/// Where npu.softmax has its window.
constexpr size_t kWindowAttr = 4;

/// The window of the attention in `body`; nullopt: there is none.
std::optional<uint32_t> windowOf(const blob::Blob& blob, const blob::BodyRecord& body) {
  for (const blob::SegmentRecord& segment : blob.segmentsOf(body)) {
    for (const blob::TaskRecord& task : blob.tasksOf(blob.lanesOf(segment).front())) {
      if (task.op == static_cast<uint16_t>(blob::TaskOp::kNpuSoftmax)) {
        return static_cast<uint32_t>(blob.attrsOf(task)[kWindowAttr]);
      }
    }
  }
  return std::nullopt;
}

/// What one run of `body` takes, in picojoules: a sum over its tasks of what they move and compute.
double picojoulesOf(const blob::Blob& blob, const machine::Machine& machine, const blob::BodyRecord& body) {
  const machine::Energy& energy = *machine.energy;
  double sum = 0;
  for (const blob::SegmentRecord& segment : blob.segmentsOf(body)) {
    for (const blob::TaskRecord& task : blob.tasksOf(blob.lanesOf(segment).front())) {
      const auto op = static_cast<blob::TaskOp>(task.op);
      const auto operands = blob.operandsOf(task);
      const auto attrs = blob.attrsOf(task);
      const machine::Work work = blob::npuTaskWork(machine, op, operands, attrs);
      const uint64_t cmxBytes = blob::npuTaskCmxBytes(machine, op, operands, attrs);
      sum += energy.perMac * static_cast<double>(blob::npuTaskMacs(op, operands)) +
             energy.perDdrByte * static_cast<double>(work.ddrBytes) +
             energy.perCmxByte * static_cast<double>(cmxBytes) +
             energy.perShaveElement * static_cast<double>(blob::npuTaskElements(op, operands));
    }
  }
  return sum;
}

/// Adds `run` to those of a stage, which takes no longer than an entry may: so no sum over its queues wraps, nor one of
/// two stages.
Status addRun(const runtime::SimulatedRun& run, runtime::SimulatedRun& sum) {
  if (run.picoseconds > runtime::kMostEntryPicoseconds - sum.picoseconds) {
    return outOfRange(
        "with it the simulation is beyond 40 hours of its machine; simulate fewer tokens, or a faster machine");
  }
  sum.add(run);
  return Status::ok();
}

/// Of the model card (compiler/model_card.h).
std::optional<uint64_t> linearMacsOf(std::string_view card) {
  const nlohmann::json json = nlohmann::json::parse(card, nullptr, /*allow_exceptions=*/false);
  const auto macs = json.is_object() ? json.find("linear_macs") : json.end();
  if (macs == json.end() || !macs->is_number_unsigned()) return std::nullopt;
  return macs->get<uint64_t>();
}

Status tell(const Simulator::Progress& progress, std::string_view stage, uint64_t done, uint64_t total) {
  return !progress || progress(stage, done, total) ? Status::ok() : cancelled("the simulation was interrupted");
}

}  // namespace

Result<Simulator> Simulator::create(const blob::Blob& blob) {
  Simulator simulator(blob);
  const std::vector<blob::Target> targets = blob.targets();
  if (std::ranges::find(targets, blob::Target::kNpu) == targets.end()) {
    return unsupported(concat("the blob is for device ", blob::targetNames(targets),
                              ", which runs in real time; only one for npu can be simulated: compile the model with "
                              "--device npu"));
  }
  FIRN_ASSIGN_OR_RETURN(simulator.machine_, machine::parseMachine(blob.machine(), blob::kMachineSection));
  FIRN_ASSIGN_OR_RETURN(simulator.variants_, VariantTable::create(blob, {}));
  FIRN_RETURN_IF_ERROR(simulator.readModel());
  simulator.bodies_.resize(blob.bodies().size());
  simulator.picojoules_.resize(blob.bodies().size());
  return simulator;
}

Status Simulator::readModel() {
  const blob::ProgramHeader& header = blob_->header();
  FIRN_RETURN_IF_ERROR(blob::checkMachineMemory(blob_->header(), machine_));
  const std::optional<uint64_t> macs = linearMacsOf(blob_->card());
  if (!macs) {
    return unsupported(
        concat("the model card has no number linear_macs, the multiply-adds of the "
               "layers for one token; compile the model again"));
  }
  linearMacs_ = *macs;
  headMacs_ = uint64_t{header.embed} * header.vocab;
  windows_.assign(header.layers, 0);
  const uint32_t generate = variants_.generates().front().entry;
  for (const blob::EntryRecord& part : blob_->entries().subspan(generate, blob_->entries()[generate].parts)) {
    if (part.target != blob::Target::kNpu) continue;
    for (const blob::CallRecord& call : blob_->callsOf(part)) {
      if (call.layer >= header.layers) continue;
      if (const auto window = windowOf(*blob_, blob_->bodies()[call.body])) windows_[call.layer] = *window;
    }
  }
  return Status::ok();
}

Status Simulator::checkFits(uint32_t promptTokens, uint32_t decodeTokens) const {
  const blob::ProgramHeader& header = blob_->header();
  if (promptTokens == 0) return invalidArgument("a simulation needs a prompt of at least one token");
  if (promptTokens > header.maxPromptTokens) {
    return outOfRange(concat("a prompt of ", promptTokens, " tokens, the blob takes at most ", header.maxPromptTokens,
                             "; compile the model with a larger --max-prompt-len"));
  }
  if (decodeTokens > header.kvRows - promptTokens) {
    return outOfRange(concat(promptTokens, " tokens and ", decodeTokens, " steps, the blob's cache has ", header.kvRows,
                             " rows; compile the model with a larger --min-response-len"));
  }
  return Status::ok();
}

Result<Simulation> Simulator::run(uint32_t promptTokens, uint32_t decodeTokens, const Progress& progress) {
  FIRN_RETURN_IF_ERROR(checkFits(promptTokens, decodeTokens));
  Simulation result;
  result.promptTokens = promptTokens;
  result.decodeTokens = decodeTokens;
  FIRN_RETURN_IF_ERROR(simulatePrompt(result, progress));
  FIRN_RETURN_IF_ERROR(simulateDecode(result, progress));
  return result;
}

Status Simulator::needBody(uint32_t body) {
  if (picojoules_[body]) return Status::ok();
  FIRN_ASSIGN_OR_RETURN(bodies_[body], runtime::bodyTimelineOf(*blob_, machine_, body));
  // Only sums are asked for; those of a long context have many tasks.
  bodies_[body].timeline.tasks = {};
  bodies_[body].timeline.order = {};
  bodies_[body].queues = {};
  picojoules_[body] = machine_.energy ? picojoulesOf(*blob_, machine_, blob_->bodies()[body]) : 0;
  return Status::ok();
}

Status Simulator::runEntry(uint32_t entry, SimulatedStage& stage) {
  for (const blob::EntryRecord& part : blob_->entries().subspan(entry, blob_->entries()[entry].parts)) {
    if (part.target != blob::Target::kNpu) {
      const std::string_view reason = blob_->string(part.reason);
      return unsupported(concat("entry ", blob_->string(part.name), " runs on ", blob::targetName(part.target),
                                ", which has no simulated time", reason.empty() ? "" : " (", reason,
                                reason.empty() ? "" : ")", "; compile the whole model for npu"));
    }
    for (const blob::CallRecord& call : blob_->callsOf(part)) {
      FIRN_RETURN_IF_ERROR(needBody(call.body));
      stage.picojoules += *picojoules_[call.body];
    }
    FIRN_ASSIGN_OR_RETURN(const runtime::SimulatedRun run, runtime::simulatedRunOf(*blob_, machine_, part, bodies_));
    FIRN_RETURN_IF_ERROR(addRun(run, stage.run).withPlace(concat("entry ", blob_->string(part.name))));
  }
  return Status::ok();
}

void Simulator::addToken(uint32_t position, SimulatedStage& stage) const {
  const blob::ProgramHeader& header = blob_->header();
  stage.usefulMacs += linearMacs_;
  for (const uint32_t window : windows_) {
    const uint64_t seen = window == 0 ? position + 1 : std::min(position + 1, window);
    stage.usefulMacs += 2 * uint64_t{header.heads} * header.headDim * seen;  // scores, and values
  }
}

Status Simulator::simulatePrompt(Simulation& result, const Progress& progress) {
  const blob::ProgramHeader& header = blob_->header();
  FIRN_ASSIGN_OR_RETURN(const PrefillPlan plan, planPrefill(variants_, 0, result.promptTokens, header.kvRows));
  std::set<uint32_t> entries;
  for (const PlanStep& step : plan.steps) {
    FIRN_RETURN_IF_ERROR(tell(progress, "prompt, chunks", result.chunks.size(), plan.steps.size()));
    FIRN_RETURN_IF_ERROR(runEntry(step.variant->entry, result.prompt));
    entries.insert(step.variant->entry);
    result.chunks.push_back(step.variant->entry);
  }
  if (!plan.steps.back().isGenerate) {  // whose logits come with it
    const uint32_t head = variants_.heads().front().entry;
    FIRN_RETURN_IF_ERROR(runEntry(head, result.prompt));
    entries.insert(head);
  }
  for (uint32_t position = 0; position < result.promptTokens; ++position) addToken(position, result.prompt);
  result.prompt.usefulMacs += headMacs_;
  result.prompt.leastDdrBytes = weights_.bytesOf(std::vector(entries.begin(), entries.end())) +
                                result.promptTokens * (header.kvBytes / header.kvRows);
  setLimits(result.prompt);
  return Status::ok();
}

Status Simulator::simulateDecode(Simulation& result, const Progress& progress) {
  const blob::ProgramHeader& header = blob_->header();
  const uint64_t rowBytes = header.kvBytes / header.kvRows / header.layers;  // K and V of one layer
  const Variant* before = nullptr;
  SimulatedStage one;  // a step of `before`
  uint64_t weightBytes = 0;
  for (uint32_t i = 0; i < result.decodeTokens; ++i) {
    FIRN_RETURN_IF_ERROR(tell(progress, "answer, steps", i, result.decodeTokens));
    const uint32_t position = result.promptTokens + i;
    const Variant* variant = variants_.generateFor(position + 1);
    if (variant != before) {
      one = {};
      FIRN_RETURN_IF_ERROR(runEntry(variant->entry, one));
      weightBytes = weights_.bytesOf({&variant->entry, 1});
      before = variant;
    }
    SimulatedStage step = one;
    addToken(position, step);
    step.usefulMacs += headMacs_;
    step.leastDdrBytes = weightBytes;
    for (const uint32_t window : windows_) {  // its own row is written, the others are read
      step.leastDdrBytes += rowBytes * (window == 0 ? position + 1 : std::min(position + 1, window));
    }
    setLimits(step);
    FIRN_RETURN_IF_ERROR(addRun(step.run, result.decode.run).withPlace(concat("step ", i + 1, " of the answer")));
    result.decode.picojoules += step.picojoules;
    result.decode.usefulMacs += step.usefulMacs;
    result.decode.leastDdrBytes += step.leastDdrBytes;
    result.decode.macPicoseconds += step.macPicoseconds;
    result.decode.ddrPicoseconds += step.ddrPicoseconds;
    result.decode.limitPicoseconds += step.limitPicoseconds;
  }
  return Status::ok();
}

double Simulator::macPicosecondsOf(uint64_t macs) const {
  const double perCycle = static_cast<double>(machine_.tiles) * machine_.macsPerCycle / machine_.fp16Factor;
  return static_cast<double>(macs) / perCycle * 1e6 / machine_.dpuMhz;
}

double Simulator::ddrPicosecondsOf(uint64_t bytes) const {
  return static_cast<double>(bytes) * 1e6 / machine_.ddrMegabytesPerSecond;
}

void Simulator::setLimits(SimulatedStage& stage) const {
  stage.macPicoseconds = macPicosecondsOf(stage.usefulMacs);
  stage.ddrPicoseconds = ddrPicosecondsOf(stage.leastDdrBytes);
  stage.limitPicoseconds = std::max(stage.macPicoseconds, stage.ddrPicoseconds);
}

}  // namespace firn::engine
