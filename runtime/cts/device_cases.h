// The devices that the conformance suite runs on, and what each is excused from.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "runtime/cts/rig.h"

namespace firn::runtime::cts {

/// One line per device and way of opening it.
std::vector<DeviceCase> deviceCases();

/// A test that a device need not pass, and why.
struct DeviceException {
  std::string device;
  std::string test;  ///< "Suite.Test" or "Suite.*"
  std::string reason;
};
const std::vector<DeviceException>& deviceExceptions();

/// Base of every conformance test: skips the excused ones.
class DeviceTest : public testing::TestWithParam<DeviceCase> {
 protected:
  void SetUp() override;
};

/// One that works with a rig. `rig` is null where the test is skipped.
class RigTest : public DeviceTest {
 protected:
  void SetUp() override;
  std::unique_ptr<Rig> rig;
};

std::string caseName(const testing::TestParamInfo<DeviceCase>& info);

}  // namespace firn::runtime::cts

/// Runs the suite `name`, a DeviceTest, on every device.
#define FIRN_ON_EVERY_DEVICE(name)                                                                \
  INSTANTIATE_TEST_SUITE_P(Devices, name, testing::ValuesIn(::firn::runtime::cts::deviceCases()), \
                           ::firn::runtime::cts::caseName)
