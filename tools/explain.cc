#include "tools/explain.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <span>
#include <vector>

#include "base/concat.h"
#include "blob/names.h"
#include "tools/counted.h"
#include "tools/placement_report.h"
#include "tools/simulated_stages.h"

namespace firn::tools {
namespace {

std::string decimals(double value, const char* unit) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.3f %s", value, unit);
  return text.data();
}

std::string predicted(uint64_t picoseconds) { return decimals(static_cast<double>(picoseconds) * 1e-9, "ms"); }
std::string measured(uint64_t nanoseconds) { return decimals(static_cast<double>(nanoseconds) * 1e-6, "ms"); }

/// The line of `steps` steps of one entry, one behind the other, that begins with rows [row0, row0 + rows).
std::string stepLine(const blob::Blob& blob, uint32_t entry, uint32_t row0, uint32_t rows, size_t steps) {
  const blob::EntryRecord& record = blob.entries()[entry];
  return "  " + blob::entryName(record.kind, record.rows, record.context) + ", rows " + std::to_string(row0) + " to " +
         std::to_string(row0 + rows - 1) + (steps == 1 ? "" : ", x " + std::to_string(steps)) + onDevices(blob, entry) +
         ": ";
}

/// A line for each part of an entry of a blob for several devices, of `steps` steps; nothing of any other blob.
std::string partLines(const blob::Blob& blob, uint32_t entry, size_t steps) {
  if (blob.targets().size() == 1) return {};
  std::string lines;
  for (const blob::PlanPart& part : blob::partsOf(blob, entry)) {
    lines += concat("    ", blob::targetName(part.target), ": ", part.contents, ", predicted ",
                    predicted(blob.entries()[entry++].predictedPicoseconds * steps), "\n");
  }
  return lines;
}

/// Where the entries of `kind` run, which a compile places all alike.
std::string onDevicesOf(const blob::Blob& blob, blob::EntryKind kind) {
  const auto at = std::ranges::find(blob.entries(), kind, &blob::EntryRecord::kind);
  return at == blob.entries().end() ? "" : onDevices(blob, static_cast<uint32_t>(at - blob.entries().begin()));
}

/// Calls `line(run)` for each run of neighbours that are like its first by `isLike(first, other)`: they share a line.
template <typename Step, typename IsLike, typename Line>
void forEachRun(const std::vector<Step>& steps, const IsLike& isLike, const Line& line) {
  for (size_t first = 0; first < steps.size();) {
    size_t last = first + 1;
    while (last < steps.size() && isLike(steps[first], steps[last])) ++last;
    line(std::span(steps).subspan(first, last - first));
    first = last;
  }
}

}  // namespace

std::string explainPlan(const engine::PrefillPlan& plan, const blob::Blob& blob) {
  uint32_t tokens = 0;
  std::string lines;
  const auto isLike = [](const engine::PlanStep& a, const engine::PlanStep& b) { return a.variant == b.variant; };
  forEachRun(plan.steps, isLike, [&](std::span<const engine::PlanStep> run) {
    uint32_t rows = 0;
    uint64_t cost = 0;
    for (const engine::PlanStep& step : run) {
      rows += step.valid;
      cost += step.variant->cost;
    }
    tokens += rows;
    lines += stepLine(blob, run.front().variant->entry, run.front().row0, rows, run.size()) + "predicted " +
             predicted(cost) + "\n" + partLines(blob, run.front().variant->entry, run.size());
  });
  return "plan: " + counted(tokens, "token") + " in " + counted(plan.steps.size(), "step") + ", predicted " +
         predicted(plan.picoseconds) + "\n" + lines;
}

std::string explainTimes(const engine::StageTimes& times, const blob::Blob& blob) {
  const std::string simulated = simulatedTimesText(simulatedStages(blob));
  std::string text = "measured" + (simulated.empty() ? "" : " (" + simulated + ")") + ": plan " +
                     measured(times.planNanoseconds) + "\n";
  uint64_t total = times.headNanoseconds + times.decodeNanoseconds;
  const auto isLike = [](const engine::ChunkTime& a, const engine::ChunkTime& b) { return a.entry == b.entry; };
  forEachRun(times.chunks, isLike, [&](std::span<const engine::ChunkTime> run) {
    uint32_t rows = 0;
    uint64_t nanoseconds = 0;
    uint64_t cost = 0;
    for (const engine::ChunkTime& chunk : run) {
      rows += chunk.valid;
      nanoseconds += chunk.nanoseconds;
      cost += chunk.predictedPicoseconds;
    }
    text += stepLine(blob, run.front().entry, run.front().row0, rows, run.size()) + measured(nanoseconds) +
            ", predicted " + predicted(cost) + "\n";
    total += nanoseconds;
  });
  text += "  head" + onDevicesOf(blob, blob::EntryKind::kHead) + ": " + measured(times.headNanoseconds) + "\n";
  if (times.decodeSteps > 0) {
    text += "  " + counted(times.decodeSteps, "step") + onDevicesOf(blob, blob::EntryKind::kGenerate) + ": " +
            measured(times.decodeNanoseconds) + ", " + measured(times.decodeNanoseconds / times.decodeSteps) +
            " each\n";
  }
  const double bytes = static_cast<double>(times.bytesMoved);
  text += "  moved for prompt and answer together " + decimals(bytes * 1e-9, "GB");
  if (total > 0) text += ", " + decimals(bytes / static_cast<double>(total), "GB/s");
  return text + "; copied by the host " + counted(times.bytesCopied, "byte") + "\n";
}

}  // namespace firn::tools
