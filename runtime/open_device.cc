#include <array>
#include <string>

#include "runtime/devices/cpu/cpu_device.h"
#include "runtime/devices/null/null_device.h"
#include "runtime/devices/reference/reference_device.h"
#include "runtime/static_device.h"

namespace firn::runtime {
namespace {

struct KnownDevice {
  std::string_view name;
  Result<std::unique_ptr<Backend>> (*open)(const DeviceOptions& options);
};

// The list of devices: a new one is a folder under devices/ and one line here.
constexpr std::array kDevices = {
    KnownDevice{"cpu", openCpuBackend},
    KnownDevice{"null", openNullBackend},
    KnownDevice{"reference", openReferenceBackend},
};

}  // namespace

Result<std::unique_ptr<Device>> openDevice(std::string_view name) { return openDevice(name, DeviceOptions{}); }

Result<std::unique_ptr<Device>> openDevice(std::string_view name, const DeviceOptions& options) {
  std::string known;
  for (const KnownDevice& device : kDevices) {
    if (device.name == name) {
      FIRN_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend, device.open(options));
      return std::unique_ptr<Device>(std::make_unique<StaticDevice>(std::move(backend)));
    }
    known += (known.empty() ? "" : ", ") + std::string(device.name);
  }
  return notFound("there is no device \"" + std::string(name) + "\"; known devices: " + known);
}

}  // namespace firn::runtime
