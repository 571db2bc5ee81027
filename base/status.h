// Status and Result: how every fallible call of firn reports what went wrong.
// Not an exception type: nothing in firn throws across a library border.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace firn {

/// What kind of failure happened; one table in each front end maps these to exit codes or HTTP codes.
enum class Code {
  kOk = 0,
  kInvalidArgument,    ///< a flag, prompt or option that can never work
  kNotFound,           ///< a file, entry or name that does not exist
  kCorrupt,            ///< bytes that contradict their own format
  kUnsupported,        ///< well formed, but something firn does not do
  kVersionMismatch,    ///< made by or for another version
  kOutOfRange,         ///< an id, position or length beyond its limit
  kResourceExhausted,  ///< memory, rows, slots or disk used up
  kCancelled,          ///< stopped on request
  kUnavailable,        ///< try again later
  kIo,                 ///< the operating system refused
  kInternal,           ///< a bug in firn
};

/// The lower-case name of `code`, for messages and JSON ("corrupt").
std::string_view codeName(Code code);

/// Success, or a code with a message that says what was found, what was expected, where, and what to do.
/// Cheap to move; immutable after construction; safe to read from any thread.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  static Status ok() { return {}; }

  bool isOk() const { return code_ == Code::kOk; }
  explicit operator bool() const { return isOk(); }
  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  /// The same failure with "`place`: " before the message; ok stays ok.
  Status withPlace(std::string_view place) const;

  /// "corrupt: model.gguf: ..." for people.
  std::string toString() const;

 private:
  Code code_ = Code::kOk;
  std::string message_;
};

Status invalidArgument(std::string message);
Status notFound(std::string message);
Status corrupt(std::string message);
Status unsupported(std::string message);
Status versionMismatch(std::string message);
Status outOfRange(std::string message);
Status resourceExhausted(std::string message);
Status cancelled(std::string message);
Status ioError(std::string message);
Status internalError(std::string message);

/// A value or the Status that says why there is none.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}         // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {  // NOLINT(google-explicit-constructor)
    if (status_.isOk()) status_ = internalError("a Result was made from an ok Status");
  }

  bool isOk() const { return value_.has_value(); }
  explicit operator bool() const { return isOk(); }
  const Status& status() const { return status_; }

  /// The value; only after isOk().
  T& operator*() & { return *value_; }
  const T& operator*() const& { return *value_; }
  T&& operator*() && { return *std::move(value_); }
  T* operator->() { return &*value_; }
  const T* operator->() const { return &*value_; }

 private:
  std::optional<T> value_;
  Status status_;
};

}  // namespace firn

/// Returns from the calling function when `expr` (a Status) is not ok.
#define FIRN_RETURN_IF_ERROR(expr)                                  \
  do {                                                              \
    if (::firn::Status firnStatus_ = (expr); !firnStatus_.isOk()) { \
      return firnStatus_;                                           \
    }                                                               \
  } while (false)

#define FIRN_CONCAT_INNER(a, b) a##b
#define FIRN_CONCAT(a, b) FIRN_CONCAT_INNER(a, b)

/// `FIRN_ASSIGN_OR_RETURN(auto x, f());` binds the value of a Result, or returns its Status.
#define FIRN_ASSIGN_OR_RETURN(lhs, expr)                \
  auto FIRN_CONCAT(firnResult_, __LINE__) = (expr);     \
  if (!FIRN_CONCAT(firnResult_, __LINE__).isOk()) {     \
    return FIRN_CONCAT(firnResult_, __LINE__).status(); \
  }                                                     \
  lhs = *std::move(FIRN_CONCAT(firnResult_, __LINE__))
