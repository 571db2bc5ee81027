#include "base/cpus.h"

#include <sched.h>

namespace firn {

std::vector<uint32_t> allowedCpus() {
  std::vector<uint32_t> cpus;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (sched_getaffinity(0, sizeof(mask), &mask) == 0) {
    for (uint32_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &mask)) cpus.push_back(cpu);
    }
  }
  if (cpus.empty()) cpus.push_back(0);
  return cpus;
}

bool pinThisThread(uint32_t cpu) {
  if (cpu >= CPU_SETSIZE) return false;
  cpu_set_t mask;
  CPU_ZERO(&mask);
  CPU_SET(cpu, &mask);
  return sched_setaffinity(0, sizeof(mask), &mask) == 0;
}

void moveThisThread(uint32_t cpu) {
  if (sched_getcpu() == static_cast<int>(cpu)) return;
  cpu_set_t before;
  CPU_ZERO(&before);
  if (sched_getaffinity(0, sizeof(before), &before) != 0) return;
  if (cpu >= CPU_SETSIZE || !CPU_ISSET(cpu, &before)) return;
  if (pinThisThread(cpu)) sched_setaffinity(0, sizeof(before), &before);
}

}  // namespace firn
