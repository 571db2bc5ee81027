#include "blob/machine/machine.h"

#include <cassert>

#include "base/concat.h"

namespace firn::machine {

uint32_t queueCount(const Machine& machine) { return machine.dmaEngines + 2 * machine.tiles; }

uint32_t queueOf(const Machine& machine, Engine engine, uint32_t index) {
  assert(index < (engine == Engine::kDma ? machine.dmaEngines : machine.tiles));
  switch (engine) {
    case Engine::kDma: return index;
    case Engine::kDpu: return machine.dmaEngines + index;
    case Engine::kShave: break;
  }
  return machine.dmaEngines + machine.tiles + index;
}

QueueOwner ownerOf(const Machine& machine, uint32_t queue) {
  assert(queue < queueCount(machine));
  if (queue < machine.dmaEngines) return {Engine::kDma, queue};
  queue -= machine.dmaEngines;
  if (queue < machine.tiles) return {Engine::kDpu, queue};
  return {Engine::kShave, queue - machine.tiles};
}

std::string queueName(const Machine& machine, uint32_t queue) {
  constexpr std::string_view kNames[] = {"dma ", "dpu ", "shave "};
  const QueueOwner owner = ownerOf(machine, queue);
  return concat(kNames[static_cast<size_t>(owner.engine)], owner.index);
}

}  // namespace firn::machine
