// DMA engines while tasks are dealt out to them (task_order.cc): who is idle, and when the next task ends. An estimate
// in doubles; the exact times are those of blob/machine/timeline.h.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "blob/machine/cost.h"
#include "blob/machine/machine.h"

namespace firn::target {

/// Each engine has one task at a time: its latency, then its bytes. An engine moves at most its own rate, and those
/// that move bytes of DDR share its bandwidth evenly.
class DmaEngines {
 public:
  explicit DmaEngines(const machine::Machine& machine)
      : flights_(machine.dmaEngines),
        engineRate_(static_cast<double>(machine::engineBytesPerMicrosecond(machine)) * 1e-6),
        ddrRate_(static_cast<double>(machine.ddrMegabytesPerSecond) * 1e-6) {}

  uint32_t count() const { return static_cast<uint32_t>(flights_.size()); }

  /// The first idle engine, or count().
  uint32_t idle() const {
    const auto found = std::find_if(flights_.begin(), flights_.end(), [](const Flight& f) { return f.isIdle(); });
    return static_cast<uint32_t>(found - flights_.begin());
  }

  void start(uint32_t engine, uint32_t task, const machine::Work& work) {
    flights_[engine] = {.task = task,
                        .latency = static_cast<double>(work.fixedPicoseconds),
                        .bytes = static_cast<double>(work.ddrBytes > 0 ? work.ddrBytes : work.cmxBytes),
                        .isDdr = work.ddrBytes > 0};
  }

  /// Whether a task of some engine will go on for that long, if not slowed down.
  bool isMovingFor(uint64_t picoseconds) const {
    return std::any_of(flights_.begin(), flights_.end(), [&](const Flight& flight) {
      return !flight.isIdle() && flight.latency + flight.bytes / engineRate_ >= static_cast<double>(picoseconds);
    });
  }
  /// Whether the bytes of a task take longer than its latency.
  bool isLong(const machine::Work& work) const {
    const uint64_t bytes = work.ddrBytes > 0 ? work.ddrBytes : work.cmxBytes;
    return static_cast<double>(bytes) >= static_cast<double>(work.fixedPicoseconds) * engineRate_;
  }

  /// Picoseconds until a latency or a task ends, at the present shares; infinite when all are idle.
  double untilChange() const {
    const double share = ddrShare();
    double least = HUGE_VAL;
    for (const Flight& flight : flights_) {
      if (flight.isIdle()) continue;
      least = std::min(least, flight.latency > 0 ? flight.latency : flight.bytes / rate(flight, share));
    }
    return least;
  }

  /// Time goes on, not beyond the next change; calls done(task) for each task that ends.
  template <typename Done>
  void advance(double picoseconds, const Done& done) {
    const double share = ddrShare();
    for (Flight& flight : flights_) {
      if (flight.isIdle()) continue;
      if (flight.latency > 0) {
        flight.latency = flight.latency - picoseconds > kNothing ? flight.latency - picoseconds : 0;
      } else {
        flight.bytes = std::max(flight.bytes - picoseconds * rate(flight, share), 0.0);
      }
      if (flight.latency > 0 || flight.bytes > kNothing) continue;
      done(flight.task);
      flight = {};
    }
  }

 private:
  struct Flight {
    uint32_t task = UINT32_MAX;
    double latency = 0;  ///< picoseconds that are left of it
    double bytes = 0;    ///< that are left
    bool isDdr = false;

    bool isIdle() const { return task == UINT32_MAX; }
  };

  /// Far less than a byte or a picosecond, and more than the rounding of a step.
  static constexpr double kNothing = 1e-3;

  double ddrShare() const {
    const auto sharing = std::count_if(flights_.begin(), flights_.end(), [](const Flight& flight) {
      return !flight.isIdle() && flight.isDdr && flight.latency <= 0;
    });
    return ddrRate_ / static_cast<double>(std::max<int64_t>(sharing, 1));
  }
  double rate(const Flight& flight, double share) const {
    return flight.isDdr ? std::min(engineRate_, share) : engineRate_;
  }

  std::vector<Flight> flights_;
  double engineRate_;  ///< bytes a picosecond
  double ddrRate_;
};

}  // namespace firn::target
