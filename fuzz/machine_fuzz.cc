// Arbitrary bytes as a machine file: what is accepted is within the limits, and no cost or time of it overflows.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <variant>

#include "blob/machine/cost.h"
#include "blob/machine/machine.h"
#include "blob/machine/machine_fields.h"
#include "blob/machine/timeline.h"
#include "fuzz/accepted.h"

namespace firn::machine {
namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

void checkLimits(const Machine& machine) {
  for (const Field& field : machineFields()) {
    const auto inside = [&](auto value) { check(value >= field.low && value <= field.high); };
    if (const auto* small = std::get_if<uint32_t Machine::*>(&field.into)) inside(machine.**small);
    if (const auto* large = std::get_if<uint64_t Machine::*>(&field.into)) inside(machine.**large);
  }
  check(queueCount(machine) <= kMostQueues && !machine.grids.empty());
}

void checkCosts(const Machine& machine) {
  for (const uint32_t dim : {1U, 1U << 10, UINT32_MAX}) {
    for (const uint32_t groups : {1U, dim}) {
      const Matmul matmul = {.m = dim, .n = dim, .k = dim, .groups = groups, .accumulates = true};
      check(dpuWork(machine, matmul).fixedPicoseconds <= kMostPicoseconds);
    }
    for (const std::string_view kernel : kShaveKernels) {
      check(shaveWork(machine, kernel, dim).fixedPicoseconds <=
            shaveWork(machine, kernel, UINT64_MAX).fixedPicoseconds);
    }
  }
}

/// One task on each queue: no wait, so each ends.
void checkTime(const Machine& machine) {
  std::vector<TimelineTask> tasks;
  for (uint32_t queue = 0; queue < queueCount(machine); ++queue) {
    const bool isDma = ownerOf(machine, queue).engine == Engine::kDma;
    const Work work = isDma ? dmaWork(machine, 1 + queue * 1000, queue % 3 != 2) : shaveWork(machine, "add", queue);
    tasks.push_back({.queue = static_cast<uint16_t>(queue), .work = work, .waits = {}, .signals = {}});
  }
  const auto timeline = runTimeline(machine, tasks);
  check(timeline.isOk() && timeline->picoseconds <= kMostPicoseconds);
  for (const QueueTime& time : timeline->queues) {
    check(time.busy + time.barrierWait + time.idle == timeline->picoseconds && time.bandwidthWait <= time.busy);
  }
}

void use(std::string_view text) {
  const auto machine = parseMachine(text, "fuzz");
  if (!machine.isOk()) {
    check(!machine.status().message().empty());
    return;
  }
  ++fuzz::acceptedInputs;
  checkLimits(*machine);
  checkCosts(*machine);
  checkTime(*machine);
}

}  // namespace
}  // namespace firn::machine

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  firn::machine::use({reinterpret_cast<const char*>(data), size});
  return 0;
}
