#include "tools/command.h"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <ctime>

#include <unistd.h>

#include "base/atomic_file.h"

namespace firn::tools {
namespace {

/// Signals are one when they come closer together. From one sender: nobody presses a key twice so fast. From two: the
/// second may have waited for a CPU.
constexpr int64_t kSameSenderMs = 30;
constexpr int64_t kOtherSenderMs = 250;

/// Who sends a signal: a process, or 0, the terminal. A process id has 22 bits at most.
constexpr int kSenderBits = 22;

std::atomic<bool> gInterrupted{false};
std::atomic<int> gFirstSignal{0};      ///< 0: none yet
std::atomic<int64_t> gFirst{0};        ///< milliseconds << kSenderBits | sender; 0: none yet
std::atomic<bool> gIsTerminal{false};  ///< standard error
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free &&
                  std::atomic<int64_t>::is_always_lock_free,
              "a signal handler may only touch lock-free atomics");

/// Whether this is no second one.
bool isFirstInterrupt(int signal, int64_t sender) {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  const int64_t now = time.tv_sec * int64_t{1000} + time.tv_nsec / 1'000'000 + 1;
  int64_t first = 0;
  if (gFirst.compare_exchange_strong(first, now << kSenderBits | sender)) return true;
  constexpr int64_t kSenderMask = (int64_t{1} << kSenderBits) - 1;
  return isRepeat(signal, {.ms = first >> kSenderBits, .sender = first & kSenderMask}, {.ms = now, .sender = sender});
}

void onSignal(int signal, siginfo_t* info, void* /*context*/) {
  const int error = errno;
  if (!isFirstInterrupt(signal, info->si_code > 0 ? 0 : info->si_pid)) {
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

bool isRepeat(int signal, const Interrupt& first, const Interrupt& later) {
  const bool isSame = later.sender == first.sender && signal != SIGHUP;
  return later.ms - first.ms < (isSame ? kSameSenderMs : kOtherSenderMs);
}

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
  action.sa_sigaction = onSignal;
  action.sa_flags = SA_SIGINFO;
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
