#include "base/barrier.h"

namespace firn {

FlagBarrier::FlagBarrier(uint32_t threads, const SpinPolicy& policy)
    : threads_(threads), policy_(policy), seats_(std::make_unique<Seat[]>(threads)) {}

void FlagBarrier::arrive(uint32_t thread) {
  if (threads_ == 1) return;
  Seat& seat = seats_[thread];
  const uint32_t round = ++seat.own;
  seat.arrivals.raise();
  for (uint32_t other = 0; other < threads_; ++other) {
    if (other != thread) seats_[other].arrivals.waitFor(round, policy_);
  }
}

}  // namespace firn
