// alloc, free, map.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
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
    opened = std::move(*device);
  }

  std::unique_ptr<Device> opened;
};

TEST_P(BuffersTest, MemoryIsZeroedAlignedAndWritable) {
  for (const uint64_t bytes : {uint64_t{1}, uint64_t{4097}, uint64_t{2} << 20, (uint64_t{5} << 20) + 1}) {
    const Result<BufferId> buffer = opened->alloc(bytes);
    ASSERT_TRUE(buffer) << buffer.status().toString();
    const Result<std::span<std::byte>> memory = opened->map(*buffer);
    ASSERT_TRUE(memory) << memory.status().toString();
    EXPECT_EQ(memory->size(), bytes);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(memory->data()) % (bytes >= (2U << 20) ? 2U << 20 : 64U), 0U) << bytes;
    EXPECT_TRUE(std::ranges::all_of(*memory, [](std::byte b) { return b == std::byte{0}; })) << bytes;
    std::ranges::fill(*memory, kCanary);
    EXPECT_TRUE(opened->free(*buffer));
  }
}

TEST_P(BuffersTest, BuffersAreDistinct) {
  const Result<BufferId> a = opened->alloc(100);
  const Result<BufferId> b = opened->alloc(100);
  ASSERT_TRUE(a && b);
  EXPECT_NE(*a, *b);
  std::ranges::fill(*opened->map(*a), kCanary);
  EXPECT_TRUE(std::ranges::all_of(*opened->map(*b), [](std::byte x) { return x == std::byte{0}; }));
}

TEST_P(BuffersTest, MemoryOfTheCallerIsUsedInPlace) {
  alignas(64) std::array<std::byte, 256> memory{};
  const Result<BufferId> buffer = opened->alloc(memory.size(), memory.data());
  ASSERT_TRUE(buffer) << buffer.status().toString();
  const Result<std::span<std::byte>> seen = opened->map(*buffer);
  ASSERT_TRUE(seen) << seen.status().toString();
  EXPECT_EQ(seen->data(), memory.data());
  EXPECT_EQ(seen->size(), memory.size());
  memory.back() = kCanary;
  EXPECT_TRUE(opened->free(*buffer));
  EXPECT_EQ(memory.back(), kCanary) << "it stays the caller's";
  EXPECT_EQ(opened->alloc(64, memory.data() + 4).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(opened->alloc(0, memory.data()).status().code(), Code::kInvalidArgument);
}

TEST_P(BuffersTest, ZeroBytesAreRefused) { EXPECT_EQ(opened->alloc(0).status().code(), Code::kInvalidArgument); }

TEST_P(BuffersTest, MoreThanTheMachineHasIsRefused) {
  for (const uint64_t bytes : {uint64_t{1} << 50, UINT64_MAX - 4095, UINT64_MAX}) {
    EXPECT_EQ(opened->alloc(bytes).status().code(), Code::kResourceExhausted) << bytes;
  }
}

TEST_P(BuffersTest, UnknownAndFreedBuffersAreRefused) {
  EXPECT_EQ(opened->free(BufferId{0}).code(), Code::kInvalidArgument);
  EXPECT_EQ(opened->map(BufferId{77}).status().code(), Code::kInvalidArgument);
  const Result<BufferId> buffer = opened->alloc(64);
  ASSERT_TRUE(buffer);
  EXPECT_TRUE(opened->free(*buffer));
  EXPECT_EQ(opened->free(*buffer).code(), Code::kInvalidArgument) << "double free";
  EXPECT_EQ(opened->map(*buffer).status().code(), Code::kInvalidArgument);
  const Result<BufferId> next = opened->alloc(64);
  ASSERT_TRUE(next);
  EXPECT_NE(*next, *buffer) << "an id was used again: a stale one would reach foreign memory";
}

FIRN_ON_EVERY_DEVICE(BuffersTest);

}  // namespace
}  // namespace firn::runtime::cts
