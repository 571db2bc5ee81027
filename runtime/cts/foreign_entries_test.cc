// A blob that has entries for two targets: a device runs its own and refuses the others by name; "null" runs them all.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/concat.h"
#include "blob/names.h"
#include "runtime/cts/device_cases.h"
#include "runtime/cts/two_target_blob.h"

namespace firn::runtime::cts {
namespace {

using testing::HasSubstr;

/// Memory for every symbol of the entry, zeroed; one token is valid.
Bindings memoryFor(Device& device, const blob::Blob& blob, const blob::EntryRecord& entry) {
  Bindings bindings{};
  for (const blob::SymbolRecord& symbol : blob.symbolsOf(entry)) {
    const auto buffer = device.alloc(symbol.bytes);
    EXPECT_TRUE(buffer) << buffer.status().toString();
    bindings[static_cast<size_t>(symbol.kind)] = {.buffer = *buffer, .offsetBytes = 0, .bytes = symbol.bytes};
    if (symbol.kind == blob::SymbolKind::kValid) device.map(*buffer)->front() = std::byte{1};
  }
  return bindings;
}

class ForeignEntriesTest : public DeviceTest {
 protected:
  void check(blob::Target first, blob::Target second) {
    const blob::Blob blob = makeTwoTargetBlob(first, second);
    const auto device = openDevice(GetParam().device, GetParam().options);
    ASSERT_TRUE(device);
    const Result<ProgramId> program = (*device)->load(blob, {.threads = 1});
    ASSERT_TRUE(program) << program.status().toString();
    for (uint32_t i = 0; i < blob.entries().size(); ++i) {
      const blob::EntryRecord& entry = blob.entries()[i];
      const Bindings bindings = memoryFor(**device, blob, entry);
      const std::string name(blob.string(entry.name));
      const Status bound = (*device)->bind(*program, i, bindings);
      const Status submitted = (*device)->submit(*program, i);
      const bool isOwn = GetParam().device == "null" || GetParam().device == blob::targetName(entry.target);
      if (isOwn) {
        EXPECT_TRUE(bound) << name << ": " << bound.toString();
        EXPECT_TRUE(submitted) << name << ": " << submitted.toString();
        EXPECT_TRUE((*device)->wait());
        continue;
      }
      for (const Status& status : {bound, submitted}) {
        EXPECT_EQ(status.code(), Code::kInvalidArgument);
        EXPECT_THAT(status.message(), HasSubstr(concat(name, " is for target ", blob::targetName(entry.target),
                                                       ", device ", GetParam().device)));
      }
    }
  }
};

TEST_P(ForeignEntriesTest, AreRefusedByName) {
  constexpr blob::Target kTargets[] = {blob::Target::kCpu, blob::Target::kReference, blob::Target::kNpu};
  for (const blob::Target first : kTargets) {
    for (const blob::Target second : kTargets) {
      const bool isMeant = GetParam().device == "null" || GetParam().device == blob::targetName(first) ||
                           GetParam().device == blob::targetName(second);
      if (first != second && isMeant) check(first, second);
    }
  }
}

FIRN_ON_EVERY_DEVICE(ForeignEntriesTest);

}  // namespace
}  // namespace firn::runtime::cts
