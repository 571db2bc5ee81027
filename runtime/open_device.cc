#include <algorithm>
#include <array>
#include <utility>

#include "base/concat.h"
#include "base/joined.h"
#include "runtime/devices/cpu/cpu_device.h"
#include "runtime/devices/npu/npu_device.h"
#include "runtime/devices/null/null_device.h"
#include "runtime/devices/reference/reference_device.h"
#include "runtime/static_device.h"

namespace firn::runtime {
namespace {

struct KnownDevice {
  std::string_view name;
  bool hasInstructionSets;  ///< DeviceOptions::instructionSet is for it
  Result<std::unique_ptr<Backend>> (*open)(const DeviceOptions& options);
};

// The list of devices: a new one is a folder under devices/ and one line here.
constexpr std::array kDevices = {
    KnownDevice{"cpu", true, openCpuBackend},
    KnownDevice{"npu", true, openNpuBackend},
    KnownDevice{"null", false, openNullBackend},
    KnownDevice{"reference", false, openReferenceBackend},
};

const KnownDevice* findDevice(std::string_view name) {
  const auto* const found = std::ranges::find(kDevices, name, &KnownDevice::name);
  return found == kDevices.end() ? nullptr : found;
}

}  // namespace

bool hasInstructionSets(std::string_view device) {
  const KnownDevice* const found = findDevice(device);
  return found != nullptr && found->hasInstructionSets;
}

Result<std::unique_ptr<Device>> openDevice(std::string_view name) { return openDevice(name, DeviceOptions{}); }

Result<std::unique_ptr<Device>> openDevice(std::string_view name, const DeviceOptions& options) {
  const KnownDevice* const device = findDevice(name);
  if (device == nullptr) {
    return notFound(
        concat("there is no device \"", name, "\"; known devices: ", joined(kDevices, ", ", &KnownDevice::name)));
  }
  if (!device->hasInstructionSets && !options.instructionSet.empty()) {
    return unsupported(concat("device ", name, " has no choice of instruction set, but \"", options.instructionSet,
                              "\" was asked for"));
  }
  FIRN_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend, device->open(options));
  return std::unique_ptr<Device>(std::make_unique<StaticDevice>(std::move(backend)));
}

}  // namespace firn::runtime
