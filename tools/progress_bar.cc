#include "tools/progress_bar.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include <unistd.h>

namespace firn::tools {

ProgressBar::ProgressBar(std::string title) : title_(std::move(title)), isTerminal_(isatty(STDERR_FILENO) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_) std::fputs("\r\033[K", stderr);
}

void ProgressBar::update(std::string_view detail, uint64_t done, uint64_t total) {
  if (!isTerminal_) return;
  const auto now = std::chrono::steady_clock::now();
  const bool finished = done >= total;
  if (drawn_ && !finished && now - last_ < std::chrono::milliseconds(100)) return;
  last_ = now;
  drawn_ = true;
  constexpr uint64_t kWidth = 30;
  const uint64_t percent = total == 0 ? 0 : std::min<uint64_t>(100, done * 100 / total);
  const uint64_t filled = percent * kWidth / 100;
  const std::string bar = std::string(filled, '=') + std::string(kWidth - filled, ' ');
  if (total == 0) {
    std::fprintf(stderr, "\r\033[K%s: %.*s", title_.c_str(), static_cast<int>(detail.size()), detail.data());
  } else {
    std::fprintf(stderr, "\r\033[K%s [%s] %3u%% %.*s", title_.c_str(), bar.c_str(), static_cast<unsigned>(percent),
                 static_cast<int>(detail.size()), detail.data());
  }
  std::fflush(stderr);
}

}  // namespace firn::tools
