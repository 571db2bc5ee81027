// A progress bar on standard error, where that is a terminal; silent in a pipe.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace firn::tools {

/// Redraws at most ten times a second; the destructor clears the line. One thread.
class ProgressBar {
 public:
  explicit ProgressBar(std::string title);
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Shows `detail` and done / total; total 0 shows the detail alone.
  void update(std::string_view detail, uint64_t done, uint64_t total);

 private:
  std::string title_;
  bool isTerminal_;
  bool drawn_ = false;
  std::chrono::steady_clock::time_point last_{};
};

}  // namespace firn::tools
