#include "tools/command.h"

#include <csignal>

#include <unistd.h>

namespace firn::tools {
namespace {

std::atomic<bool> gInterrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");

void onSignal(int /*signal*/) {
  if (gInterrupted.exchange(true)) _exit(kExitInterrupted);
}

}  // namespace

int exitCode(const Status& status) {
  switch (status.code()) {
    case Code::kOk: return kExitOk;
    case Code::kInvalidArgument: return kExitUsage;
    case Code::kCancelled: return kExitInterrupted;
    default: return kExitError;
  }
}

const std::atomic<bool>& interrupted() { return gInterrupted; }

void catchInterrupts() {
  struct sigaction action{};
  action.sa_handler = onSignal;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGHUP, &action, nullptr);
  // A file above the process's size limit is then a failed write, with a message and a clean folder.
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace firn::tools
