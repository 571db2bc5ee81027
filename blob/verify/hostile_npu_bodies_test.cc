// Lies of what only programs for the npu have: the machine file, bodies that are queues, barriers.
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "blob/machine/sample_machine_for_test.h"
#include "blob/sample_file.h"
#include "blob/two_target_program.h"
#include "blob/verify/blob_editor_for_test.h"

namespace firn::blob {
namespace {

std::string_view machineOf(Editor& e) {
  const Elf64_Shdr& header = e.sectionHeader(SectionId::kMachine);
  return {reinterpret_cast<const char*>(e.section(SectionId::kMachine)), header.sh_size};
}

/// Replaces text of the machine file by one as long, and makes its hash right.
void editMachine(Editor& e, std::string_view from, std::string_view to) {
  ASSERT_EQ(from.size(), to.size());
  const size_t at = machineOf(e).find(from);
  ASSERT_NE(at, std::string_view::npos);
  std::memcpy(e.section(SectionId::kMachine) + at, to.data(), to.size());
  const Hash128 hash = hash128(std::as_bytes(std::span(machineOf(e))));
  e.editIdent([&](Ident& ident) { ident.machineHash = hash; });
}

/// What the writer says of a program with that machine file.
std::string refusalOf(Contents contents, std::string machine) {
  contents.machine = std::move(machine);
  return Writer::create("/dev/full/none", contents).status().toString();
}

TEST(HostileNpuTest, Machine) {
  using namespace std::string_view_literals;
  expectRefused(
      Target::kNpu,
      {
          {"note: machineHash is 00000000000000000000000000000007, expected ",
           [](Editor& e) { e.editIdent([](Ident& i) { i.machineHash = {7, 0}; }); }},
          {", that of section .firn.machine", [](Editor& e) { e.section(SectionId::kMachine)[2] = std::byte{'x'}; }},
          {"body embed.16: 6 segments, expected 8, one for each queue of machine sample",
           [](Editor& e) { editMachine(e, "\"tiles\":2", "\"tiles\":3"); }},
          {"machine section .firn.machine: field 'tiles': found 0, expected a whole number from 1 to 32",
           [](Editor& e) { editMachine(e, "\"tiles\":2", "\"tiles\":0"); }},
          {"machine section .firn.machine: line 1, column ", [](Editor& e) { editMachine(e, "{", "["); }},
          {"section .firn.machine: byte 0 is zero, expected JSON up to the end",
           [](Editor& e) { editMachine(e, "{", "\0"sv); }},
          {"barrier is 5, expected one of the 5 of the machine",
           [](Editor& e) { editMachine(e, "{\"count\":16,", "{\"count\":5 ,"); }},
          {"of CMX, a tile has 65536",
           [](Editor& e) { editMachine(e, "\"bytes_per_tile\":1048576", "\"bytes_per_tile\":  65536"); }},
      });
}

TEST(HostileNpuTest, AMachineIsThereForTheNpuAlone) {
  const std::string machine = machine::sampleMachineJson().dump();
  const auto expect = [](const std::string& text, std::string_view expected) {
    EXPECT_NE(text.find(expected), std::string::npos) << text;
  };
  expect(refusalOf(sampleContents(Target::kNpu), ""), "section .firn.machine is missing: entries are for the npu");
  expect(refusalOf(sampleContents(Target::kCpu), machine),
         "section .firn.machine is there, but no entry is for the npu");
  nlohmann::json noCmx = machine::sampleMachineJson();
  noCmx["cmx"]["bytes_per_tile"] = 0;
  expect(refusalOf(sampleContents(Target::kNpu), noCmx.dump()), "the machine has no CMX");
}

TEST(HostileNpuTest, AnEmptyMachineSection) {
  Editor e(Target::kNpu);
  e.sectionHeader(SectionId::kMachine).sh_size = 0;
  expectMessage(e.read(), "section .firn.machine is empty: expected none");
}

/// The waits of task `index` are its first `count` words behind the attrs.
BarrierUse useAt(Editor& e, size_t index, size_t use) {
  return std::bit_cast<BarrierUse>(e.attrOf(e.task(index), e.task(index).attrCount + use));
}
void setUse(Editor& e, size_t index, size_t use, BarrierUse value) {
  e.attrOf(e.task(index), e.task(index).attrCount + use) = std::bit_cast<uint64_t>(value);
}

size_t firstWaiting(Editor& e) {
  size_t index = 0;
  while (e.task(index).waitCount == 0) ++index;
  return index;
}

TEST(HostileNpuTest, Barriers) {
  expectRefused(Target::kNpu,
                {
                    {"wait: barrier is 16, expected one of the 16 of the machine",
                     [](Editor& e) { setUse(e, firstWaiting(e), 0, {16, 1}); }},
                    {"wait: barrier is 4294967295", [](Editor& e) { setUse(e, firstWaiting(e), 0, {~0U, 1}); }},
                    {"wait of barrier 3: count is 0, expected 1 or more",
                     [](Editor& e) { setUse(e, firstWaiting(e), 0, {3, 0}); }},
                    {"signal: barrier is 16", [](Editor& e) { setUse(e, 0, e.task(size_t{0}).waitCount, {16, 0}); }},
                    {"signal of barrier 3: count is 1, expected 0",
                     [](Editor& e) { setUse(e, 0, e.task(size_t{0}).waitCount, {3, 1}); }},
                    {"1 attributes, expected 2",
                     [](Editor& e) {
                       TaskRecord& task = e.task(TaskOp::kNpuMatmulGroups);
                       --task.attrCount, ++task.waitCount;
                     }},
                    {"task 1: takes attrs", [](Editor& e) { ++e.task(size_t{0}).signalCount; }},
                });
  Editor e(Target::kNpu);
  EXPECT_EQ(useAt(e, 0, 0).barrier, 0U) << "the first task of the first queue signals the barrier of that queue";
}

TEST(HostileNpuTest, Queues) {
  expectRefused(
      Target::kNpu,
      {
          {"body embed.16: 5 segments, expected 6, one for each queue of machine sample",
           [](Editor& e) { --e.body(0).segmentCount, --e.body(1).firstSegment, ++e.body(1).segmentCount; }},
          {"body embed.16, task 2 (npu.embed, token_embd): queue dpu 0 has no npu.embed",
           [](Editor& e) {
             // The tasks of SHAVE 0, queue 4, become those of DPU 0, queue 2.
             LaneRange& shave = e.range(4);
             ASSERT_NE(shave.taskCount, 0U);
             e.range(2) = shave;
             e.range(3).firstTask = e.range(5).firstTask;
             e.range(4) = {e.range(5).firstTask, 0};
           }},
          {"entries for npu and for reference call it", [](Editor& e) { e.entry(1).target = Target::kReference; }},
      });
}

TEST(HostileNpuTest, OtherLanesHaveNothingToDo) {
  const Contents contents = twoTargetContents(Target::kNpu, Target::kCpu);
  const auto file = blobFile(contents, sampleWeights(contents));
  ASSERT_TRUE(file.isOk()) << file.status().toString();
  expectRefused(Editor(*file),
                {
                    {"body embed.16.npu: queue dma 0 has 1 tasks in lane 1, expected all in lane 0",
                     [](Editor& e) {
                       --e.range(0).taskCount;
                       e.range(1) = {e.range(0).firstTask + e.range(0).taskCount, 1};
                     }},
                    {"op 200 is no task op",
                     [](Editor& e) { e.task(TaskOp::kCpuCopy).op = static_cast<uint16_t>(TaskOp::kNpuCopy); }},
                });
}

/// A task of the npu writes to one cache, that of the entry.
TEST(HostileNpuTest, ABatchDoesNotUseTheCache) {
  Contents contents = sampleContents(Target::kNpu);
  Program& program = contents.program;
  const CallRecord call = program.calls[1];  // block.16
  const std::vector<uint64_t> args(program.callArgs.begin() + call.firstArg,
                                   program.callArgs.begin() + call.firstArg + call.argCount);
  program.beginEntry(EntryKind::kBatch, 2, 64);
  program.entries.back().scratchBytes = program.entries[0].scratchBytes;
  program.addStandardSymbols();
  program.addCall(call.body, 0, args);
  const std::string text = Writer::create("/dev/full/none", contents).status().toString();
  EXPECT_NE(text.find("a task of the npu does not reach those of the rows of a batch"), std::string::npos) << text;
}

}  // namespace
}  // namespace firn::blob
