// bind, submit and wait allocate nothing: this program counts every allocation it makes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "base/allocation_counter_for_test.h"
#include "runtime/cts/device_cases.h"

namespace firn::runtime::cts {
namespace {

class AllocationTest : public DeviceTest {};

TEST_P(AllocationTest, BindSubmitAndWaitAllocateNothing) {
  std::unique_ptr<Rig> rig = Rig::open(GetParam());
  ASSERT_NE(rig, nullptr);
  Device& device = rig->device();
  rig->setInputs({.ids = someIds(1), .row0 = 0});
  for (const bool isMeasuring : {false, true}) {
    if (isMeasuring) device.profile();
    for (uint32_t entry = 0; entry < rig->blob().entries().size(); ++entry) {
      const Bindings bindings = rig->bindings(entry);
      const uint64_t before = allocationCount();
      bool isFine = true;
      for (int repeat = 0; repeat < 20; ++repeat) {
        isFine = isFine && device.bind(rig->program(), entry, bindings) && device.submit(rig->program(), entry) &&
                 device.wait();
      }
      const uint64_t after = allocationCount();
      EXPECT_TRUE(isFine);
      EXPECT_EQ(after, before) << rig->blob().string(rig->blob().entries()[entry].name);
    }
  }
}

FIRN_ON_EVERY_DEVICE(AllocationTest);

}  // namespace
}  // namespace firn::runtime::cts
