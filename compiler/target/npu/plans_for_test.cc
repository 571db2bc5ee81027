#include "compiler/target/npu/plans_for_test.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/concat.h"

namespace firn::target {
namespace {

using machine::Engine;

constexpr uint64_t kMicrosecond = 1'000'000;  ///< in picoseconds

uint32_t addBuffer(Plan& plan, std::string name, uint64_t bytes, uint64_t tiles) {
  plan.buffers.push_back({std::move(name), bytes, tiles, false});
  return static_cast<uint32_t>(plan.buffers.size() - 1);
}

PlanAccess whole(const Plan& plan, uint32_t buffer, bool isWrite) {
  const PlanBuffer& found = plan.buffers[buffer];
  return {.buffer = buffer, .isWrite = isWrite, .tiles = found.tiles, .bytes = found.bytes};
}
PlanAccess reads(const Plan& plan, uint32_t buffer) { return whole(plan, buffer, false); }
PlanAccess writes(const Plan& plan, uint32_t buffer) { return whole(plan, buffer, true); }
PlanAccess inTile(PlanAccess access, uint32_t tile) {
  access.tiles = uint64_t{1} << tile;
  return access;
}

void addDma(Plan& plan, std::string name, const machine::Work& work, std::vector<PlanAccess> accesses) {
  plan.tasks.push_back({std::move(name), Engine::kDma, 0, work, std::move(accesses)});
}

struct Place {
  Engine engine = Engine::kDpu;
  uint32_t tile = 0;
};
void addCompute(Plan& plan, std::string name, Place place, uint64_t picoseconds, std::vector<PlanAccess> accesses) {
  plan.tasks.push_back({std::move(name), place.engine, place.tile, {picoseconds, 0, 0}, std::move(accesses)});
}

machine::Work ddrCopy(const machine::Machine& machine, uint64_t bytes) {
  return machine::dmaWork(machine, bytes, true);
}

constexpr uint64_t kVectorBytes = 6 * 1024;
constexpr uint64_t kLoadBytes = 128 << 10;
constexpr uint64_t kScaleBytes = 8 << 10;
constexpr uint64_t kResultBytes = 128;

/// The weight tiles that read one vector and make the next.
class DecodeLink {
 public:
  DecodeLink(Plan& plan, const machine::Machine& machine, uint32_t first)
      : plan_(plan), machine_(machine), first_(first), allTiles_((uint64_t{1} << machine.tiles) - 1) {}

  uint32_t make(uint32_t count, uint32_t vector) {
    const uint32_t next = addBuffer(plan_, concat("vector ", first_), kVectorBytes, 0);
    send(vector);
    const uint64_t rows = (count + machine_.tiles - 1) / machine_.tiles;
    std::vector<uint32_t> results;
    for (uint32_t tile = 0; tile < machine_.tiles; ++tile) {
      results.push_back(
          addBuffer(plan_, concat("results ", first_, " on ", tile), rows * kResultBytes, uint64_t{1} << tile));
    }
    for (uint32_t i = 0; i < count; ++i) {
      PlanAccess result = writes(plan_, results[i % machine_.tiles]);
      result.firstByte = i / machine_.tiles * kResultBytes;
      result.bytes = kResultBytes;
      multiply(first_ + i, i % machine_.tiles, result);
    }
    for (uint32_t tile = 0; tile < machine_.tiles && tile < count; ++tile) {
      PlanAccess part = reads(plan_, results[tile]);
      part.bytes = kResultBytes * ((count - tile - 1) / machine_.tiles + 1);
      PlanAccess to = writes(plan_, next);
      to.firstByte = tile * (kVectorBytes / machine_.tiles);
      to.bytes = part.bytes;
      addDma(plan_, concat("gather ", first_, " from ", tile), ddrCopy(machine_, part.bytes), {part, to});
    }
    return next;
  }

 private:
  void send(uint32_t vector) {
    const uint32_t sent = addBuffer(plan_, concat("sent ", first_), kVectorBytes, allTiles_);
    normed_ = addBuffer(plan_, concat("normed ", first_), kVectorBytes / 2, allTiles_);
    PlanAccess input = reads(plan_, vector);
    if (vector != 0)
      input = {
          .buffer = vector, .rows = machine_.tiles, .rowBytes = kVectorBytes / machine_.tiles, .bytes = kResultBytes};
    addDma(plan_, concat("send ", first_), ddrCopy(machine_, kVectorBytes), {input, writes(plan_, sent)});
    for (uint32_t tile = 0; tile < machine_.tiles; ++tile) {
      addCompute(plan_, concat("norm ", first_, " on ", tile), {Engine::kShave, tile}, 3 * kMicrosecond / 2,
                 {inTile(reads(plan_, sent), tile), inTile(writes(plan_, normed_), tile)});
    }
  }

  void multiply(uint32_t number, uint32_t tile, const PlanAccess& result) {
    const uint64_t mask = uint64_t{1} << tile;
    const uint32_t loaded = addBuffer(plan_, concat("weights ", number), kLoadBytes, mask);
    const uint32_t partials = addBuffer(plan_, concat("partials ", number), 32 << 10, mask);
    addDma(plan_, concat("load ", number), ddrCopy(machine_, kLoadBytes), {writes(plan_, loaded)});
    PlanAccess weights = reads(plan_, loaded);
    weights.bytes = kLoadBytes - kScaleBytes;
    PlanAccess scales = reads(plan_, loaded);
    scales.firstByte = weights.bytes;
    scales.bytes = kScaleBytes;
    addCompute(plan_, concat("matmul ", number), {Engine::kDpu, tile}, 5 * kMicrosecond / 2,
               {inTile(reads(plan_, normed_), tile), weights, writes(plan_, partials)});
    addCompute(plan_, concat("accumulate ", number), {Engine::kShave, tile}, 5 * kMicrosecond / 2,
               {reads(plan_, partials), scales, result});
  }

  Plan& plan_;
  const machine::Machine& machine_;
  uint32_t first_;
  uint64_t allTiles_;
  uint32_t normed_ = 0;
};

}  // namespace

machine::Machine sixTileMachine() {
  machine::Machine machine;
  machine.name = "six tiles";
  machine.tiles = 6;
  machine.dpuMhz = 1700;
  machine.shaveMhz = 971;
  machine.cmxBytes = 1440 << 10;
  machine.dmaEngines = 2;
  machine.dmaBytesPerCycle = 64;
  machine.dmaDdrLatencyNs = 300;
  machine.dmaCmxLatencyCycles = 32;
  machine.ddrMegabytesPerSecond = 68'000;
  machine.ddrBytes = uint64_t{32} << 30;
  machine.barriers = 64;
  return machine;
}

machine::Machine smallMachine(uint32_t tiles) {
  machine::Machine machine = sixTileMachine();
  machine.name = "small";
  machine.tiles = tiles;
  machine.cmxBytes = 8 << 10;
  return machine;
}

Plan decodePlan(const machine::Machine& machine, const DecodeShape& shape) {
  Plan plan;
  plan.buffers.push_back({"input", kVectorBytes, 0, true});
  uint32_t vector = 0;
  for (uint32_t first = 0; first < shape.weightTiles; first += shape.chainEvery) {
    const uint32_t count = std::min(shape.chainEvery, shape.weightTiles - first);
    vector = DecodeLink(plan, machine, first).make(count, vector);
  }
  return plan;
}

Plan prefillPlan(const machine::Machine& machine, uint32_t steps) {
  Plan plan;
  const uint64_t allTiles = (uint64_t{1} << machine.tiles) - 1;
  const auto ddrCopy = [&](uint64_t bytes) { return machine::dmaWork(machine, bytes, true); };
  constexpr uint32_t kStepsOfAnOp = 8;
  constexpr uint64_t kColumnBytes = 16 << 10;
  plan.buffers.push_back({"input", machine.tiles * kStepsOfAnOp * kColumnBytes, 0, true});
  uint32_t source = 0;
  for (uint32_t step = 0; step < steps; step += kStepsOfAnOp) {
    const uint32_t next = addBuffer(plan, concat("output ", step), machine.tiles * kStepsOfAnOp * kColumnBytes, 0);
    std::vector<uint32_t> rows;
    for (uint32_t tile = 0; tile < machine.tiles; ++tile) {
      rows.push_back(
          addBuffer(plan, concat("rows ", step, " on ", tile), kStepsOfAnOp * kColumnBytes, uint64_t{1} << tile));
      PlanAccess part = reads(plan, source);
      part.bytes = kStepsOfAnOp * kColumnBytes;
      part.firstByte = tile * part.bytes;
      addDma(plan, concat("load rows ", step, " on ", tile), ddrCopy(part.bytes), {part, writes(plan, rows[tile])});
    }
    for (uint32_t i = 0; i < kStepsOfAnOp; ++i) {
      const uint32_t packed = addBuffer(plan, concat("packed ", step + i), 128 << 10, allTiles);
      addDma(plan, concat("load weights ", step + i), ddrCopy(128 << 10), {writes(plan, packed)});
      for (uint32_t tile = 0; tile < machine.tiles; ++tile) {
        const uint64_t mask = uint64_t{1} << tile;
        const std::string name = concat(step + i, " on ", tile);
        const uint32_t expanded = addBuffer(plan, "expanded " + name, 384 << 10, mask);
        const uint32_t result = addBuffer(plan, "result " + name, kColumnBytes, mask);
        addCompute(plan, "expand " + name, {Engine::kShave, tile}, 12 * kMicrosecond,
                   {inTile(reads(plan, packed), tile), writes(plan, expanded)});
        addCompute(plan, "matmul " + name, {Engine::kDpu, tile}, 24 * kMicrosecond,
                   {reads(plan, rows[tile]), reads(plan, expanded), writes(plan, result)});
        PlanAccess part = writes(plan, next);
        part.rows = 64;
        part.rowBytes = kStepsOfAnOp * kColumnBytes / 64;
        part.firstRow = tile * 64;
        part.bytes = kColumnBytes / 64;
        part.firstByte = i * part.bytes;
        addDma(plan, "store " + name, ddrCopy(kColumnBytes), {reads(plan, result), part});
      }
    }
    source = next;
  }
  return plan;
}

}  // namespace firn::target
