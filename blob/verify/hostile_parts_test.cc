// Lies about entries that are cut into parts for two targets.
#include <gtest/gtest.h>

#include <utility>

#include "blob/sample_file.h"
#include "blob/two_target_program.h"
#include "blob/verify/blob_editor_for_test.h"

namespace firn::blob {
namespace {

Editor twoTargets(Target first, Target second) {
  const Contents contents = twoTargetContents(first, second);
  const auto file = blobFile(contents, sampleWeights(contents));
  EXPECT_TRUE(file.isOk()) << file.status().toString();
  return Editor(*file);
}

/// Index of entry prefill.16.64.p0, and of others. Each part calls three bodies.
constexpr size_t kPrefill = 0;
constexpr size_t kGenerate = 4;
constexpr size_t kHead = 6;

TEST(HostilePartsTest, AnyTargetMayComeFirst) {
  constexpr Target kTargets[] = {Target::kCpu, Target::kNpu, Target::kReference};
  for (const Target first : kTargets) {
    for (const Target second : kTargets) {
      if (first != second) EXPECT_TRUE(twoTargets(first, second).read().isOk());
    }
  }
}

TEST(HostilePartsTest, TargetsAndPlaces) {
  expectRefused(
      twoTargets(Target::kCpu, Target::kReference),
      {
          {"body 0: entries for reference and for cpu call it",
           [](Editor& e) { e.entry(kPrefill).target = Target::kReference; }},
          {"body 3: entries for cpu and for reference call it",
           [](Editor& e) { e.entry(kPrefill + 1).target = Target::kCpu; }},
          {"the op does not belong to target reference",
           [](Editor& e) { e.entry(kPrefill).target = e.entry(kPrefill + 2).target = Target::kReference; }},
          {"entries for reference and for cpu call it", [](Editor& e) { std::swap(e.call(1).body, e.call(4).body); }},
          {"part 1 of 2, expected part 0", [](Editor& e) { e.entry(kPrefill).parts = 1; }},
          {"part 0 of 2, expected part 1 of the entry before", [](Editor& e) { e.entry(kPrefill + 1).part = 0; }},
          {"expected part 1 of the entry before", [](Editor& e) { e.entry(kPrefill + 1).rows = 8; }},
          {"expected part 2 of the entry before",
           [](Editor& e) { e.entry(kPrefill).parts = e.entry(kPrefill + 1).parts = 3; }},
          {"parts is 2, expected 1..1", [](Editor& e) { e.entry(kHead).parts = 2; }},
      });
}

TEST(HostilePartsTest, WhatCrossesACut) {
  expectRefused(
      twoTargets(Target::kReference, Target::kCpu),
      {
          {"the body uses symbol logits, which the entry does not have",
           [](Editor& e) { e.firstOperand(3, 0).base = static_cast<uint16_t>(SymbolKind::kLogits); }},
          {"symbol 4", [](Editor& e) { e.symbol(e.entry(kGenerate + 1).firstSymbol + 4).isOutput = 1; }},
          {"symbol 5", [](Editor& e) { e.symbol(e.entry(kGenerate).firstSymbol + 5).isOutput = 0; }},
          {"symbol 0", [](Editor& e) { e.symbol(e.entry(kPrefill + 1).firstSymbol).kind = SymbolKind::kIds; }},
      });
}

}  // namespace
}  // namespace firn::blob
