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
    case EDQUOT:
    case ENOMEM: return resourceExhausted(std::move(message));
    default: return ioError(std::move(message));
  }
}

}  // namespace firn
