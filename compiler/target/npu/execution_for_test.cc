#include "compiler/target/npu/execution_for_test.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <unordered_set>
#include <utility>

#include "base/concat.h"

namespace firn::target {
namespace {

/// The bytes of a region, one by one.
void forEachByte(const CheckRegion& region, const std::function<void(uint64_t)>& visit, size_t dim = 0,
                 uint64_t begin = 0) {
  if (dim == region.dims.size()) {
    for (uint64_t i = 0; i < region.bytes; ++i) visit(region.address + begin + i);
    return;
  }
  for (uint64_t i = 0; i < region.dims[dim].count; ++i) {
    forEachByte(region, visit, dim + 1, begin + i * region.dims[dim].strideBytes);
  }
}

uint64_t mixed(uint64_t hash, uint64_t value) { return (hash ^ value) * 0x100000001b3 + 0x9e3779b97f4a7c15; }

class Memory {
 public:
  /// What an initialised memory holds follows from its number modulo `period`.
  Memory(const CheckProgram& program, uint32_t period, uint8_t garbage) : program_(program) {
    for (uint32_t i = 0; i < program.memories.size(); ++i) {
      bytes_.emplace_back(program.memories[i].bytes, garbage);
      if (!program.memories[i].isInitialised) continue;
      for (uint64_t byte = 0; byte < bytes_[i].size(); ++byte) {
        bytes_[i][byte] = static_cast<uint8_t>(mixed(byte, i % period) >> 7);
      }
    }
  }

  /// Of what a task reads; without what lies in values that it also writes if `isStableOnly`.
  uint64_t digest(uint32_t task, bool isStableOnly) const {
    uint64_t hash = mixed(1, task);
    for (const CheckRegion& region : program_.tasks[task].regions) {
      if (region.isWrite || (isStableOnly && writes(task, region.value))) continue;
      forEachByte(region, [&](uint64_t byte) { hash = mixed(hash, bytes_[region.memory][byte]); });
    }
    return hash | 1;
  }

  void write(uint32_t task, uint64_t seed) {
    for (const CheckRegion& region : program_.tasks[task].regions) {
      if (!region.isWrite) continue;
      uint64_t hash = mixed(seed, region.place);
      forEachByte(region, [&](uint64_t byte) {
        hash = mixed(hash, 1);
        bytes_[region.memory][byte] = static_cast<uint8_t>(hash >> 16);
      });
    }
  }

 private:
  bool writes(uint32_t task, uint32_t value) const {
    for (const CheckRegion& region : program_.tasks[task].regions) {
      if (region.isWrite && region.value == value) return true;
    }
    return false;
  }

  const CheckProgram& program_;
  std::vector<std::vector<uint8_t>> bytes_;
};

/// The queues while a program runs.
struct State {
  std::vector<uint32_t> next;
  std::vector<bool> isRunning;

  explicit State(size_t queues) : next(queues), isRunning(queues) {}
  std::string key() const {
    std::string key;
    for (size_t i = 0; i < next.size(); ++i) key.append({static_cast<char>(next[i]), static_cast<char>(isRunning[i])});
    return key;
  }
};

class Queues {
 public:
  explicit Queues(const CheckProgram& program) : program_(program), places_(program.tasks.size(), {SIZE_MAX, 0}) {
    for (size_t queue = 0; queue < program.queues.size(); ++queue) {
      for (uint32_t i = 0; i < program.queues[queue].size(); ++i) places_[program.queues[queue][i]] = {queue, i};
    }
  }

  bool isDone(const State& state) const {
    for (size_t queue = 0; queue < state.next.size(); ++queue) {
      if (state.next[queue] < program_.queues[queue].size()) return false;
    }
    return true;
  }
  uint32_t head(const State& state, size_t queue) const { return program_.queues[queue][state.next[queue]]; }

  /// The queues whose head can start or end.
  std::vector<size_t> moves(const State& state) const {
    std::vector<uint32_t> counters(program_.barriers);
    for (size_t queue = 0; queue < state.next.size(); ++queue) {
      for (uint32_t i = 0; i < state.next[queue]; ++i) {
        for (const uint16_t barrier : program_.tasks[program_.queues[queue][i]].signals) ++counters[barrier];
      }
    }
    std::vector<size_t> found;
    for (size_t queue = 0; queue < state.next.size(); ++queue) {
      if (state.next[queue] == program_.queues[queue].size()) continue;
      bool canMove = true;
      for (const machine::Wait& wait : program_.tasks[head(state, queue)].waits) {
        canMove &= counters[wait.barrier] >= wait.count;
      }
      if (canMove || state.isRunning[queue]) found.push_back(queue);
    }
    return found;
  }

  /// False for a task of no queue.
  bool hasEnded(const State& state, uint32_t task) const {
    const auto [queue, place] = places_[task];
    return queue != SIZE_MAX && state.next[queue] > place;
  }

  static void move(State& state, size_t queue) {
    if (state.isRunning[queue]) ++state.next[queue];
    state.isRunning[queue] = !state.isRunning[queue];
  }

 private:
  const CheckProgram& program_;
  std::vector<std::pair<size_t, uint32_t>> places_;  ///< queue and place in it
};

/// Per task the earlier ones of the program with which it shares a byte that one of them writes.
std::vector<std::vector<uint32_t>> conflictsOf(const CheckProgram& program) {
  std::vector<std::unordered_set<uint64_t>> touched(program.tasks.size());
  std::vector<std::unordered_set<uint64_t>> written(program.tasks.size());
  for (uint32_t task = 0; task < program.tasks.size(); ++task) {
    for (const CheckRegion& region : program.tasks[task].regions) {
      forEachByte(region, [&](uint64_t byte) {
        touched[task].insert(uint64_t{region.memory} << 40 | byte);
        if (region.isWrite) written[task].insert(uint64_t{region.memory} << 40 | byte);
      });
    }
  }
  const auto meet = [](const std::unordered_set<uint64_t>& a, const std::unordered_set<uint64_t>& b) {
    return std::any_of(a.begin(), a.end(), [&](uint64_t byte) { return b.contains(byte); });
  };
  std::vector<std::vector<uint32_t>> conflicts(program.tasks.size());
  for (uint32_t task = 0; task < program.tasks.size(); ++task) {
    for (uint32_t other = 0; other < task; ++other) {
      if (meet(written[task], touched[other]) || meet(written[other], touched[task])) conflicts[task].push_back(other);
    }
  }
  return conflicts;
}

/// Walks over all states; calls onStart(state, task) before each start, until it returns false. False where tasks are
/// left and none can go on.
template <typename OnStart>
bool explore(const CheckProgram& program, const OnStart& onStart) {
  const Queues queues(program);
  std::deque<State> open = {State(program.queues.size())};
  std::unordered_set<std::string> seen = {open[0].key()};
  for (; !open.empty(); open.pop_front()) {
    const State& state = open.front();
    const std::vector<size_t> moves = queues.moves(state);
    if (moves.empty() && !queues.isDone(state)) return false;
    for (const size_t queue : moves) {
      if (!state.isRunning[queue] && !onStart(state, queues.head(state, queue))) return true;
      State next = state;
      Queues::move(next, queue);
      if (seen.insert(next.key()).second) open.push_back(std::move(next));
    }
  }
  return true;
}

}  // namespace

Digests sequentialDigests(const CheckProgram& program) {
  CheckProgram apart = program;
  apart.memories.clear();
  for (const CheckValue& value : program.values) {
    for (const CheckMemory& memory : program.memories) {
      apart.memories.push_back({"", value.bytes, memory.isInitialised});
    }
  }
  for (CheckTask& task : apart.tasks) {
    for (CheckRegion& region : task.regions) {
      region.memory += static_cast<uint32_t>(region.value * program.memories.size());
      region.address = region.place;
    }
  }
  Memory memory(apart, static_cast<uint32_t>(program.memories.size()), 0x55);
  Digests digests;
  for (uint32_t task = 0; task < program.tasks.size(); ++task) {
    digests.push_back(memory.digest(task, false));
    memory.write(task, digests[task]);
  }
  return digests;
}

std::optional<Digests> randomDigests(const CheckProgram& program, std::mt19937& random) {
  Memory memory(program, static_cast<uint32_t>(program.memories.size()), 0xaa);
  const Queues queues(program);
  State state(program.queues.size());
  std::vector<uint32_t> haste(program.queues.size());
  for (uint32_t& value : haste) value = 1 + static_cast<uint32_t>(random()) % 64;
  Digests digests(program.tasks.size());
  Digests stable(program.tasks.size());
  while (!queues.isDone(state)) {
    const std::vector<size_t> moves = queues.moves(state);
    if (moves.empty()) return std::nullopt;
    std::vector<uint32_t> weights;
    for (const size_t queue : moves) weights.push_back(haste[queue]);
    const size_t queue = moves[std::discrete_distribution<size_t>(weights.begin(), weights.end())(random)];
    const uint32_t task = queues.head(state, queue);
    if (!state.isRunning[queue]) {
      digests[task] = memory.digest(task, false);
      stable[task] = memory.digest(task, true);
      memory.write(task, random());
    } else {
      if (stable[task] != memory.digest(task, true)) digests[task] = 2;
      memory.write(task, digests[task]);
    }
    Queues::move(state, queue);
  }
  return digests;
}

std::optional<std::vector<std::vector<bool>>> certainOrder(const CheckProgram& program) {
  const size_t tasks = program.tasks.size();
  std::vector<std::vector<bool>> certain(tasks, std::vector<bool>(tasks, true));
  const Queues queues(program);
  const bool ends = explore(program, [&](const State& state, uint32_t starting) {
    for (uint32_t task = 0; task < tasks; ++task) {
      if (!queues.hasEnded(state, task)) certain[task][starting] = false;
    }
    return true;
  });
  return ends ? std::optional(certain) : std::nullopt;
}

std::optional<std::string> faultInAnyExecution(const CheckProgram& program) {
  const std::vector<std::vector<uint32_t>> conflicts = conflictsOf(program);
  const Queues queues(program);
  std::optional<std::string> fault;
  const bool ends = explore(program, [&](const State& state, uint32_t starting) {
    for (const uint32_t other : conflicts[starting]) {
      if (queues.hasEnded(state, other)) continue;
      fault = concat(program.tasks[starting].name, " before ", program.tasks[other].name);
    }
    return !fault;
  });
  return fault || ends ? fault : "deadlock";
}

}  // namespace firn::target
