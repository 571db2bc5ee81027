#include "tools/timeline/trace_file.h"

#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "base/concat.h"

namespace firn::tools {
namespace {

/// Bytes that are gathered before they are written.
constexpr size_t kChunkBytes = size_t{1} << 20;
constexpr uint64_t kPicosecondsPerMicrosecond = 1'000'000;

/// A JSON string. Names come from a model and may be no UTF-8.
std::string text(std::string_view value) {
  return nlohmann::json(std::string(value)).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string microseconds(uint64_t picoseconds) {
  std::array<char, 40> digits{};
  std::snprintf(digits.data(), digits.size(), "%llu.%06llu",
                static_cast<unsigned long long>(picoseconds / kPicosecondsPerMicrosecond),
                static_cast<unsigned long long>(picoseconds % kPicosecondsPerMicrosecond));
  return digits.data();
}

}  // namespace

Result<TraceFile> TraceFile::create(const std::string& path) {
  TraceFile trace;
  FIRN_ASSIGN_OR_RETURN(trace.file_, AtomicFile::create(path));
  trace.pending_ = R"({"displayTimeUnit":"ns","traceEvents":[)";
  return trace;
}

Status TraceFile::flush() {
  FIRN_RETURN_IF_ERROR(file_.append(std::as_bytes(std::span(pending_))));
  pending_.clear();
  return Status::ok();
}

Status TraceFile::add(const std::string& event) {
  pending_ += concat(hasEvents_ ? ",\n{" : "\n{", event, "}");
  hasEvents_ = true;
  return pending_.size() < kChunkBytes ? Status::ok() : flush();
}

Status TraceFile::nameGroup(uint32_t group, std::string_view name) {
  return add(concat(R"("ph":"M","name":"process_name","pid":)", group, R"(,"args":{"name":)", text(name), "}"));
}

Status TraceFile::nameTrack(uint32_t group, uint32_t track, std::string_view name) {
  FIRN_RETURN_IF_ERROR(add(concat(R"("ph":"M","name":"thread_name","pid":)", group, R"(,"tid":)", track,
                                  R"(,"args":{"name":)", text(name), "}")));
  return add(concat(R"("ph":"M","name":"thread_sort_index","pid":)", group, R"(,"tid":)", track,
                    R"(,"args":{"sort_index":)", track, "}"));
}

Status TraceFile::slice(const Slice& slice, TraceArgs args) {
  std::string event =
      concat(R"("ph":"X","name":)", text(slice.name), R"(,"pid":)", slice.group, R"(,"tid":)", slice.track, R"(,"ts":)",
             microseconds(slice.begin), R"(,"dur":)", microseconds(slice.end - slice.begin));
  if (!args.empty()) {
    event += R"(,"args":{)";
    for (const auto& [name, value] : args) {
      event += concat(&name == &args.front().first ? "" : ",", text(name), ":", text(value));
    }
    event += "}";
  }
  return add(event);
}

Status TraceFile::count(uint32_t group, std::string_view counter, std::string_view unit, uint64_t time, double value) {
  std::array<char, 40> digits{};
  std::snprintf(digits.data(), digits.size(), "%.6g", value);
  return add(concat(R"("ph":"C","name":)", text(counter), R"(,"pid":)", group, R"(,"ts":)", microseconds(time),
                    R"(,"args":{)", text(unit), ":", std::string_view(digits.data()), "}"));
}

Status TraceFile::close() {
  pending_ += "\n]}\n";
  FIRN_RETURN_IF_ERROR(flush());
  return file_.commit();
}

}  // namespace firn::tools
