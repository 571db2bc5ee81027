// What a thread that a library starts does with the signals of the process. Not here: handlers, which are the
// program's.
#pragma once

#include <pthread.h>
#include <signal.h>

namespace firn::runtime {

/// While it lives, this thread takes no signals, and threads that it starts never do: those of the process go to the
/// program's own threads, so that no handler finds itself on a thread of a library. All but what a thread does to
/// itself: a fault that is blocked ends the process before any handler of the program can say what it was.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    for (const int fault : {SIGBUS, SIGSEGV, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS}) sigdelset(&all, fault);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace firn::runtime
