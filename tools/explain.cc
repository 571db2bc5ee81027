#include "tools/explain.h"

#include <array>
#include <cstdio>

namespace firn::tools {
namespace {

std::string decimals(double value, const char* unit) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.3f %s", value, unit);
  return text.data();
}

std::string predicted(uint64_t picoseconds) { return decimals(static_cast<double>(picoseconds) * 1e-9, "ms"); }
std::string measured(uint64_t nanoseconds) { return decimals(static_cast<double>(nanoseconds) * 1e-6, "ms"); }

std::string stepLine(const blob::Blob& blob, uint32_t entry, uint32_t row0, uint32_t valid) {
  return "  " + std::string(blob.string(blob.entries()[entry].name)) + ", rows " + std::to_string(row0) + " to " +
         std::to_string(row0 + valid - 1) + ": ";
}

}  // namespace

std::string explainPlan(const engine::PrefillPlan& plan, const blob::Blob& blob) {
  uint32_t tokens = 0;
  std::string lines;
  for (const engine::PlanStep& step : plan.steps) {
    tokens += step.valid;
    lines += stepLine(blob, step.variant->entry, step.row0, step.valid) + "predicted " + predicted(step.variant->cost) +
             "\n";
  }
  return "plan: " + std::to_string(tokens) + " tokens in " + std::to_string(plan.steps.size()) + " steps, predicted " +
         predicted(plan.picoseconds) + "\n" + lines;
}

std::string explainTimes(const engine::StageTimes& times, const blob::Blob& blob) {
  std::string text = "measured: plan " + measured(times.planNanoseconds) + "\n";
  uint64_t total = times.headNanoseconds + times.decodeNanoseconds;
  for (const engine::ChunkTime& chunk : times.chunks) {
    text += stepLine(blob, chunk.entry, chunk.row0, chunk.valid) + measured(chunk.nanoseconds) + ", predicted " +
            predicted(chunk.predictedPicoseconds) + "\n";
    total += chunk.nanoseconds;
  }
  text += "  head: " + measured(times.headNanoseconds) + "\n";
  if (times.decodeSteps > 0) {
    text += "  " + std::to_string(times.decodeSteps) + " steps: " + measured(times.decodeNanoseconds) + ", " +
            measured(times.decodeNanoseconds / times.decodeSteps) + " each\n";
  }
  const double bytes = static_cast<double>(times.bytesMoved);
  text += "  moved " + decimals(bytes * 1e-9, "GB");
  if (total > 0) text += ", " + decimals(bytes / static_cast<double>(total), "GB/s");
  return text + "; copied by the host " + std::to_string(times.bytesCopied) + " bytes\n";
}

}  // namespace firn::tools
