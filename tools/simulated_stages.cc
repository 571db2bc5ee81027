#include "tools/simulated_stages.h"

namespace firn::tools {

SimulatedStages simulatedStages(const blob::Blob& blob) {
  SimulatedStages stages;
  for (const blob::EntryRecord& part : blob.entries()) {  // of a cut entry each part has its kind
    if (part.target != blob::Target::kNpu) continue;
    stages.prefill |= part.kind == blob::EntryKind::kPrefill || part.kind == blob::EntryKind::kHead;
    stages.decode |= part.kind == blob::EntryKind::kGenerate;
  }
  return stages;
}

std::string simulatedTimesText(const SimulatedStages& stages) {
  if (!stages.prefill && !stages.decode) return "";
  const char* which = stages.prefill && stages.decode ? "" : stages.prefill ? "prefill: " : "decode: ";
  return std::string(which) + "host time of the simulation";
}

}  // namespace firn::tools
