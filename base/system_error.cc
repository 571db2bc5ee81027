#include "base/system_error.h"

#include <cerrno>
#include <system_error>

namespace firn {

Status systemError(std::string_view what, int error) {
  std::string message = std::string(what) + ": " + std::generic_category().message(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR: return notFound(std::move(message));
    case ENOSPC:
    case EDQUOT: return resourceExhausted(message + "; make room there, or write to another disk");
    case ENOMEM: return resourceExhausted(message + "; close other programs, or ask for less");
    default: return ioError(std::move(message));
  }
}

}  // namespace firn
