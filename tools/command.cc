#include "tools/command.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>

#include <unistd.h>

#include "base/atomic_file.h"

namespace firn::tools {
namespace {

constexpr int64_t kSameInterruptNs = 250'000'000;

std::atomic<bool> gInterrupted{false};
std::atomic<int> gFirstSignal{0};           ///< 0: none yet
std::atomic<int64_t> gFirstInterruptNs{0};  ///< 0: none yet
std::atomic<bool> gIsTerminal{false};       ///< standard error
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<int64_t>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

void onSignal(int signal) {
  const int error = errno;
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const int64_t now = time.tv_sec * int64_t{1'000'000'000} + time.tv_nsec + 1;
  int64_t first = 0;
  if (!gFirstInterruptNs.compare_exchange_strong(first, now) && now - first >= kSameInterruptNs) {
    // Away from a progress bar that stands in the line.
    if (gIsTerminal.load()) static_cast<void>(!write(STDERR_FILENO, "\n", 1));
    removeOwnTemporaries();
    _exit(kExitOfSignal + signal);
  }
  interruptedBy(signal);
  gInterrupted.store(true);
  errno = error;
}

}  // namespace

void interruptedBy(int signal) {
  int none = 0;
  gFirstSignal.compare_exchange_strong(none, signal);
}

int exitCode(const Status& status) {
  switch (status.code()) {
    case Code::kOk: return kExitOk;
    case Code::kInvalidArgument: return kExitUsage;
    case Code::kCancelled: return kExitOfSignal + (gFirstSignal.load() == 0 ? SIGINT : gFirstSignal.load());
    default: return kExitError;
  }
}

int outOfMemory(const char* name) {
  std::fprintf(stderr,
               "%s: resource_exhausted: no memory left; close other programs, or ask for less: a smaller model, a "
               "shorter --max-prompt-len, fewer --threads\n",
               name);
  return kExitError;
}

const std::atomic<bool>& interrupted() { return gInterrupted; }

void catchInterrupts() {
  gIsTerminal.store(isatty(STDERR_FILENO) == 1);
  struct sigaction action{};
  action.sa_handler = onSignal;
  sigemptyset(&action.sa_mask);
  for (const int signal : kInterrupts) {
    // What the parent had ignored stays so: nohup, and jobs that a script puts into the background.
    struct sigaction inherited{};
    if (sigaction(signal, nullptr, &inherited) == 0 && inherited.sa_handler == SIG_IGN) continue;
    sigaction(signal, &action, nullptr);
  }
  // A file above the process's size limit is then a failed write, with a message and a clean folder.
  std::signal(SIGXFSZ, SIG_IGN);
}

HeldInterrupts::HeldInterrupts() {
  sigset_t held;
  sigemptyset(&held);
  for (const int signal : kInterrupts) sigaddset(&held, signal);
  pthread_sigmask(SIG_BLOCK, &held, &before_);
}

HeldInterrupts::~HeldInterrupts() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace firn::tools
