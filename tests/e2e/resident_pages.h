// How much memory this process holds.
#pragma once

#include <cstdio>

namespace firn::e2e {

/// Pages in memory now; -1 when the system does not tell. Allocates nothing that stays.
inline long residentPages() {
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  long total = 0;
  long resident = 0;
  if (file == nullptr || std::fscanf(file, "%ld %ld", &total, &resident) != 2) resident = -1;
  if (file != nullptr) std::fclose(file);
  return resident;
}

}  // namespace firn::e2e
