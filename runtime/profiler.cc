#include "runtime/profiler.h"

#include <algorithm>

namespace firn::runtime {
namespace {

// Whole cache lines beyond the rows, so that two threads' cells never share one.
constexpr size_t kPaddingCells = 8;

}  // namespace

TaskClock::TaskClock(uint32_t threads, size_t rows) : cells_(threads, std::vector<Cell>(rows + kPaddingCells)) {}

void TaskClock::drain(const std::vector<std::string>& names, std::map<std::string, Cell>& totals) {
  for (std::vector<Cell>& thread : cells_) {
    for (size_t row = 0; row < names.size(); ++row) {
      if (thread[row].count == 0) continue;
      Cell& total = totals[names[row]];
      total.count += thread[row].count;
      total.nanoseconds += thread[row].nanoseconds;
      thread[row] = {};
    }
  }
}

std::vector<ProfileRow> profileRows(const std::map<std::string, TaskClock::Cell>& totals) {
  std::vector<ProfileRow> rows;
  rows.reserve(totals.size());
  for (const auto& [name, cell] : totals) {
    rows.push_back({.name = name, .count = cell.count, .nanoseconds = cell.nanoseconds});
  }
  std::sort(rows.begin(), rows.end(), [](const ProfileRow& a, const ProfileRow& b) {
    return a.nanoseconds != b.nanoseconds ? a.nanoseconds > b.nanoseconds : a.name < b.name;
  });
  return rows;
}

}  // namespace firn::runtime
