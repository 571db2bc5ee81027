#include "blob/machine/timeline.h"

#include <algorithm>
#include <string>

#include "base/concat.h"

namespace firn::machine {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr uint64_t kNever = UINT64_MAX;
/// Rates are bytes per microsecond with 20 binary digits behind the point, so an uneven share is exact to 10^-6 of an
/// MB/s. What is left of a transfer is bytes x 10^6 x 2^20: then a rate times picoseconds needs no division, and 64
/// bits of bytes fill 104 of 128.
constexpr uint32_t kFractionBits = 20;
constexpr Wide kUnitsPerByte = Wide{1'000'000} << kFractionBits;

enum class Phase : uint8_t { kIdle, kFixed, kTransfer };

struct Queue {
  std::vector<uint32_t> tasks;
  size_t next = 0;  ///< of tasks: the one that runs or waits
  Phase phase = Phase::kIdle;
  uint64_t changes = kNever;  ///< when the phase ends
  uint64_t freeSince = 0;
  // Of a transfer:
  bool isShared = false;  ///< uses DDR
  uint64_t began = 0;
  uint64_t since = 0;  ///< `left` was true then
  uint64_t rate = 0;   ///< since then; 0 before the first share
  Wide left = 0;

  bool hasTask() const { return next < tasks.size(); }
  uint32_t task() const { return tasks[next]; }
};

class EventLoop {
 public:
  EventLoop(const Machine& machine, std::span<const TimelineTask> tasks)
      : machine_(machine),
        tasks_(tasks),
        start_(uint64_t{machine.callStartNs} * 1000),
        queues_(queueCount(machine), Queue{.freeSince = start_}),
        counters_(machine.barriers),
        now_(start_) {}

  Result<Timeline> run() {
    FIRN_RETURN_IF_ERROR(sortIntoQueues());
    startReady();
    while (timeline_.order.size() < tasks_.size() || running_ > 0) {
      if (running_ == 0) return deadlock();
      now_ = std::ranges::min_element(queues_, {}, &Queue::changes)->changes;
      if (now_ > kMostPicoseconds) return internalError("the tasks take longer than 26 days");
      const bool hasEnded = endPhases();
      shareBandwidth();
      if (hasEnded) startReady();
    }
    return finish();
  }

 private:
  Status sortIntoQueues() {
    for (uint32_t i = 0; i < tasks_.size(); ++i) {
      const TimelineTask& task = tasks_[i];
      if (task.queue >= queues_.size()) {
        return internalError(
            concat("task ", i, ": found queue ", task.queue, ", expected one of the machine's ", queues_.size()));
      }
      const auto isAbsent = [&](uint16_t barrier) { return barrier >= counters_.size(); };
      if (std::ranges::any_of(task.waits, isAbsent, &Wait::barrier) || std::ranges::any_of(task.signals, isAbsent)) {
        return internalError(
            concat("task ", i, ": found a barrier above ", counters_.size() - 1, ", the machine's last"));
      }
      queues_[task.queue].tasks.push_back(i);
    }
    timeline_.tasks.resize(tasks_.size());
    timeline_.order.reserve(tasks_.size());
    timeline_.queues.resize(queues_.size());
    return Status::ok();
  }

  bool isReady(const TimelineTask& task) const {
    return std::ranges::all_of(task.waits, [&](const Wait& wait) { return counters_[wait.barrier] >= wait.count; });
  }

  void startReady() {
    for (size_t i = 0; i < queues_.size(); ++i) {
      Queue& queue = queues_[i];
      if (queue.phase != Phase::kIdle || !queue.hasTask() || !isReady(tasks_[queue.task()])) continue;
      queue.phase = Phase::kFixed;
      queue.changes = now_ + std::min(tasks_[queue.task()].work.fixedPicoseconds, kMostPicoseconds + 1);
      timeline_.tasks[queue.task()].begin = now_;
      timeline_.order.push_back(queue.task());
      timeline_.queues[i].barrierWait += now_ - queue.freeSince;
      ++running_;
    }
  }

  /// Ends every phase that is due, in the order of queues; true when a task has ended.
  bool endPhases() {
    bool hasEnded = false;
    for (size_t i = 0; i < queues_.size(); ++i) {
      Queue& queue = queues_[i];
      if (queue.changes != now_) continue;
      if (queue.phase == Phase::kFixed && i < machine_.dmaEngines && beginTransfer(queue)) continue;
      if (queue.phase == Phase::kTransfer) endTransfer(queue, timeline_.queues[i]);
      endTask(queue, timeline_.queues[i]);
      hasEnded = true;
    }
    return hasEnded;
  }

  /// False when there is nothing to move.
  bool beginTransfer(Queue& queue) {
    const uint64_t bytes = transferBytes(queue.task());
    if (bytes == 0) return false;
    queue.phase = Phase::kTransfer;
    queue.isShared = tasks_[queue.task()].work.ddrBytes > 0;
    queue.began = queue.since = now_;
    queue.rate = 0;
    queue.left = bytes * kUnitsPerByte;
    queue.changes = kNever;  // until the bandwidth is shared
    sharers_ += queue.isShared ? 1 : 0;
    hasNewTransfers_ = true;
    return true;
  }

  void endTransfer(const Queue& queue, QueueTime& time) {
    const uint64_t alone = transferPicoseconds(transferBytes(queue.task()), engineBytesPerMicrosecond(machine_));
    time.bandwidthWait += now_ - queue.began - std::min(alone, now_ - queue.began);
    if (queue.isShared) {
      --sharers_;
      hasNewTransfers_ = true;
    }
  }

  void endTask(Queue& queue, QueueTime& time) {
    const TimelineTask& task = tasks_[queue.task()];
    Interval& interval = timeline_.tasks[queue.task()];
    interval.end = now_;
    time.busy += now_ - interval.begin;
    time.ddrBytes += task.work.ddrBytes;
    timeline_.ddrBytes += task.work.ddrBytes;
    for (const uint16_t barrier : task.signals) ++counters_[barrier];
    queue.phase = Phase::kIdle;
    queue.changes = kNever;
    queue.freeSince = now_;
    ++queue.next;
    --running_;
  }

  uint64_t transferBytes(uint32_t task) const {
    const Work& work = tasks_[task].work;
    return work.ddrBytes > 0 ? work.ddrBytes : work.cmxBytes;
  }

  /// Gives every transfer its rate of now on. All engines have the same rate, so the max-min fair share of DDR is an
  /// equal part for each, cut to that rate: when it cuts one it cuts all, and none could use what is left. Past
  /// progress is settled only when a rate changes, so a transfer that nothing disturbs is rounded once.
  void shareBandwidth() {
    if (!hasNewTransfers_) return;
    hasNewTransfers_ = false;
    const uint64_t engineRate = engineBytesPerMicrosecond(machine_) << kFractionBits;
    const uint64_t ddrRate = uint64_t{machine_.ddrMegabytesPerSecond} << kFractionBits;
    const uint64_t share = sharers_ == 0 ? engineRate : std::min(engineRate, ddrRate / sharers_);
    noteRate(uint64_t{sharers_} * std::min(share, engineRate) >> kFractionBits);
    for (uint32_t i = 0; i < machine_.dmaEngines; ++i) {
      Queue& queue = queues_[i];
      const uint64_t rate = queue.isShared ? share : engineRate;
      if (queue.phase != Phase::kTransfer || queue.rate == rate) continue;
      queue.left -= Wide{queue.rate} * (now_ - queue.since);  // below `left`: its end, rounded up, is still to come
      queue.since = now_;
      queue.rate = rate;
      const Wide needs = (queue.left + rate - 1) / rate;
      queue.changes = needs > kMostPicoseconds ? kMostPicoseconds + 1 : now_ + static_cast<uint64_t>(needs);
    }
  }

  void noteRate(uint64_t megabytesPerSecond) {
    std::vector<DdrRate>& rates = timeline_.ddrRates;
    if (!rates.empty() && rates.back().time == now_) rates.pop_back();  // it never held
    const uint64_t before = rates.empty() ? 0 : rates.back().megabytesPerSecond;
    if (before != megabytesPerSecond) rates.push_back({now_, megabytesPerSecond});
  }

  Status deadlock() const {
    constexpr uint32_t kMostNamed = 8;
    std::string text;
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < queues_.size(); ++i) {
      if (!queues_[i].hasTask() || ++waiting > kMostNamed) continue;
      const std::span<const Wait> waits = tasks_[queues_[i].task()].waits;
      const auto stuck = std::ranges::find_if(waits, [&](const Wait& w) { return counters_[w.barrier] < w.count; });
      text += concat("; task ", queues_[i].task(), " (", queueName(machine_, i), ") waits for barrier ", stuck->barrier,
                     " to reach ", stuck->count, ", it is at ", counters_[stuck->barrier]);
    }
    if (waiting > kMostNamed) text += concat("; and ", waiting - kMostNamed, " more queues");
    return internalError(concat("deadlock: ", timeline_.order.size(), " of ", tasks_.size(), " tasks ran", text));
  }

  Timeline finish() {
    timeline_.picoseconds = now_;
    for (size_t i = 0; i < queues_.size(); ++i) timeline_.queues[i].idle = start_ + (now_ - queues_[i].freeSince);
    return std::move(timeline_);
  }

  const Machine& machine_;
  std::span<const TimelineTask> tasks_;
  uint64_t start_;  ///< of the first task at the earliest
  std::vector<Queue> queues_;
  std::vector<uint64_t> counters_;
  Timeline timeline_;
  uint64_t now_;
  uint32_t running_ = 0;
  uint32_t sharers_ = 0;          ///< transfers that use DDR
  bool hasNewTransfers_ = false;  ///< the shares have changed
};

}  // namespace

Result<Timeline> runTimeline(const Machine& machine, std::span<const TimelineTask> tasks) {
  return EventLoop(machine, tasks).run();
}

}  // namespace firn::machine
