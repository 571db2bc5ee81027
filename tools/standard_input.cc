#include "tools/standard_input.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "base/system_error.h"
#include "tools/command.h"

namespace firn::tools {

Result<std::string> readStandardInput(uint64_t limitBytes, std::string_view limit) {
  std::string text;
  std::array<char, 1 << 16> block;
  for (;;) {
    if (interrupted().load()) return cancelled("stopped while standard input was read");
    const ssize_t count = read(STDIN_FILENO, block.data(), block.size());
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return systemError("cannot read standard input", errno);
    text.append(block.data(), static_cast<size_t>(count));
    if (text.size() > limitBytes) {
      return outOfRange("standard input has more than " + std::to_string(limitBytes) + " bytes, " + std::string(limit));
    }
  }
}

void occupyStandardDescriptors() {
  for (const int descriptor : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(descriptor, F_GETFD) >= 0 || errno != EBADF) continue;
    // The lowest free number is this one. Opened for the wrong direction, so that using it is an error.
    static_cast<void>(open("/dev/null", descriptor == STDIN_FILENO ? O_WRONLY : O_RDONLY));
  }
}

}  // namespace firn::tools
