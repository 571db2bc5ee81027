#include "compiler/target/npu/machine_files.h"

#include <algorithm>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "blob/machine/machine.h"

namespace firn::npu {
namespace {

using testing::HasSubstr;

TEST(MachineFilesTest, EveryBuiltInFileIsAMachineOfThatName) {
  const auto names = machineNames();
  EXPECT_GE(names.size(), 5);
  EXPECT_TRUE(std::ranges::is_sorted(names));
  for (const std::string_view name : names) {
    const auto text = machineText(name);
    ASSERT_TRUE(text.isOk()) << text.status().message();
    const auto machine = machine::parseMachine(*text, name);
    ASSERT_TRUE(machine.isOk()) << machine.status().message();
    EXPECT_EQ(machine->name, name);
  }
}

TEST(MachineFilesTest, TheBytesAreThoseOfTheFile) {
  for (const std::string_view name : machineNames()) {
    const auto fromFile = machineText("compiler/target/npu/machines/" + std::string(name) + ".json");
    ASSERT_TRUE(fromFile.isOk()) << fromFile.status().message();
    EXPECT_EQ(*machineText(name), *fromFile);
  }
}

TEST(MachineFilesTest, UnknownNamesAndMissingFilesListWhatThereIs) {
  const std::string first(machineNames().front());
  for (const char* name : {"unknown", "", "unknown.json", "/nowhere/unknown", ".", "compiler/"}) {
    const auto text = machineText(name);
    ASSERT_FALSE(text.isOk()) << name;
    EXPECT_THAT(text.status().message(), HasSubstr(first)) << name;
  }
  EXPECT_EQ(machineText("unknown").status().code(), Code::kNotFound);
  EXPECT_EQ(machineText("unknown.json").status().code(), Code::kNotFound);
}

TEST(MachineFilesTest, RefusesAFileThatIsTooLarge) {
  const auto path = std::filesystem::path(testing::TempDir()) / "firn_large_machine.json";
  std::ofstream(path) << std::string(machine::kMostMachineTextBytes + 1, ' ');
  const auto text = machineText(path.string());
  std::filesystem::remove(path);
  ASSERT_FALSE(text.isOk());
  EXPECT_THAT(text.status().message(), HasSubstr("found 1048577 bytes, expected a machine file of at most 1048576"));
}

}  // namespace
}  // namespace firn::npu
