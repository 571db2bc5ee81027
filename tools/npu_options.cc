#include "tools/npu_options.h"

#include <algorithm>
#include <vector>

#include "base/concat.h"
#include "base/dtype.h"
#include "base/quote.h"
#include "blob/names.h"
#include "compiler/placement.h"

namespace firn::tools {
namespace {

using compiler::PlaceRange;

/// The options that put parts on npu; empty: none does.
struct NpuUse {
  std::string ofAny;     ///< parts
  std::string ofLayers;  ///< of every model
};

/// The device option that a phase goes by, where that is npu: --device holds for the phases that have none of their
/// own.
std::string phaseOption(const DeviceChoice& choice) {
  const std::string npu(blob::targetName(blob::Target::kNpu));
  if (choice.prefillDevice == npu) return "--prefill-device " + npu;
  if (choice.decodeDevice == npu) return "--decode-device " + npu;
  const bool isOverruled = !choice.prefillDevice.empty() && !choice.decodeDevice.empty();
  return choice.device == npu && !isOverruled ? "--device " + npu : "";
}

Result<NpuUse> npuUseOf(const DeviceChoice& choice) {
  FIRN_ASSIGN_OR_RETURN(const std::vector<PlaceRange> places, compiler::parsePlaces(choice.place));
  NpuUse use;
  // The embedding goes by the phase's device whatever is placed.
  use.ofAny = phaseOption(choice);
  // Every model has a layer 0, which a range may put elsewhere.
  const bool isFirstPlaced =
      std::ranges::any_of(places, [](const PlaceRange& range) { return !range.isHead && range.first == 0; });
  if (!isFirstPlaced) use.ofLayers = use.ofAny;
  for (const PlaceRange& range : places) {
    if (range.target != blob::targetName(blob::Target::kNpu)) continue;
    use.ofAny = "--place " + range.text;
    if (!range.isHead) use.ofLayers = use.ofAny;
  }
  return use;
}

}  // namespace

Status checkNpuOptions(const DeviceChoice& choice, const NpuOptions& options) {
  FIRN_ASSIGN_OR_RETURN(const NpuUse use, npuUseOf(choice));
  if (!options.machine.empty() && use.ofAny.empty()) {
    return invalidArgument("--machine is " + firn::quoted(options.machine) +
                           ", but no part of the model is for device npu, which alone has a machine; leave it out, or "
                           "give --device npu, --prefill-device npu, --decode-device npu or a --place with =npu");
  }
  const std::string_view only = dtypeInfo(DType::kF16)->name;
  if (options.kvType.empty() || options.kvType == only || use.ofLayers.empty()) return Status::ok();
  return invalidArgument(concat("--kv-type ", options.kvType, " with ", use.ofLayers,
                                ": layers on npu keep their cache in ", only,
                                "; leave --kv-type out, or take another device"));
}

}  // namespace firn::tools
