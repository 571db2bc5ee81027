// machine.schema.json, which editors check machine files with, against the table that the parser walks.
#include <fstream>
#include <set>

#include <gtest/gtest.h>

#include "blob/machine/machine_fields.h"
#include "blob/machine/sample_machine_for_test.h"

namespace firn::machine {
namespace {

using nlohmann::json;

class MachineSchemaTest : public testing::Test {
 protected:
  void SetUp() override {
    std::ifstream file("compiler/target/npu/machines/machine.schema.json");
    ASSERT_TRUE(file.good());
    schema = json::parse(file);
  }

  /// The schema of a section; of "" that of the file.
  const json& sectionOf(std::string_view section) const {
    return section.empty() ? schema : schema["properties"][std::string(section)];
  }

  json schema;
};

std::set<std::string> namesOf(const json& list) { return list.get<std::set<std::string>>(); }

std::set<std::string> keysOf(const json& object) {
  std::set<std::string> keys;
  for (const auto& [key, value] : object.items()) keys.insert(key);
  return keys;
}

TEST_F(MachineSchemaTest, HasTheFieldsOfTheParserAndNoOthers) {
  std::map<std::string, std::set<std::string>> wanted;
  for (const Field& field : machineFields()) {
    wanted[std::string(field.section)].insert(std::string(field.name));
    if (!field.section.empty()) wanted[""].insert(std::string(field.section));
  }
  for (const auto& [section, names] : wanted) {
    const json& found = sectionOf(section);
    EXPECT_EQ(found["type"], "object") << section;
    EXPECT_EQ(found["additionalProperties"], false) << section;
    EXPECT_EQ(keysOf(found["properties"]), names) << section;
    auto required = names;
    if (section.empty()) required.erase(std::string(kOptionalSection));
    EXPECT_EQ(namesOf(found["required"]), required) << section;
    EXPECT_EQ(found["required"].size(), required.size()) << section;
  }
}

TEST_F(MachineSchemaTest, HasTheLimitsOfTheParser) {
  for (const Field& field : machineFields()) {
    const json& found = sectionOf(field.section)["properties"][std::string(field.name)];
    if (std::holds_alternative<SourceText>(field.into) || std::holds_alternative<std::string Machine::*>(field.into)) {
      EXPECT_EQ(found["type"], "string") << fieldPath(field);
      EXPECT_EQ(found["minLength"], field.low) << fieldPath(field);
      EXPECT_EQ(found["maxLength"], field.high) << fieldPath(field);
      continue;
    }
    const json* number = &found;
    if (std::holds_alternative<GridList>(field.into)) {
      EXPECT_EQ(found["minItems"], 1);
      EXPECT_EQ(found["maxItems"], kMostGrids);
      EXPECT_EQ(found["items"]["minItems"], 3);
      EXPECT_EQ(found["items"]["maxItems"], 3);
      number = &found["items"]["items"];
    }
    if (std::holds_alternative<KernelTable>(field.into)) number = &schema["$defs"]["kernel"]["properties"]["memory"];
    EXPECT_EQ((*number)["type"], std::holds_alternative<double Energy::*>(field.into) ? "number" : "integer");
    EXPECT_EQ((*number)["minimum"], field.low) << fieldPath(field);
    EXPECT_EQ((*number)["maximum"], field.high) << fieldPath(field);
  }
}

TEST_F(MachineSchemaTest, HasTheKernelsOfTheParser) {
  const std::set<std::string> kernels(kShaveKernels.begin(), kShaveKernels.end());
  const json& found = schema["properties"]["shave"]["properties"]["kernels"];
  EXPECT_EQ(keysOf(found["properties"]), kernels);
  EXPECT_EQ(namesOf(found["required"]), kernels);
  EXPECT_EQ(found["additionalProperties"], false);
  for (const json& kernel : found["properties"]) EXPECT_EQ(kernel["$ref"], "#/$defs/kernel");
  const json& line = schema["$defs"]["kernel"];
  EXPECT_EQ(namesOf(line["required"]), (std::set<std::string>{"memory", "ops"}));
  EXPECT_EQ(keysOf(line["properties"]), (std::set<std::string>{"memory", "ops"}));
  EXPECT_EQ(line["additionalProperties"], false);
  EXPECT_EQ(line["properties"]["memory"]["maximum"], line["properties"]["ops"]["maximum"]);
  EXPECT_EQ(line["properties"]["memory"]["minimum"], line["properties"]["ops"]["minimum"]);
}

}  // namespace
}  // namespace firn::machine
