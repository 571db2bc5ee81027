#include "base/status.h"

namespace firn {

std::string_view codeName(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kNotFound: return "not_found";
    case Code::kCorrupt: return "corrupt";
    case Code::kUnsupported: return "unsupported";
    case Code::kVersionMismatch: return "version_mismatch";
    case Code::kOutOfRange: return "out_of_range";
    case Code::kResourceExhausted: return "resource_exhausted";
    case Code::kCancelled: return "cancelled";
    case Code::kUnavailable: return "unavailable";
    case Code::kIo: return "io";
    case Code::kInternal: return "internal";
  }
  return "internal";
}

Status Status::withPlace(std::string_view place) const {
  if (isOk()) return *this;
  return {code_, std::string(place) + ": " + message_};
}

std::string Status::toString() const {
  if (isOk()) return "ok";
  return std::string(codeName(code_)) + ": " + message_;
}

Status invalidArgument(std::string message) { return {Code::kInvalidArgument, std::move(message)}; }
Status notFound(std::string message) { return {Code::kNotFound, std::move(message)}; }
Status corrupt(std::string message) { return {Code::kCorrupt, std::move(message)}; }
Status unsupported(std::string message) { return {Code::kUnsupported, std::move(message)}; }
Status versionMismatch(std::string message) { return {Code::kVersionMismatch, std::move(message)}; }
Status outOfRange(std::string message) { return {Code::kOutOfRange, std::move(message)}; }
Status resourceExhausted(std::string message) { return {Code::kResourceExhausted, std::move(message)}; }
Status cancelled(std::string message) { return {Code::kCancelled, std::move(message)}; }
Status ioError(std::string message) { return {Code::kIo, std::move(message)}; }
Status internalError(std::string message) { return {Code::kInternal, std::move(message)}; }

}  // namespace firn
