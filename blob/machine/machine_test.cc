// Machine files: what is read, and that everything else is refused by name.
#include "blob/machine/machine.h"

#include <fstream>
#include <limits>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/concat.h"
#include "blob/machine/machine_fields.h"
#include "blob/machine/sample_machine_for_test.h"

namespace firn::machine {
namespace {

using nlohmann::json;
using testing::HasSubstr;

std::string refusal(const json& file) {
  const auto machine = parseMachine(file.dump(), "x.json");
  return machine.isOk() ? "" : machine.status().toString();
}

/// The object of a file that a field stands in.
json& objectOf(json& file, const Field& field) {
  return field.section.empty() ? file : file[std::string(field.section)];
}

json withEnergy() {
  json file = sampleMachineJson();
  file["energy"] = {{"source", "made up"},
                    {"picojoules_per_mac", 0.25},
                    {"picojoules_per_ddr_byte", 60},
                    {"picojoules_per_cmx_byte", 1.5},
                    {"picojoules_per_shave_element", 2}};
  return file;
}

TEST(MachineTest, ReadsEveryField) {
  json file = withEnergy();
  file["calls"]["start_ns"] = 2500;
  const auto machine = parseMachine(file.dump(), "x.json");
  ASSERT_TRUE(machine.isOk()) << machine.status().message();
  EXPECT_EQ(machine->name, "sample");
  EXPECT_EQ(machine->tiles, 2);
  EXPECT_EQ(machine->grids[1].channels, 64);
  EXPECT_EQ(machine->fp16Factor, 2);
  EXPECT_EQ(machine->dpuStartCycles, 10);
  EXPECT_EQ(machine->shavesPerTile, 2);
  EXPECT_EQ(machine->shaveEfficiencyPercent, 50);
  EXPECT_EQ(machine->kernels[0].memory, 2);
  EXPECT_EQ(machine->kernels.back().ops, 1);
  EXPECT_EQ(machine->cmxBytes, 1 << 20);
  EXPECT_EQ(machine->cmxReadBytesPerCycle, 256);
  EXPECT_EQ(machine->dmaBytesPerCycle, 64);
  EXPECT_EQ(machine->dmaDdrLatencyNs, 100);
  EXPECT_EQ(machine->dmaCmxLatencyCycles, 20);
  EXPECT_EQ(machine->ddrMegabytesPerSecond, 80'000);
  EXPECT_EQ(machine->ddrBytes, uint64_t{1} << 32);
  EXPECT_EQ(machine->barriers, 16);
  EXPECT_EQ(machine->callStartNs, 2500);
  ASSERT_TRUE(machine->energy.has_value());
  EXPECT_EQ(machine->energy->perMac, 0.25);
  EXPECT_EQ(machine->energy->perShaveElement, 2);
  EXPECT_EQ(machine->sources.size(), 10);
  EXPECT_FALSE(sampleMachine().energy.has_value());
}

TEST(MachineTest, QueuesAndBack) {
  const Machine machine = sampleMachine();
  EXPECT_EQ(queueCount(machine), 6);
  EXPECT_EQ(queueOf(machine, Engine::kDma, 1), 1);
  EXPECT_EQ(queueOf(machine, Engine::kDpu, 0), 2);
  EXPECT_EQ(queueOf(machine, Engine::kShave, 1), 5);
  for (uint32_t queue = 0; queue < queueCount(machine); ++queue) {
    const QueueOwner owner = ownerOf(machine, queue);
    EXPECT_EQ(queueOf(machine, owner.engine, owner.index), queue);
  }
  EXPECT_EQ(queueName(machine, 4), "shave 0");
}

TEST(MachineTest, EveryFieldIsNeeded) {
  for (const Field& field : machineFields()) {
    if (field.name == "bytes_per_tile") continue;  // a machine without CMX, below
    json file = withEnergy();
    objectOf(file, field).erase(std::string(field.name));
    const std::string text = refusal(file);
    EXPECT_THAT(text, HasSubstr(concat("machine x.json: field '", fieldPath(field), "': found nothing, expected")))
        << text;
  }
}

TEST(MachineTest, EverySectionIsNeededButEnergy) {
  for (const std::string section : {"clocks", "dpu", "shave", "dma", "ddr", "barriers"}) {
    json file = sampleMachineJson();
    file.erase(section);
    EXPECT_THAT(refusal(file), HasSubstr(concat("field '", section, "': found nothing, expected an object")));
    file[section] = 3;
    EXPECT_THAT(refusal(file), HasSubstr(concat("field '", section, "': found 3, expected an object")));
  }
}

TEST(MachineTest, WrongTypesAndNumbersOutsideTheLimits) {
  for (const Field& field : machineFields()) {
    std::vector<json> bad = {nullptr, true, json::array(), json::object(), -1, 1e300, std::string(3000, 'x'), "\n", ""};
    const bool isText =
        std::holds_alternative<std::string Machine::*>(field.into) || std::holds_alternative<SourceText>(field.into);
    if (isText) bad.push_back(7);
    if (!std::holds_alternative<double Energy::*>(field.into)) bad.push_back(0.5);
    if (!isText && field.low > 0) bad.push_back(field.low - 1);
    if (!isText) bad.push_back(field.high + 1);
    for (const json& value : bad) {
      json file = withEnergy();
      objectOf(file, field)[std::string(field.name)] = value;
      const std::string text = refusal(file);
      EXPECT_THAT(text, HasSubstr(fieldPath(field))) << fieldPath(field) << " = " << value << ": " << text;
      EXPECT_THAT(text, HasSubstr("found ")) << text;
      EXPECT_THAT(text, HasSubstr("expected ")) << text;
    }
  }
}

TEST(MachineTest, LimitsThemselvesAreAccepted) {
  for (const Field& field : machineFields()) {
    // Those that others bind: the queues, the product of a grid.
    if (field.name == "tiles" || field.name == "engines" || field.name == "macs_per_cycle") continue;
    if (!std::holds_alternative<uint32_t Machine::*>(field.into) &&
        !std::holds_alternative<uint64_t Machine::*>(field.into)) {
      continue;
    }
    for (const uint64_t value : {field.low, field.high}) {
      json file = sampleMachineJson();
      objectOf(file, field)[std::string(field.name)] = value;
      EXPECT_EQ(refusal(file), "");
    }
  }
}

TEST(MachineTest, UnknownFieldsAreRefusedEverywhere) {
  for (const char* place : {"", "/dpu", "/shave/kernels", "/shave/kernels/rope", "/energy"}) {
    json file = withEnergy();
    file[json::json_pointer(place)]["clok"] = 1;
    EXPECT_THAT(refusal(file), HasSubstr("found the unknown field 'clok', expected ")) << place;
  }
}

TEST(MachineTest, KernelsMustBeThoseOfTheTarget) {
  json file = sampleMachineJson();
  file["shave"]["kernels"].erase("softmax");
  EXPECT_THAT(refusal(file), HasSubstr("'shave.kernels.softmax': found nothing, expected a cost line"));
  file = sampleMachineJson();
  file["shave"]["kernels"]["softmax"]["ops"] = 10'001;
  EXPECT_THAT(refusal(file),
              HasSubstr("'shave.kernels.softmax.ops': found 10001, expected a whole number from 1 to 10000"));
}

TEST(MachineTest, GridsUseAllMacs) {
  json file = sampleMachineJson();
  file["dpu"]["grids"] = {{16, 16, 8}, {8, 16, 8}};
  EXPECT_THAT(refusal(file),
              HasSubstr("'dpu.grids[1]': found 8 x 16 x 8 = 1024, expected 'dpu.macs_per_cycle' = 2048"));
  file["dpu"]["grids"] = {{16, 128}};
  EXPECT_THAT(refusal(file), HasSubstr("'dpu.grids[0]': found a list of 2, expected three numbers"));
  file["dpu"]["grids"] = {{16, 16, 0}};
  EXPECT_THAT(refusal(file), HasSubstr("'dpu.grids[0][2]': found 0"));
}

TEST(MachineTest, NoMoreThan64Queues) {
  json file = sampleMachineJson();
  file["tiles"] = 31;
  EXPECT_EQ(refusal(file), "");
  file["dma"]["engines"] = 3;
  EXPECT_THAT(refusal(file), HasSubstr("found 3 and 31, together 65 queues"));
}

TEST(MachineTest, NoCmxIsOneError) {
  json without = sampleMachineJson();
  without.erase("cmx");
  json noSize = sampleMachineJson();
  noSize["cmx"].erase("bytes_per_tile");
  json zero = sampleMachineJson();
  zero["cmx"]["bytes_per_tile"] = 0;
  EXPECT_THAT(refusal(without), HasSubstr("unsupported: machine x.json: the machine has no CMX"));
  EXPECT_THAT(refusal(zero), HasSubstr("unsupported: machine x.json: the machine has no CMX"));
  EXPECT_THAT(refusal(noSize), HasSubstr("'cmx.bytes_per_tile': found nothing, expected a whole number"));
}

TEST(MachineTest, WhatIsNoJson) {
  const auto message = [](std::string_view text) { return parseMachine(text, "x").status().message(); };
  EXPECT_THAT(message(""), HasSubstr("line 1, column 1: found text that is no JSON"));
  EXPECT_THAT(message("{\n\n\"tiles\": 2,}"), HasSubstr("line 3, column 12: "));
  EXPECT_THAT(message("[1]"), HasSubstr("found a list of 1, expected an object"));
  EXPECT_THAT(message(std::string(kMostMachineTextBytes + 1, ' ')), HasSubstr("bytes, expected at most"));
  EXPECT_THAT(message(std::string(1 << 19, '[')), HasSubstr("objects and lists more than 8 deep"));
  std::string many = "[0";
  while (many.size() < kMostMachineTextBytes / 2) many += ",[]";
  EXPECT_THAT(message(many + "]"), HasSubstr("found more than 1000 values"));
  EXPECT_THAT(message(R"({"name": "a", "name": "b"})"), HasSubstr("field 'name': found twice"));
  EXPECT_THAT(message(R"({"name": "\)"), HasSubstr("no JSON"));
  // Where, what was found, and what was expected.
  const std::string place = ": found text that is no JSON: ";
  for (const auto& [text, said] :
       {std::pair("{\"a\": 1} // x", "line 1, column 10" + place + "invalid literal"),
        {"{\"a\": 1}\n# x", "line 2, column 1" + place + "invalid literal"},
        {"{\n \"a\": NaN}", "line 2, column 7" + place + "invalid literal; last read: "},
        {"{\"a\": 06}", "line 1, column 8" + place + "unexpected number literal; expected '}'"},
        {"{\"a\": 2,}", "line 1, column 9" + place + "unexpected '}'; expected string"},
        {"{'a': 1}", "line 1, column 2" + place},
        {"{\"name\": \"\xFF\"}", "line 1, column 11" + place + "invalid string: ill-formed"},
        {"{\n\"tiles\": 1e999}", "line 2, column 10: found the number 1e999, which no double"}}) {
    EXPECT_THAT(message(text), HasSubstr(said));
  }
  EXPECT_THAT(message("{} // x"), HasSubstr("JSON has no comments"));
}

/// docs/npu.md lists every field with its limits.
TEST(MachineTest, DocumentedWithItsLimits) {
  std::ifstream in("docs/npu.md");
  std::stringstream page;
  page << in.rdbuf();
  for (const Field& field : machineFields()) {
    const std::string row = concat("| `", fieldPath(field), "` | ", field.low, " .. ", field.high);
    EXPECT_THAT(page.str(), HasSubstr(row)) << row;
  }
  for (const std::string_view kernel : kShaveKernels) {
    EXPECT_THAT(page.str(), HasSubstr(concat("| `", kernel, "` | "))) << kernel;
  }
}

}  // namespace
}  // namespace firn::machine
