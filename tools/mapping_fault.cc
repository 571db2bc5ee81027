#include "tools/mapping_fault.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <fcntl.h>
#include <unistd.h>

#include "base/atomic_file.h"
#include "tools/command.h"

// A signal handler may call little: no allocation, no stdio. open, read and write are allowed, and what
// base/atomic_file.h says so of.
namespace firn::tools {
namespace {

std::atomic<const char*> gProgram{""};
std::atomic<bool> gFaulted{false};

void say(std::string_view text) {
  std::array<char, 256> clean;
  while (!text.empty()) {
    const size_t count = text.copy(clean.data(), clean.size());
    for (size_t i = 0; i < count; ++i) {
      if ((clean[i] >= 0 && clean[i] < ' ') || clean[i] == 0x7F) clean[i] = '?';  // a name must not steer the terminal
    }
    if (write(STDERR_FILENO, clean.data(), count) < 0) return;
    text.remove_prefix(count);
  }
}

bool takeHex(std::string_view& text, uintptr_t& value) {
  size_t digits = 0;
  for (value = 0; digits < text.size(); ++digits) {
    const char c = text[digits];
    const int digit = c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    if (digit < 0) break;
    value = value << 4 | static_cast<uintptr_t>(digit);
  }
  text.remove_prefix(digits);
  return digits != 0;
}

/// The path of a line "begin-end rights offset device inode   path" of /proc/self/maps that holds `address`; else "".
std::string_view pathOf(std::string_view line, uintptr_t address) {
  uintptr_t begin = 0;
  uintptr_t end = 0;
  if (!takeHex(line, begin) || line.empty()) return {};
  line.remove_prefix(1);
  if (!takeHex(line, end) || address < begin || address >= end) return {};
  const size_t slash = line.find('/');
  return slash == std::string_view::npos ? std::string_view{} : line.substr(slash);
}

/// Calls `visit(line)` for the lines of /proc/self/maps until it returns true; lines beyond the buffer are cut.
template <typename Visit>
bool anyMapping(const Visit& visit) {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  std::array<char, 8192> buffer;
  size_t held = 0;
  bool found = false;
  for (ssize_t count = 1; count > 0 && !found;) {
    count = read(file, buffer.data() + held, buffer.size() - held);
    held += count > 0 ? static_cast<size_t>(count) : 0;
    std::string_view rest(buffer.data(), held);
    for (size_t end = rest.find('\n'); end != std::string_view::npos && !found; end = rest.find('\n')) {
      found = visit(rest.substr(0, end));
      rest.remove_prefix(end + 1);
    }
    if (rest.size() == buffer.size()) rest = {};
    std::memmove(buffer.data(), rest.data(), rest.size());
    held = rest.size();
  }
  close(file);
  return found;
}

void onFault(int signal, siginfo_t* info, void* /*context*/) {
  // All lanes may fault in one moment: the first one speaks, and ends the process.
  while (gFaulted.exchange(true)) pause();
  const auto address = reinterpret_cast<uintptr_t>(info->si_addr);
  const auto report = [address](std::string_view line) {
    const std::string_view path = pathOf(line, address);
    if (path.empty()) return false;
    say(gProgram.load());
    say(": io: ");
    say(path);
    say(" lost bytes while it was in use: it was cut short, or its disk failed. Put the whole file back and run again");
    static_cast<void>(!write(STDERR_FILENO, "\n", 1));
    return true;
  };
  const bool isFault = info->si_code == BUS_ADRERR;  // not one that was sent, nor a misaligned address
  if (isFault && anyMapping(report)) {
    removeOwnTemporaries();
    _exit(kExitError);
  }
  std::signal(signal, SIG_DFL);  // the instruction is tried again, and ends the process
  if (info->si_code <= 0) static_cast<void>(raise(signal));
}

}  // namespace

void reportMappingFaults(const char* program) {
  gProgram.store(program);
  struct sigaction action{};
  action.sa_sigaction = onFault;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, nullptr);
}

}  // namespace firn::tools
