#include "engine/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "blob/sample_program.h"
#include "runtime/cts/two_target_blob.h"

namespace firn::engine {
namespace {

using blob::Target;
using runtime::cts::makeTwoTargetBlob;
using testing::AllOf;
using testing::HasSubstr;

Status openStatus(const blob::Blob& blob, const DevicesOptions& options) {
  return Devices::open(blob, options).status();
}

TEST(DevicesTest, EveryDeviceGetsTheOptionsItUnderstands) {
  for (const Target first : {Target::kCpu, Target::kReference}) {
    const blob::Blob blob = makeTwoTargetBlob(first);
    const Status portable = openStatus(blob, {.threads = 2, .deviceOptions = {.instructionSet = "portable"}});
    EXPECT_TRUE(portable) << portable.toString();
    const Status unknown = openStatus(blob, {.deviceOptions = {.instructionSet = "mmx"}});
    EXPECT_THAT(unknown.message(), HasSubstr("\"mmx\"")) << "the cpu is asked, whichever place it has";
    EXPECT_EQ(openStatus(blob, {.threads = 3}).code(), Code::kInvalidArgument) << "it has two lanes";
    EXPECT_TRUE(openStatus(blob, {.deviceOptions = {.instructionSet = "", .pinThreads = false}}));
  }
}

TEST(DevicesTest, AnOptionThatNoDeviceUnderstandsIsRefused) {
  const auto file = blob::sampleBlob(Target::kReference);
  ASSERT_TRUE(file) << file.status().toString();
  const auto blob = blob::Blob::fromMemory(*file);
  ASSERT_TRUE(blob) << blob.status().toString();
  EXPECT_EQ(openStatus(*blob, {.deviceOptions = {.instructionSet = "portable"}}).code(), Code::kUnsupported);
}

TEST(DevicesTest, ANamedDeviceRunsEveryEntryOrNone) {
  const blob::Blob blob = makeTwoTargetBlob(Target::kCpu);
  const Result<Devices> null = Devices::open(blob, {.device = "null"});
  ASSERT_TRUE(null) << null.status().toString();
  EXPECT_EQ(null->count(), 1U);
  for (const char* device : {"cpu", "reference"}) {
    const Status status = openStatus(blob, {.device = device});
    EXPECT_EQ(status.code(), Code::kVersionMismatch);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("cpu"), HasSubstr("reference"))) << status.toString();
  }
}

TEST(DevicesTest, ThePartsOfAnEntryRunOverTheSameMemory) {
  const blob::Blob blob = makeTwoTargetBlob(Target::kReference);
  Result<Devices> devices = Devices::open(blob, {});
  ASSERT_TRUE(devices) << devices.status().toString();
  ASSERT_EQ(devices->count(), 2U);
  // Both parts of prefill.16.64: the second reads the hidden rows that the first leaves, and writes its own there.
  runtime::Bindings bindings{};
  for (const uint32_t part : {0U, 1U}) {
    for (const blob::SymbolRecord& symbol : blob.symbolsOf(blob.entries()[part])) {
      runtime::SymbolBinding& binding = bindings[static_cast<size_t>(symbol.kind)];
      if (binding.bytes != 0) continue;
      const auto buffer = devices->alloc(symbol.bytes);
      ASSERT_TRUE(buffer) << buffer.status().toString();
      binding = {.buffer = *buffer, .offsetBytes = 0, .bytes = symbol.bytes};
      if (symbol.kind == blob::SymbolKind::kValid) devices->map(*buffer)->front() = std::byte{1};
    }
  }
  const Status status = devices->run(0, bindings);
  EXPECT_TRUE(status) << status.toString();
  const auto hidden = devices->map(bindings[static_cast<size_t>(blob::SymbolKind::kHidden)].buffer);
  ASSERT_TRUE(hidden);
  EXPECT_TRUE(std::ranges::any_of(*hidden, [](std::byte byte) { return byte != std::byte{}; }));
}

}  // namespace
}  // namespace firn::engine
