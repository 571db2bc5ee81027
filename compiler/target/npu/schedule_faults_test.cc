// Faults put into good schedules, one at a time: the check must find every one that can make a body go wrong, and name
// the tasks. Whether a fault can is not asked of the check: small programs are executed in every way that their queues
// and barriers allow, and all their bytes are compared with those of the program's own order.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "compiler/target/npu/execution_for_test.h"
#include "compiler/target/npu/plans_for_test.h"
#include "compiler/target/npu/schedule_program.h"

namespace firn::target {
namespace {

enum class Fault : uint8_t {
  kDroppedSignal,
  kDroppedWait,
  kSwappedWaits,
  kLoweredCount,
  kShiftedAddress,
  kOverlongAccess,
  kMissingTask,
  kMissingWrite,
  kSwappedOrder,
};
constexpr std::array kFaults = {
    Fault::kDroppedSignal,  Fault::kDroppedWait, Fault::kSwappedWaits, Fault::kLoweredCount, Fault::kShiftedAddress,
    Fault::kOverlongAccess, Fault::kMissingTask, Fault::kMissingWrite, Fault::kSwappedOrder,
};
constexpr std::array kFaultNames = {"dropped signal", "dropped wait",    "swapped waits",
                                    "lowered count",  "shifted address", "overlong access",
                                    "missing task",   "missing write",   "swapped order"};

uint64_t endOf(const CheckRegion& region) {
  uint64_t end = region.address + region.bytes;
  for (const CheckDim& dim : region.dims) end += (dim.count - 1) * dim.strideBytes;
  return end;
}

template <typename List>
auto& anyOf(List& list, std::mt19937& random) {
  return list[random() % list.size()];
}

class Injector {
 public:
  Injector(const CheckProgram& good, std::mt19937& random) : good_(good), random_(random) {}

  /// Nothing where the program has no place for such a fault.
  std::optional<CheckProgram> make(Fault fault) {
    program_ = good_;
    if (!inject(fault)) return std::nullopt;
    return program_;
  }

 private:
  bool inject(Fault fault) {
    switch (fault) {
      case Fault::kDroppedSignal: return dropSignal();
      case Fault::kDroppedWait: return dropWait();
      case Fault::kSwappedWaits: return swapWaits();
      case Fault::kLoweredCount: return lowerCount();
      case Fault::kShiftedAddress: return shiftAddress();
      case Fault::kOverlongAccess: return lengthen();
      case Fault::kMissingTask: return removeTask();
      case Fault::kMissingWrite: return removeWrite();
      case Fault::kSwappedOrder: return swapOrder();
    }
    return false;
  }

  template <typename Predicate>
  CheckTask* anyTask(const Predicate& fits) {
    std::vector<CheckTask*> found;
    for (CheckTask& task : program_.tasks) {
      if (fits(task)) found.push_back(&task);
    }
    return found.empty() ? nullptr : anyOf(found, random_);
  }
  CheckTask* anyWaiter() {
    return anyTask([](const CheckTask& task) { return !task.waits.empty(); });
  }
  CheckTask* anyWithRegions() {
    return anyTask([](const CheckTask& task) { return !task.regions.empty(); });
  }

  bool dropSignal() {
    CheckTask* task = anyTask([](const CheckTask& other) { return !other.signals.empty(); });
    if (task != nullptr) task->signals.pop_back();
    return task != nullptr;
  }
  bool dropWait() {
    CheckTask* task = anyWaiter();
    if (task != nullptr) task->waits.erase(task->waits.begin() + static_cast<int64_t>(random_() % task->waits.size()));
    return task != nullptr;
  }
  bool swapWaits() {
    CheckTask* a = anyWaiter();
    CheckTask* b = anyWaiter();
    if (a == nullptr || a == b) return false;
    std::swap(anyOf(a->waits, random_), anyOf(b->waits, random_));
    return true;
  }
  bool lowerCount() {
    CheckTask* task = anyWaiter();
    if (task != nullptr) anyOf(task->waits, random_).count -= 1;
    return task != nullptr;
  }
  bool shiftAddress() {
    CheckTask* task = anyWithRegions();
    if (task == nullptr) return false;
    CheckRegion& region = anyOf(task->regions, random_);
    const uint64_t bytes = 1 + random_() % 256;
    if (random_() % 2 == 0 && region.address < bytes) return false;
    region.address = random_() % 2 == 0 || region.address < bytes ? region.address + bytes : region.address - bytes;
    return true;
  }
  /// Beyond the end of the value. Within it a longer access is another program, which may well be right: what a task
  /// should touch of a value the check is told, and cannot know better.
  bool lengthen() {
    CheckTask* task = anyWithRegions();
    if (task == nullptr) return false;
    CheckRegion& region = anyOf(task->regions, random_);
    const uint64_t rest = program_.values[region.value].bytes - region.place;
    if (region.dims.empty()) {
      region.bytes = rest + 1 + random_() % 64;
    } else {
      region.dims[0].count = rest / region.dims[0].strideBytes + 1 + random_() % 2;
    }
    return endOf(region) > region.address + rest;
  }
  /// A queue loses a task, or its signals move to the one before.
  bool removeTask() {
    std::vector<uint32_t>& queue = anyOf(program_.queues, random_);
    if (queue.empty()) return false;
    const size_t place = random_() % queue.size();
    const std::vector<uint16_t> signals = program_.tasks[queue[place]].signals;
    if (place > 0 && random_() % 2 == 0) {
      std::vector<uint16_t>& before = program_.tasks[queue[place - 1]].signals;
      before.insert(before.end(), signals.begin(), signals.end());
    }
    queue.erase(queue.begin() + static_cast<int64_t>(place));
    return true;
  }
  /// Only where no other task and nobody outside writes any of the value: else the bytes of an older write would be
  /// read as if nothing were missing, and the program that the check is given would say the same.
  bool removeWrite() {
    std::vector<int> writers(program_.values.size());
    for (const CheckTask& task : program_.tasks) {
      for (const CheckRegion& region : task.regions) writers[region.value] += region.isWrite ? 1 : 0;
    }
    std::vector<std::pair<CheckTask*, uint32_t>> found;
    for (CheckTask& task : program_.tasks) {
      for (const CheckRegion& region : task.regions) {
        const bool isOnly =
            region.isWrite && writers[region.value] == 1 && !program_.memories[region.memory].isInitialised;
        if (isOnly) found.emplace_back(&task, region.value);
      }
    }
    if (found.empty()) return false;
    const auto [task, value] = anyOf(found, random_);
    std::erase_if(task->regions, [&](const CheckRegion& region) { return region.isWrite && region.value == value; });
    return true;
  }
  bool swapOrder() {
    std::vector<uint32_t>& queue = anyOf(program_.queues, random_);
    if (queue.size() < 2) return false;
    const size_t place = random_() % (queue.size() - 1);
    std::swap(queue[place], queue[place + 1]);
    return true;
  }

  const CheckProgram& good_;
  std::mt19937& random_;
  CheckProgram program_;
};

bool leavesMemory(const CheckProgram& program) {
  for (const CheckTask& task : program.tasks) {
    for (const CheckRegion& region : task.regions) {
      if (endOf(region) > program.memories[region.memory].bytes) return true;
    }
  }
  return false;
}

/// What can go wrong, found without the check.
std::optional<std::string> harmOf(const CheckProgram& program, const Digests& expected, std::mt19937& random) {
  if (leavesMemory(program)) return "leaves the memory";
  if (auto fault = faultInAnyExecution(program)) return fault;
  // No execution breaks the program's order, so all give the same bytes: one tells.
  const auto found = randomDigests(program, random);
  if (!found || *found != expected) return "other bytes";
  return std::nullopt;
}

size_t tasksNamed(const CheckProgram& program, const std::string& message) {
  return static_cast<size_t>(std::count_if(program.tasks.begin(), program.tasks.end(), [&](const CheckTask& task) {
    return message.find(concat("'", task.name, "'")) != std::string::npos;
  }));
}

Plan handmadePlan() {
  const uint64_t tile = 1;
  Plan plan;
  plan.buffers = {{"in", 512, 0, true},    {"x", 256, tile, false},  {"w", 512, tile, false}, {"y", 256, tile, false},
                  {"z", 256, tile, false}, {"spill", 256, 0, false}, {"out", 256, 0, true}};
  const auto all = [&](uint32_t buffer, bool isWrite) {
    return PlanAccess{
        .buffer = buffer, .isWrite = isWrite, .tiles = plan.buffers[buffer].tiles, .bytes = plan.buffers[buffer].bytes};
  };
  using machine::Engine;
  const machine::Work dma{300'000, 256, 0};
  const machine::Work compute{1'000'000, 0, 0};
  plan.tasks = {{"load x", Engine::kDma, 0, dma, {{.buffer = 0, .bytes = 256}, all(1, true)}},
                {"load w", Engine::kDma, 0, dma, {all(2, true)}},
                {"matmul", Engine::kDpu, 0, compute, {all(1, false), all(2, false), all(3, true)}},
                {"load w again", Engine::kDma, 0, dma, {all(2, true)}},
                {"add", Engine::kDpu, 0, compute, {all(1, false), all(2, false), all(3, false), all(3, true)}},
                {"silu", Engine::kShave, 0, compute, {all(3, false), all(4, true)}},
                {"spill", Engine::kDma, 0, dma, {all(4, false), all(5, true)}},
                {"norm", Engine::kShave, 0, compute, {all(4, false), all(4, true)}},
                {"fill", Engine::kDma, 0, dma, {all(5, false), all(3, true)}},
                {"mul", Engine::kShave, 0, compute, {all(3, false), all(4, false), all(4, true)}},
                {"store", Engine::kDma, 0, dma, {all(4, false), all(6, true)}}};
  return plan;
}

/// Good programs that are small enough to execute in every way.
std::vector<CheckProgram> smallPrograms() {
  std::vector<CheckProgram> programs;
  std::vector<Plan> plans = {handmadePlan()};
  for (uint32_t seed = 0; seed < 12; ++seed) {
    plans.push_back(randomPlan(smallMachine(1), {.seed = seed, .tasks = 11, .liveBuffers = 4}));
  }
  for (const Plan& plan : plans) {
    const machine::Machine machine = smallMachine(1);
    const auto schedule = schedulePlan(plan, machine);
    if (schedule.isOk()) programs.push_back(programOf(plan, *schedule, machine));
  }
  return programs;
}

TEST(ScheduleFaultsTest, EveryHarmfulFaultIsFound) {
  std::mt19937 random(7);
  std::array<int, kFaults.size()> harmful{};
  for (const CheckProgram& good : smallPrograms()) {
    const Digests expected = sequentialDigests(good);
    ASSERT_EQ(checkProgram(good).message(), "");
    ASSERT_EQ(harmOf(good, expected, random).value_or(""), "");
    for (size_t i = 0; i < 6 * kFaults.size(); ++i) {
      const size_t kind = i % kFaults.size();
      const auto bad = Injector(good, random).make(kFaults[kind]);
      if (!bad) continue;
      const auto harm = harmOf(*bad, expected, random);
      const Status status = checkProgram(*bad);
      if (!harm) {  // still right, whatever its times; a value whose tasks do not agree on its place is refused all the
                    // same
        const bool isPlace = kFaults[kind] == Fault::kShiftedAddress || kFaults[kind] == Fault::kOverlongAccess;
        if (!isPlace) EXPECT_TRUE(status.isOk()) << kFaultNames[kind] << ": " << status.message();
        continue;
      }
      ++harmful[kind];
      EXPECT_FALSE(status.isOk()) << kFaultNames[kind] << ": " << *harm;
      if (!status.isOk()) EXPECT_GE(tasksNamed(good, status.message()), 1U) << status.message();
    }
  }
  for (size_t kind = 0; kind < kFaults.size(); ++kind) EXPECT_GE(harmful[kind], 20) << kFaultNames[kind];
  EXPECT_GE(std::accumulate(harmful.begin(), harmful.end(), 0), 400);
}

/// No wait of a schedule is implied by others, so each lost one is a race.
TEST(ScheduleFaultsTest, EveryLostWaitIsFoundInLargePrograms) {
  std::mt19937 random(3);
  const machine::Machine machine = sixTileMachine();
  for (const Plan& plan : {decodePlan(machine, {.weightTiles = 90}), prefillPlan(machine, 16),
                           randomPlan(machine, {.seed = 1, .tasks = 300, .hasMixedStrides = false})}) {
    const auto schedule = schedulePlan(plan, machine);
    ASSERT_TRUE(schedule.isOk()) << schedule.status().toString();
    const CheckProgram good = programOf(plan, *schedule, machine);
    ASSERT_EQ(checkProgram(good).message(), "");
    for (int i = 0; i < 60; ++i) {
      CheckProgram bad = good;
      CheckTask& task = anyOf(bad.tasks, random);
      if (task.waits.empty()) continue;
      task.waits.erase(task.waits.begin() + static_cast<int64_t>(random() % task.waits.size()));
      const Status status = checkProgram(bad);
      ASSERT_FALSE(status.isOk()) << task.name;
      EXPECT_GE(tasksNamed(good, status.message()), 2U) << status.message();
    }
  }
}

}  // namespace
}  // namespace firn::target
