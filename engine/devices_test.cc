#include "engine/devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "blob/sample_program.h"
#include "runtime/cts/tiny_model.h"
#include "runtime/cts/two_target_blob.h"
#include "runtime/device.h"

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
    const blob::Blob blob = makeTwoTargetBlob(first, first == Target::kCpu ? Target::kReference : Target::kCpu);
    const Status portable = openStatus(blob, {.threads = 2, .deviceOptions = {.instructionSet = "portable"}});
    EXPECT_TRUE(portable) << portable.toString();
    const Status unknown = openStatus(blob, {.deviceOptions = {.instructionSet = "mmx"}});
    EXPECT_THAT(unknown.message(), HasSubstr("\"mmx\"")) << "the cpu is asked, whichever place it has";
    EXPECT_EQ(openStatus(blob, {.threads = 3}).code(), Code::kInvalidArgument) << "it has two lanes";
    EXPECT_TRUE(openStatus(blob, {.deviceOptions = {.instructionSet = "", .pinThreads = false}}));
  }
}

TEST(DevicesTest, ADeviceOfOneThreadTakesOne) {
  for (const Target target : {Target::kReference, Target::kNpu}) {
    const auto blob = runtime::cts::makeTinyBlob({.target = target});
    ASSERT_TRUE(blob) << blob.status().toString();
    const Status status = openStatus(*blob, {.threads = 4});
    EXPECT_TRUE(status) << status.toString();
  }
}

TEST(DevicesTest, TellsTheThreadsOfTheDeviceThatHasTheMost) {
  for (const Target first : {Target::kCpu, Target::kReference}) {
    const blob::Blob blob = makeTwoTargetBlob(first, first == Target::kCpu ? Target::kReference : Target::kCpu);
    for (const uint32_t threads : {1U, 2U}) {
      const auto devices = Devices::open(blob, {.threads = threads});
      ASSERT_TRUE(devices) << devices.status().toString();
      EXPECT_EQ(devices->threads(), threads);
    }
  }
  const auto alone = runtime::cts::makeTinyBlob({.target = Target::kReference});
  ASSERT_TRUE(alone) << alone.status().toString();
  for (const uint32_t threads : {0U, 2U}) EXPECT_EQ(Devices::open(*alone, {.threads = threads})->threads(), 1U);
}

TEST(DevicesTest, AProgramThatIsLargerThanTheMachinesMemoryIsRefused) {
  const auto blob = runtime::cts::makeTinyBlob({.target = Target::kNpu, .edit = [](blob::Program& program) {
                                                  program.entries.front().scratchBytes = uint64_t{4} << 30;
                                                }});
  ASSERT_TRUE(blob) << blob.status().toString();
  const Status status = openStatus(*blob, {});
  EXPECT_EQ(status.code(), Code::kResourceExhausted);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("4294 MB of scratch"), HasSubstr("ddr.bytes")));
}

TEST(DevicesTest, AnOptionThatNoDeviceUnderstandsIsRefused) {
  const auto file = blob::sampleBlob(Target::kReference);
  ASSERT_TRUE(file) << file.status().toString();
  const auto blob = blob::Blob::fromMemory(*file);
  ASSERT_TRUE(blob) << blob.status().toString();
  EXPECT_EQ(openStatus(*blob, {.deviceOptions = {.instructionSet = "portable"}}).code(), Code::kUnsupported);
}

TEST(DevicesTest, ANamedDeviceRunsEveryEntryOrNone) {
  const blob::Blob blob = makeTwoTargetBlob(Target::kCpu, Target::kReference);
  const Result<Devices> null = Devices::open(blob, {.device = "null"});
  ASSERT_TRUE(null) << null.status().toString();
  EXPECT_EQ(null->count(), 1U);
  for (const char* device : {"cpu", "reference"}) {
    const Status status = openStatus(blob, {.device = device});
    EXPECT_EQ(status.code(), Code::kVersionMismatch);
    EXPECT_THAT(status.message(), AllOf(HasSubstr("cpu"), HasSubstr("reference"))) << status.toString();
  }
}

/// Memory, of `devices`, for every symbol of the first `parts` parts of the first entry, zeroed; one token is valid.
template <typename Devices>
runtime::Bindings memoryFor(Devices& devices, const blob::Blob& blob, uint32_t parts) {
  runtime::Bindings bindings{};
  for (uint32_t part = 0; part < parts; ++part) {
    for (const blob::SymbolRecord& symbol : blob.symbolsOf(blob.entries()[part])) {
      runtime::SymbolBinding& binding = bindings[static_cast<size_t>(symbol.kind)];
      if (binding.bytes != 0) continue;
      const auto buffer = devices.alloc(symbol.bytes);
      EXPECT_TRUE(buffer) << buffer.status().toString();
      binding = {.buffer = *buffer, .offsetBytes = 0, .bytes = symbol.bytes};
      const auto bytes = devices.map(*buffer);
      EXPECT_TRUE(bytes) << bytes.status().toString();
      if (symbol.kind == blob::SymbolKind::kValid) bytes->front() = std::byte{1};
    }
  }
  return bindings;
}

template <typename Devices>
std::vector<std::byte> hiddenRows(Devices& devices, const runtime::Bindings& bindings) {
  const auto bytes = devices.map(bindings[static_cast<size_t>(blob::SymbolKind::kHidden)].buffer);
  EXPECT_TRUE(bytes) << bytes.status().toString();
  return {bytes->begin(), bytes->end()};
}

TEST(DevicesTest, ThePartsOfAnEntryRunOverTheSameMemory) {
  const blob::Blob blob = makeTwoTargetBlob(Target::kReference, Target::kCpu);
  Result<Devices> devices = Devices::open(blob, {});
  ASSERT_TRUE(devices) << devices.status().toString();
  ASSERT_EQ(devices->count(), 2U);
  const runtime::Bindings bindings = memoryFor(*devices, blob, 2);
  const Status status = devices->run(0, bindings);
  EXPECT_TRUE(status) << status.toString();

  // The first part alone leaves other rows there: the second wrote its own over them.
  const auto first = runtime::openDevice("reference", {});
  ASSERT_TRUE(first);
  const auto program = (*first)->load(blob, {.threads = 1});
  ASSERT_TRUE(program) << program.status().toString();
  const runtime::Bindings firstBindings = memoryFor(**first, blob, 1);
  ASSERT_TRUE((*first)->bind(*program, 0, firstBindings));
  ASSERT_TRUE((*first)->submit(*program, 0));
  ASSERT_TRUE((*first)->wait());
  const std::vector<std::byte> firstRows = hiddenRows(**first, firstBindings);
  EXPECT_TRUE(std::ranges::any_of(firstRows, [](std::byte byte) { return byte != std::byte{}; }));
  EXPECT_NE(hiddenRows(*devices, bindings), firstRows);
}

}  // namespace
}  // namespace firn::engine
