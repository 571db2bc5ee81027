#include "tools/timeline/run_trace.h"

#include <algorithm>
#include <map>
#include <optional>

#include "base/concat.h"
#include "blob/machine/cost.h"
#include "blob/names.h"
#include "tools/timeline/npu_trace.h"
#include "tools/timeline/trace_file.h"

namespace firn::tools {
namespace {

constexpr uint64_t kPicosecondsPerNanosecond = 1000;
/// The group of what is measured; that of the npu is 1.
constexpr uint32_t kGroup = 2;
constexpr uint32_t kEntryTrack = 1;
constexpr uint32_t kOpTrack = 2;

class RunTrace {
 public:
  RunTrace(const blob::Blob& blob, TraceFile& trace) : blob_(blob), trace_(trace) {}

  Status begin() {
    const std::vector<blob::Target> targets = blob_.targets();
    if (std::ranges::find(targets, blob::Target::kNpu) != targets.end()) {
      FIRN_ASSIGN_OR_RETURN(npu_, NpuTrace::create(blob_, trace_));
    }
    const bool isAllNpu = targets.size() == 1 && npu_.has_value();
    if (isAllNpu) return Status::ok();
    FIRN_RETURN_IF_ERROR(trace_.nameGroup(kGroup, npu_ ? "other devices, predicted time" : "device, measured time"));
    FIRN_RETURN_IF_ERROR(trace_.nameTrack(kGroup, kEntryTrack, "entries"));
    return npu_ ? Status::ok() : trace_.nameTrack(kGroup, kOpTrack, "ops of them, added up by kind");
  }

  Status add(const ProfiledRun& run) {
    if (npu_) {
      for (const ProfiledEntry& entry : run.entries) FIRN_RETURN_IF_ERROR(addSimulated(entry.entry));
      return Status::ok();
    }
    return addMeasured(run);
  }

 private:
  /// Times of what simulates or predicts are those of a file: many that are long may be more than a number holds.
  Status checkTime(uint32_t entry, uint64_t picoseconds) const {
    if (picoseconds <= machine::kMostPicoseconds - now_) return Status::ok();
    return outOfRange(concat("entry ", blob_.string(blob_.entries()[entry].name),
                             ": with it the trace is beyond 26 days of its machine; take a shorter prompt, fewer "
                             "--max-tokens, or a faster machine"));
  }

  /// Its parts one behind the other; those of other devices take what the compiler has predicted.
  Status addSimulated(uint32_t entry) {
    const uint32_t parts = blob_.entries()[entry].parts;
    for (uint32_t part = entry; part < entry + parts; ++part) {
      const blob::EntryRecord& record = blob_.entries()[part];
      if (record.target == blob::Target::kNpu) {
        FIRN_ASSIGN_OR_RETURN(const uint64_t end, npu_->add(part, now_));
        FIRN_RETURN_IF_ERROR(checkTime(part, end - now_));
        now_ = end;
        continue;
      }
      FIRN_RETURN_IF_ERROR(checkTime(part, record.predictedPicoseconds));
      const uint64_t end = now_ + record.predictedPicoseconds;
      const std::string name = concat(blob_.string(record.name), " on ", blob::targetName(record.target));
      FIRN_RETURN_IF_ERROR(
          trace_.slice({.group = kGroup, .track = kEntryTrack, .name = name, .begin = now_, .end = end}));
      now_ = end;
    }
    return Status::ok();
  }

  Status addMeasured(const ProfiledRun& run) {
    const uint64_t start = now_;
    for (const ProfiledEntry& entry : run.entries) {
      const blob::EntryRecord& record = blob_.entries()[entry.entry];
      const std::string name = blob::entryName(record.kind, record.rows, record.context);
      const uint64_t end = now_ + entry.nanoseconds * kPicosecondsPerNanosecond;
      FIRN_RETURN_IF_ERROR(
          trace_.slice({.group = kGroup, .track = kEntryTrack, .name = name, .begin = now_, .end = end}));
      now_ = end;
    }
    return addOps(run.rows, start, now_ - start);
  }

  /// The ops of a run side by side, each as wide as its time; threads work at once, so where their times are more than
  /// that of the run all are narrowed alike.
  Status addOps(const std::vector<runtime::ProfileRow>& rows, uint64_t start, uint64_t duration) {
    uint64_t total = 0;
    for (const runtime::ProfileRow& row : rows) total += row.nanoseconds;
    uint64_t before = 0;
    const double scale = std::min(1.0, static_cast<double>(duration) / static_cast<double>(std::max<uint64_t>(
                                                                           total * kPicosecondsPerNanosecond, 1)));
    const auto at = [&](uint64_t nanoseconds) {
      return start + static_cast<uint64_t>(static_cast<double>(nanoseconds * kPicosecondsPerNanosecond) * scale);
    };
    for (const runtime::ProfileRow& row : rows) {
      if (row.nanoseconds == 0) continue;
      const std::pair<std::string_view, std::string> args[] = {
          {"tasks", std::to_string(row.count)}, {"ns over all threads", std::to_string(row.nanoseconds)}};
      FIRN_RETURN_IF_ERROR(trace_.slice({.group = kGroup,
                                         .track = kOpTrack,
                                         .name = row.name,
                                         .begin = at(before),
                                         .end = at(before + row.nanoseconds)},
                                        args));
      before += row.nanoseconds;
    }
    return Status::ok();
  }

  const blob::Blob& blob_;
  TraceFile& trace_;
  std::optional<NpuTrace> npu_;
  uint64_t now_ = 0;  ///< picoseconds from the start of the first run
};

}  // namespace

Status writeRunTrace(const std::string& path, const blob::Blob& blob, const std::vector<ProfiledRun>& runs) {
  FIRN_ASSIGN_OR_RETURN(TraceFile trace, TraceFile::create(path));
  RunTrace writer(blob, trace);
  FIRN_RETURN_IF_ERROR(writer.begin());
  for (const ProfiledRun& run : runs) FIRN_RETURN_IF_ERROR(writer.add(run));
  return trace.close();
}

}  // namespace firn::tools
