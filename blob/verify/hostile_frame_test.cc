// Lies about the file: identification, program header, sections, texts, and counts that would take much memory.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <utility>

#include "blob/verify/blob_editor_for_test.h"

namespace firn::blob {
namespace {

TEST(HostileTest, Header) {
  expectRefused(
      Target::kCpu,
      {
          {"target is 9", [](Editor& e) { e.editIdent([](Ident& i) { i.target = static_cast<Target>(9); }); }},
          {"lanes is 0", [](Editor& e) { e.editIdent([](Ident& i) { i.lanes = 0; }); }},
          {"lanes is 4294967295", [](Editor& e) { e.editIdent([](Ident& i) { i.lanes = ~0U; }); }},
          {"lanes is 257, expected 1..256", [](Editor& e) { e.editIdent([](Ident& i) { i.lanes = kMaxLanes + 1; }); }},
          {"segment 0: takes laneRanges", [](Editor& e) { e.editIdent([](Ident& i) { i.lanes = 200; }); }},
          {"no entry is for reference, the target of the note",
           [](Editor& e) { e.editIdent([](Ident& i) { i.target = Target::kReference; }); }},
          {"machineHash is 00000000000000000000000000000007, expected 00000000000000000000000000000000: there is no "
           "section",
           [](Editor& e) { e.editIdent([](Ident& i) { i.machineHash = {7, 0}; }); }},
          {"layers is 0", [](Editor& e) { e.header().layers = 0; }},
          {"headDim is 4294967295", [](Editor& e) { e.header().headDim = ~0U; }},
          {"heads is 8, expected a multiple of kvHeads, 3", [](Editor& e) { e.header().kvHeads = 3; }},
          {"maxPromptTokens is 63", [](Editor& e) { e.header().maxPromptTokens = 63; }},
          {"kvRows is 64, expected 128", [](Editor& e) { e.header().kvRows = 64; }},
          {"kvBytes is", [](Editor& e) { e.header().kvBytes += 64; }},
          {"kvBytes is", [](Editor& e) { e.header().layers = 1 << 24, e.header().kvBytes = 0; }},
          {"kvType is 2 (bf16), expected f16, i8, f32", [](Editor& e) { e.header().kvType = DType::kBf16; }},
          {"kvType is 200 (no type), expected f16, i8, f32",
           [](Editor& e) { e.header().kvType = static_cast<DType>(200); }},
          {"reserved0 is 5", [](Editor& e) { e.header().reserved0[1] = 0, e.header().reserved0[0] = 5; }},
          {"weightsBytes is 0", [](Editor& e) { e.header().weightsBytes = 0; }},
          {"scratchBytes is 0", [](Editor& e) { e.header().scratchBytes = 0; }},
      });
}

TEST(HostileTest, Texts) {
  expectRefused(
      Target::kCpu,
      {
          {".firn.card: ", [](Editor& e) { *e.section(SectionId::kCard) = std::byte{'['}; }},
          {".firn.card: ", [](Editor& e) { e.section(SectionId::kCard)[2] = std::byte{0xFF}; }},
          // A JSON parser may take a zero byte for the end; whoever prints the card prints what is behind it.
          {".firn.card: byte 7 is zero",
           [](Editor& e) { std::memcpy(e.section(SectionId::kCard), "{\"a\":1}\0\x1b[2J", 12); }},
          {".firn.card: byte 38 is zero", [](Editor& e) { e.section(SectionId::kCard)[38] = std::byte{0}; }},
          {".firn.template: not UTF-8", [](Editor& e) { *e.section(SectionId::kTemplate) = std::byte{0xC0}; }},
          {".symtab: not the symbols", [](Editor& e) { e.section(SectionId::kSymtab)[40] ^= std::byte{1}; }},
          {".strtab: not the symbol names", [](Editor& e) { e.section(SectionId::kStrtab)[3] ^= std::byte{1}; }},
          {"the padding before .firn.program is not zero",
           [](Editor& e) { *(e.section(SectionId::kProgram) - 1) = std::byte{1}; }},
          {"the padding before .firn.weights is not zero",
           [](Editor& e) { *(e.section(SectionId::kWeights) - 1) = std::byte{1}; }},
      });
}

TEST(HostileTest, Sections) {
  // Fields of the section headers: sh_type, sh_flags, sh_addr, sh_offset, sh_size, sh_link, sh_info, sh_addralign,
  // sh_entsize.
  constexpr std::pair<uint64_t, std::string_view> kFields[] = {
      {4, "sh_type"},  {8, "sh_flags"}, {16, "sh_addr"},      {24, ""},          {32, ""},
      {40, "sh_link"}, {44, "sh_info"}, {48, "sh_addralign"}, {56, "sh_entsize"}};
  const auto bytes = sampleBlob(Target::kCpu);
  ASSERT_TRUE(bytes.isOk());
  const uint32_t sections = static_cast<uint32_t>((*bytes)[60]);
  for (uint32_t section = 0; section < sections; ++section) {
    for (const auto& [offset, name] : kFields) {
      for (uint64_t value : {1ULL, 0x7FFFFFFFULL, 0xFFFFFFFFULL}) {
        std::vector<std::byte> bad = *bytes;
        std::byte* at = bad.data() + kElfHeaderBytes + section * kSectionHeaderBytes + offset;
        if (std::memcmp(at, &value, 4) == 0) continue;
        std::memcpy(at, &value, 4);
        const Status status = sealContent(bad);  // as a reader looks at the frame, hash or not
        ASSERT_FALSE(status.isOk()) << section << " " << name;
        EXPECT_NE(status.message().find(name), std::string::npos) << status.toString();
      }
    }
  }
}

TEST(HostileTest, Frame) {
  expectRefused(
      Target::kCpu,
      {
          {"ELF header: 65535 section headers do not fit in", [](Editor& e) { e.elfHeader().e_shnum = 65535; }},
          {"ELF header: 1 section headers do not fit in", [](Editor& e) { e.elfHeader().e_shnum = 1; }},
          {"e_shstrndx 200 is no section inside the file", [](Editor& e) { e.elfHeader().e_shstrndx = 200; }},
          {"section header 1: is named '', expected section .note.firn",
           [](Editor& e) { e.elfHeader().e_shstrndx = 1; }},
          {"section header 2: is named '.firn.progrom', expected section .firn.program",
           [](Editor& e) {
             std::byte* names = e.section(SectionId::kShstrtab);
             std::memcpy(names + e.sectionHeader(SectionId::kProgram).sh_name, ".firn.progrom", 13);
           }},
          {"section header 1: is named '', expected section .note.firn",
           [](Editor& e) { e.sectionHeader(SectionId::kNote).sh_name = ~0U; }},
          {"section .firn.template is empty: expected none",
           [](Editor& e) { e.sectionHeader(SectionId::kTemplate).sh_size = 0; }},
      });
}

/// Refused before the hash can be looked for.
TEST(HostileTest, Note) {
  Editor unnamed(Target::kCpu);
  unnamed.section(SectionId::kNote)[12] = std::byte{'g'};
  expectMessage(unnamed.readAsIs(), "the note's name is not \"firn\"");
  Editor hidden(Target::kCpu);
  hidden.sectionHeader(SectionId::kNote).sh_type = SHT_PROGBITS;
  expectMessage(hidden.readAsIs(), "no identification note (section .note.firn)");
  Editor tooLarge(Target::kCpu);
  tooLarge.section(SectionId::kNote)[4] = std::byte{105};
  expectMessage(tooLarge.read(), "the header of the note is not that of a firn blob");
}

TEST(HostileTest, ACardHasALimit) {
  Contents contents = sampleContents(Target::kReference, SampleSize::kHeadOnly);
  contents.card = "{\"a\":\"" + std::string(16U << 20, 'a') + "\"}";
  const std::string path = testing::TempDir() + "firn_large_card.firn";
  Result<Writer> writer = Writer::create(path, contents);
  ASSERT_TRUE(writer.isOk()) << writer.status().toString();
  ASSERT_TRUE(writer->appendWeights(sampleWeights(contents)).isOk());
  const Status finished = writer->finish();
  expectMessage(finished.isOk() ? Blob::open(path).status() : finished, "bytes, expected at most 16777216");
  std::remove(path.c_str());
}

/// A blob of `bodies` bodies, each called once by its one entry, all but the first without tasks; the last is `name`.
Status readBodies(size_t bodies, std::string_view name = "") {
  Contents contents = sampleContents(Target::kReference, SampleSize::kHeadOnly);
  Program& program = contents.program;
  program.bodies.resize(bodies, {.name = 0,
                                 .firstParam = static_cast<uint32_t>(program.params.size()),
                                 .paramCount = 0,
                                 .firstSegment = static_cast<uint32_t>(program.segments.size()),
                                 .segmentCount = 0,
                                 .reserved0 = 0});
  for (size_t i = 1; i < bodies; ++i) {
    program.calls.push_back({.body = static_cast<uint32_t>(i),
                             .layer = kNoLayer,
                             .firstArg = static_cast<uint32_t>(program.callArgs.size()),
                             .argCount = 0});
  }
  program.entries[0].callCount = static_cast<uint32_t>(program.calls.size());
  if (!name.empty()) program.bodies.back().name = program.intern(name);
  return Writer::create("/dev/full/none", contents).status();
}

// What verification keeps of a body is several times the body, so a file of empty ones must be refused before.
TEST(HostileTest, BodiesAreBounded) {
  EXPECT_EQ(readBodies(kMaxRecords).code(), Code::kNotFound) << "only the folder is at fault";
  const Status status = readBodies(kMaxRecords + 1);
  EXPECT_NE(status.message().find("table bodies has 65537 records"), std::string::npos) << status.toString();
}

// Every task may name the same string, and whoever lists the tasks copies it.
TEST(HostileTest, StringsAreBounded) {
  EXPECT_EQ(readBodies(1, std::string(kMaxStringBytes, 'n')).code(), Code::kNotFound) << "only the folder is at fault";
  const Status status = readBodies(1, std::string(kMaxStringBytes + 1, 'n'));
  EXPECT_NE(status.message().find("has 257 bytes, expected at most 256"), std::string::npos) << status.toString();
}

TEST(HostileTest, AnotherVersionIsNamedBesideOurs) {
  for (uint32_t minor : {0U, kFormatMinor + 1}) {
    Editor editor(Target::kCpu);
    editor.editIdent([&](Ident& ident) { ident.formatMinor = minor; });
    const Status status = editor.read();
    EXPECT_EQ(status.code(), Code::kVersionMismatch);
    EXPECT_NE(status.message().find("version 0." + std::to_string(minor)), std::string::npos) << status.toString();
    EXPECT_NE(status.message().find("reads 0." + std::to_string(kFormatMinor)), std::string::npos) << status.toString();
  }
}

}  // namespace
}  // namespace firn::blob
