// alloc, free, map.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "runtime/cts/device_cases.h"

namespace firn::runtime::cts {
namespace {

class BuffersTest : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    Result<std::unique_ptr<Device>> device = openDevice(GetParam().device, GetParam().options);
    ASSERT_TRUE(device) << device.status().toString();
    device_ = std::move(*device);
  }

  std::unique_ptr<Device> device_;
};

TEST_P(BuffersTest, MemoryIsZeroedAlignedAndWritable) {
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{4097}, uint64_t{2} << 20, (uint64_t{5} << 20) + 1}) {
    const Result<BufferId> buffer = device_->alloc(bytes);
    ASSERT_TRUE(buffer) << buffer.status().toString();
    const Result<std::span<std::byte>> memory = device_->map(*buffer);
    ASSERT_TRUE(memory) << memory.status().toString();
    EXPECT_EQ(memory->size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % (bytes >= (2U << 20) ? 2U << 20 : 64U), 0U) << bytes;
    EXPECT_TRUE(std::ranges::all_of(*memory, [](std::byte b) { return b == std::byte{0}; })) << bytes;
    std::ranges::fill(*memory, kCanary);
    EXPECT_TRUE(device_->free(*buffer));
  }
}

TEST_P(BuffersTest, BuffersAreDistinct) {
  const Result<BufferId> a = device_->alloc(100);
  const Result<BufferId> b = device_->alloc(100);
  ASSERT_TRUE(a && b);
  EXPECT_NE(*a, *b);
  std::ranges::fill(*device_->map(*a), kCanary);
  EXPECT_TRUE(std::ranges::all_of(*device_->map(*b), [](std::byte x) { return x == std::byte{0}; }));
}

TEST_P(BuffersTest, ZeroBytesAreRefused) { EXPECT_EQ(device_->alloc(0).status().code(), Code::kInvalidArgument); }

TEST_P(BuffersTest, MoreThanTheMachineHasIsRefused) {
  for (const uint64_t bytes : {uint64_t{1} << 50, UINT64_MAX - 4095, UINT64_MAX}) {
    EXPECT_EQ(device_->alloc(bytes).status().code(), Code::kResourceExhausted) << bytes;
  }
}

TEST_P(BuffersTest, UnknownAndFreedBuffersAreRefused) {
  EXPECT_EQ(device_->free(BufferId{0}).code(), Code::kInvalidArgument);
  EXPECT_EQ(device_->map(BufferId{77}).status().code(), Code::kInvalidArgument);
  const Result<BufferId> buffer = device_->alloc(64);
  ASSERT_TRUE(buffer);
  EXPECT_TRUE(device_->free(*buffer));
  EXPECT_EQ(device_->free(*buffer).code(), Code::kInvalidArgument) << "double free";
  EXPECT_EQ(device_->map(*buffer).status().code(), Code::kInvalidArgument);
  const Result<BufferId> next = device_->alloc(64);
  ASSERT_TRUE(next);
  EXPECT_NE(*next, *buffer) << "an id was used again: a stale one would reach foreign memory";
}

FIRN_ON_EVERY_DEVICE(BuffersTest);

}  // namespace
}  // namespace firn::runtime::cts
