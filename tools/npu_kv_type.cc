#include "tools/npu_kv_type.h"

#include "base/concat.h"
#include "base/dtype.h"
#include "blob/names.h"

namespace firn::tools {
namespace {

/// The option that puts a part on npu; empty: none does.
std::string npuOption(const DeviceChoice& choice) {
  const std::string npu(blob::targetName(blob::Target::kNpu));
  if (choice.place.find("=" + npu) != std::string::npos) return "--place " + choice.place;
  if (choice.prefillDevice == npu) return "--prefill-device " + npu;
  if (choice.decodeDevice == npu) return "--decode-device " + npu;
  const bool isOverruled = !choice.prefillDevice.empty() && !choice.decodeDevice.empty();
  return choice.device == npu && !isOverruled ? "--device " + npu : "";
}

}  // namespace

Status checkNpuKvType(const DeviceChoice& choice, const std::string& kvType) {
  const std::string_view only = dtypeInfo(DType::kF16)->name;
  const std::string option = npuOption(choice);
  if (kvType.empty() || kvType == only || option.empty()) return Status::ok();
  return invalidArgument(concat("--kv-type ", kvType, " with ", option, ": a program for npu keeps its cache in ", only,
                                "; leave --kv-type out, or take another device"));
}

}  // namespace firn::tools
