// The event loop against another way to the same times: walk through time in small steps, with floating-point numbers
// and no events, and look at every step what may start, move or end. It is slow, shares nothing with the event loop,
// and errs by at most a step for each task in a chain, so both must agree to 0.5 %.
#include <algorithm>
#include <cmath>
#include <deque>
#include <random>

#include <gtest/gtest.h>

#include "base/concat.h"
#include "blob/machine/sample_machine_for_test.h"
#include "blob/machine/timeline.h"

namespace firn::machine {
namespace {

constexpr double kStep = 250;  // picoseconds

struct Schedule {
  Machine machine = sampleMachine();
  std::vector<TimelineTask> tasks;
  std::deque<std::vector<Wait>> waits;
  std::deque<std::vector<uint16_t>> signals;

  void add(Engine engine, uint32_t index, Work work, std::vector<Wait> taskWaits, std::vector<uint16_t> taskSignals) {
    tasks.push_back({static_cast<uint16_t>(queueOf(machine, engine, index)), work,
                     waits.emplace_back(std::move(taskWaits)), signals.emplace_back(std::move(taskSignals))});
  }
};

/// Bytes per picosecond that each of `wishes` (the most it can take) gets of `capacity`: while some wish for less than
/// an equal part of what is left, they get their wish; the others then get equal parts.
std::vector<double> fairShares(const std::vector<double>& wishes, double capacity) {
  std::vector<double> shares(wishes.size(), -1);
  size_t open = wishes.size();
  for (bool isSettled = false; !isSettled && open > 0;) {
    isSettled = true;
    const double part = capacity / static_cast<double>(open);
    for (size_t i = 0; i < wishes.size(); ++i) {
      if (shares[i] >= 0 || wishes[i] > part) continue;
      shares[i] = wishes[i];
      capacity -= wishes[i];
      --open;
      isSettled = false;
      break;  // the parts are larger now
    }
  }
  for (double& share : shares) {
    if (share < 0) share = capacity / static_cast<double>(open);
  }
  return shares;
}

/// The slow way. Every task is in one of four states; a step changes what it can and then lets kStep pass.
class SteppingOracle {
 public:
  explicit SteppingOracle(const Schedule& schedule)
      : machine_(schedule.machine), tasks_(schedule.tasks), states_(tasks_.size()), counters_(65536) {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      states_[i].latency = static_cast<double>(tasks_[i].work.fixedPicoseconds);
      const bool isDma = tasks_[i].queue < machine_.dmaEngines;
      const Work& work = tasks_[i].work;
      states_[i].bytes =
          !isDma ? 0 : static_cast<double>(std::max(work.ddrBytes, work.ddrBytes > 0 ? 0 : work.cmxBytes));
    }
  }

  /// The end of every task, in picoseconds.
  std::vector<double> run() {
    while (!std::ranges::all_of(states_, &State::isDone)) {
      if (now_ >= 1e3 * machine_.callStartNs) startTasks();
      pass();
      now_ += kStep;
      endTasks();
      if (now_ > 1e9) break;  // a deadlock: the ends left at 0 fail the comparison
    }
    std::vector<double> ends;
    for (const State& state : states_) ends.push_back(state.end);
    return ends;
  }

 private:
  struct State {
    bool isRunning = false;
    bool isDone = false;
    double latency = 0;
    double bytes = 0;
    double end = 0;
  };

  void startTasks() {
    std::vector<bool> isTaken(64);
    for (size_t i = 0; i < tasks_.size(); ++i) {
      if (states_[i].isDone || isTaken[tasks_[i].queue]) continue;
      isTaken[tasks_[i].queue] = true;  // by the first task of the queue that is not done
      bool mayStart = true;
      for (const Wait& wait : tasks_[i].waits) mayStart = mayStart && counters_[wait.barrier] >= wait.count;
      states_[i].isRunning = states_[i].isRunning || mayStart;
    }
  }

  void pass() {
    std::vector<size_t> movers;
    std::vector<double> wishes;
    const double engine = static_cast<double>(machine_.dmaBytesPerCycle) * machine_.shaveMhz / 1e6;
    for (size_t i = 0; i < tasks_.size(); ++i) {
      State& state = states_[i];
      if (!state.isRunning || state.isDone) continue;
      if (state.latency > 0) {
        state.latency -= kStep;
      } else if (tasks_[i].work.ddrBytes > 0 && state.bytes > 0) {
        movers.push_back(i);
        wishes.push_back(engine);
      } else {
        state.bytes -= engine * kStep;
      }
    }
    const std::vector<double> shares = fairShares(wishes, static_cast<double>(machine_.ddrMegabytesPerSecond) / 1e6);
    for (size_t i = 0; i < movers.size(); ++i) states_[movers[i]].bytes -= shares[i] * kStep;
  }

  void endTasks() {
    for (size_t i = 0; i < tasks_.size(); ++i) {
      State& state = states_[i];
      if (!state.isRunning || state.isDone || state.latency > 0 || state.bytes > 0) continue;
      state.isDone = true;
      state.end = now_;
      for (const uint16_t barrier : tasks_[i].signals) ++counters_[barrier];
    }
  }

  const Machine& machine_;
  const std::vector<TimelineTask>& tasks_;
  std::vector<State> states_;
  std::vector<uint64_t> counters_;
  double now_ = 0;
};

void expectAgreement(const Schedule& schedule, const std::string& name) {
  SCOPED_TRACE(name);
  const auto timeline = runTimeline(schedule.machine, schedule.tasks);
  ASSERT_TRUE(timeline.isOk()) << timeline.status().message();
  const std::vector<double> ends = SteppingOracle(schedule).run();
  ASSERT_GT(timeline->picoseconds, 2'000'000U);  // so that a step is less than 0.02 %
  const double tolerance = 0.005 * static_cast<double>(timeline->picoseconds);
  for (size_t i = 0; i < ends.size(); ++i) {
    EXPECT_NEAR(static_cast<double>(timeline->tasks[i].end), ends[i], tolerance) << "task " << i;
  }
  EXPECT_NEAR(static_cast<double>(timeline->picoseconds), *std::ranges::max_element(ends), tolerance);
}

TEST(TimelineOracleTest, BothEnginesShareDdrWithStaggeredStarts) {
  Schedule schedule;
  const Machine& machine = schedule.machine;
  for (uint32_t i = 0; i < 6; ++i) {
    schedule.add(Engine::kDma, i % 2, dmaWork(machine, 20'000 + 7'000 * i, true), {}, {static_cast<uint16_t>(i % 2)});
  }
  schedule.add(Engine::kDma, 0, dmaWork(machine, 30'000, false), {}, {});
  schedule.add(Engine::kDma, 1, dmaWork(machine, 50'000, true), {{.barrier = 0, .count = 3}}, {});
  expectAgreement(schedule, "staggered");
}

TEST(TimelineOracleTest, DoubleBufferedWeightsOnTwoTiles) {
  Schedule schedule;
  const Machine& machine = schedule.machine;
  // Barriers: 0, 1 a tile's weights are there; 2, 3 its matmuls are done; 4, 5 its kernels are.
  for (uint32_t step = 0; step < 5; ++step) {
    for (uint16_t tile = 0; tile < 2; ++tile) {
      std::vector<Wait> free;
      if (step >= 2) free.push_back({.barrier = static_cast<uint16_t>(2 + tile), .count = step - 1});
      const auto copied = tile;
      const auto multiplied = static_cast<uint16_t>(2 + tile);
      schedule.add(Engine::kDma, tile, dmaWork(machine, 40'000 + 9'000 * tile, true), free, {copied});
      schedule.add(Engine::kDpu, tile, dpuWork(machine, {.m = 16, .n = 512, .k = 256, .weightBits = 8}),
                   {{.barrier = copied, .count = step + 1}}, {multiplied});
      schedule.add(Engine::kShave, tile, shaveWork(machine, "accumulate", 8192),
                   {{.barrier = multiplied, .count = step + 1}}, {static_cast<uint16_t>(4 + tile)});
    }
  }
  expectAgreement(schedule, "double buffered");
}

TEST(TimelineOracleTest, AMulticastFeedsBothTilesAndAGatherWaitsForBoth) {
  Schedule schedule;
  const Machine& machine = schedule.machine;
  schedule.add(Engine::kDma, 0, dmaWork(machine, 64'000, true), {}, {0, 1});  // one copy, a signal for each tile
  schedule.add(Engine::kDma, 1, dmaWork(machine, 90'000, true), {}, {2});
  schedule.add(Engine::kDpu, 0, {.fixedPicoseconds = 1'300'000}, {{.barrier = 0, .count = 1}}, {3});
  schedule.add(Engine::kDpu, 1, {.fixedPicoseconds = 900'000}, {{.barrier = 1, .count = 1}, {.barrier = 2, .count = 1}},
               {3});
  schedule.add(Engine::kDma, 0, dmaWork(machine, 32'000, true), {{.barrier = 3, .count = 2}}, {});
  schedule.add(Engine::kDma, 1, dmaWork(machine, 32'000, false), {{.barrier = 3, .count = 1}}, {});
  expectAgreement(schedule, "multicast");
}

TEST(TimelineOracleTest, FastMemoryThatCapsNoEngine) {
  Schedule schedule;
  schedule.machine.ddrMegabytesPerSecond = 500'000;
  for (uint32_t i = 0; i < 8; ++i) {
    schedule.add(Engine::kDma, i % 2, dmaWork(schedule.machine, 25'000 + 11'000 * i, true), {}, {});
  }
  expectAgreement(schedule, "fast memory");
}

TEST(TimelineOracleTest, ACallThatTakesLongToStart) {
  Schedule schedule;
  schedule.machine.callStartNs = 5000;
  for (uint32_t i = 0; i < 6; ++i) {
    const auto barrier = static_cast<uint16_t>(i % 2);
    schedule.add(Engine::kDma, i % 2, dmaWork(schedule.machine, 20'000 + 3'000 * i, true), {}, {barrier});
    schedule.add(Engine::kDpu, i % 2, {.fixedPicoseconds = 400'000}, {{.barrier = barrier, .count = 1 + i / 2}}, {});
  }
  expectAgreement(schedule, "start of a call");
}

/// Tasks in an order in which each could run, with barriers that earlier ones raise high enough.
Schedule randomSchedule(uint32_t seed) {
  std::mt19937 random(seed);
  const auto below = [&](uint32_t most) { return static_cast<uint32_t>(random() % most); };
  Schedule schedule;
  Machine& machine = schedule.machine;
  machine.tiles = 1 + below(3);
  machine.dmaEngines = 1 + below(4);
  machine.ddrMegabytesPerSecond = 20'000 + below(200'000);
  machine.dmaDdrLatencyNs = below(400);
  machine.callStartNs = seed % 2 == 0 ? 0 : below(4'000);
  std::vector<uint32_t> signalled(machine.barriers);
  for (uint32_t i = 0, count = 20 + below(25); i < count; ++i) {
    std::vector<Wait> waits;
    for (uint32_t w = below(3); w > 0; --w) {
      const uint32_t barrier = below(machine.barriers);
      if (signalled[barrier] > 0) waits.push_back({static_cast<uint16_t>(barrier), 1 + below(signalled[barrier])});
    }
    std::vector<uint16_t> signals;
    for (uint32_t s = below(3); s > 0; --s) {
      signals.push_back(static_cast<uint16_t>(below(machine.barriers)));
      ++signalled[signals.back()];
    }
    const auto engine = static_cast<Engine>(below(3));
    const uint32_t index = below(engine == Engine::kDma ? machine.dmaEngines : machine.tiles);
    const Work work = engine == Engine::kDma ? dmaWork(machine, 1 + below(90'000), below(4) > 0)
                                             : Work{.fixedPicoseconds = 20'000 + uint64_t{below(2'000'000)}};
    schedule.add(engine, index, work, std::move(waits), std::move(signals));
  }
  return schedule;
}

TEST(TimelineOracleTest, RandomSchedules) {
  for (uint32_t seed = 1; seed <= 24; ++seed) expectAgreement(randomSchedule(seed), concat("seed ", seed));
}

}  // namespace
}  // namespace firn::machine
