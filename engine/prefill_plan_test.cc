#include "engine/prefill_plan.h"

#include <algorithm>
#include <functional>
#include <string>

#include <gtest/gtest.h>

#include "runtime/cts/tiny_model.h"

namespace firn::engine {
namespace {

namespace cts = runtime::cts;

VariantTable tinyTable(const Ladders& ladders = {}) {
  const auto blob = cts::makeTinyBlob({});
  EXPECT_TRUE(blob.isOk()) << blob.status().toString();
  auto table = VariantTable::create(*blob, ladders);
  EXPECT_TRUE(table.isOk()) << table.status().toString();
  return *std::move(table);
}

/// The smallest context of the tiny model that holds `rows` rows.
uint32_t contextOf(uint32_t rows) { return *std::ranges::lower_bound(cts::kContexts, rows); }

/// The least cost of covering rows [row, row + tokens), by trying everything.
uint64_t leastCost(const VariantTable& table, uint32_t row, uint32_t tokens, uint32_t kvRows,
                   std::vector<uint64_t>& known) {
  if (tokens == 0) return 0;
  if (known[tokens] != 0) return known[tokens];
  uint64_t best = table.generateFor(row + 1)->cost + leastCost(table, row + 1, tokens - 1, kvRows, known);
  for (const uint32_t chunk : table.chunks()) {
    if (row + chunk > kvRows) continue;
    const Variant* variant = table.prefillFor(chunk, contextOf(row + chunk));
    const uint32_t valid = std::min(chunk, tokens);
    best = std::min(best, variant->cost + leastCost(table, row + valid, tokens - valid, kvRows, known));
  }
  return known[tokens] = best;
}

TEST(VariantTableTest, NamesWhatTheBlobLacks) {
  const auto blob = cts::makeTinyBlob({});
  ASSERT_TRUE(blob.isOk());
  const auto chunk = VariantTable::create(*blob, {.prefillChunks = {32}, .contexts = {}});
  ASSERT_FALSE(chunk.isOk());
  EXPECT_EQ(chunk.status().code(), Code::kInvalidArgument);
  EXPECT_NE(chunk.status().message().find("no prefill chunk size of 32; it has 16, 64"), std::string::npos)
      << chunk.status().message();
  const auto context = VariantTable::create(*blob, {.prefillChunks = {}, .contexts = {100}});
  ASSERT_FALSE(context.isOk());
  EXPECT_NE(context.status().message().find("no context size of 100; it has 64, 128"), std::string::npos)
      << context.status().message();
}

/// Leaves out an entry, its calls and its symbols.
void dropEntry(blob::Program& program, blob::EntryKind kind, uint32_t rows, uint32_t context) {
  const auto at = std::ranges::find_if(program.entries, [&](const blob::EntryRecord& entry) {
    return entry.kind == kind && entry.rows == rows && entry.context == context;
  });
  ASSERT_NE(at, program.entries.end());
  const blob::EntryRecord dropped = *at;
  const auto calls = program.calls.begin() + dropped.firstCall;
  const uint32_t firstArg = calls->firstArg;
  uint32_t args = 0;
  for (uint32_t i = 0; i < dropped.callCount; ++i) args += calls[i].argCount;
  program.callArgs.erase(program.callArgs.begin() + firstArg, program.callArgs.begin() + firstArg + args);
  for (auto later = program.calls.erase(calls, calls + dropped.callCount); later != program.calls.end(); ++later) {
    later->firstArg -= args;
  }
  const auto symbols = program.symbols.begin() + dropped.firstSymbol;
  program.symbols.erase(symbols, symbols + dropped.symbolCount);
  for (auto later = program.entries.erase(at); later != program.entries.end(); ++later) {
    later->firstCall -= dropped.callCount;
    later->firstSymbol -= dropped.symbolCount;
  }
}

// A step of a batch may meet a session at any row.
TEST(VariantTableTest, EveryBatchSizeReachesTheWholeCache) {
  for (const uint32_t rows : cts::kBatchRows) {
    for (const uint32_t context : cts::kContexts) {
      const auto blob = cts::makeTinyBlob(
          {.edit = [&](blob::Program& program) { dropEntry(program, blob::EntryKind::kBatch, rows, context); }});
      ASSERT_TRUE(blob.isOk()) << blob.status().toString();
      const Status status = VariantTable::create(*blob, {}).status();
      if (context != cts::kKvRows) {
        EXPECT_TRUE(status.isOk()) << status.toString();
        continue;
      }
      EXPECT_EQ(status.code(), Code::kCorrupt);
      const std::string name = "batch." + std::to_string(rows) + "." + std::to_string(context);
      EXPECT_NE(status.message().find(name), std::string::npos) << status.toString();
    }
  }
}

TEST(VariantTableTest, ChoosesTheSmallestThatFits) {
  const VariantTable table = tinyTable();
  EXPECT_EQ(table.generateFor(1)->context, 64U);
  EXPECT_EQ(table.generateFor(64)->context, 64U);
  EXPECT_EQ(table.generateFor(65)->context, 128U);
  EXPECT_EQ(table.generateFor(128)->context, 128U);
  EXPECT_EQ(table.generateFor(129), nullptr);
  EXPECT_EQ(table.prefillFor(16, 64)->context, 64U);
  EXPECT_EQ(table.prefillFor(16, 65)->context, 128U);
  EXPECT_EQ(table.prefillFor(17, 20), nullptr);
  EXPECT_EQ(table.headFor(1).rows, 1U);
  EXPECT_EQ(table.headFor(2).rows, 16U);
  EXPECT_EQ(table.headFor(99).rows, 16U);
}

TEST(VariantTableTest, CountsTheWeightsThatAStepReads) {
  const auto blob = cts::makeTinyBlob({.target = blob::Target::kCpu});
  ASSERT_TRUE(blob.isOk());
  const auto table = VariantTable::create(*blob, {});
  ASSERT_TRUE(table.isOk());
  const cts::TinyWeights weights = cts::makeTinyWeights(DType::kF32);
  uint64_t layers = 0;
  for (const cts::TinyLayer& layer : weights.layers) {
    for (const cts::TinyTensor* tensor : {&layer.attnNorm, &layer.q, &layer.k, &layer.v, &layer.o, &layer.ffnNorm,
                                          &layer.gate, &layer.up, &layer.down}) {
      layers += tensor->bytes.size();
    }
  }
  const uint64_t head = weights.outputNorm.bytes.size() + weights.embedding.bytes.size();
  // The embedding is the head's matrix; of the rope table, as large as T rows, a step reads a row.
  EXPECT_EQ(table->prefillFor(16, 16)->weightBytes, layers);
  for (const Variant& generate : table->generates()) EXPECT_EQ(generate.weightBytes, layers + head);
  EXPECT_EQ(table->headFor(1).weightBytes, head);
}

TEST(VariantTableTest, KeepsTheWholeCacheWhateverTheLadder) {
  const VariantTable table = tinyTable({.prefillChunks = {16}, .contexts = {64}});
  EXPECT_EQ(table.chunks(), std::vector<uint32_t>{16});
  EXPECT_EQ(table.generates().back().context, cts::kKvRows);
}

TEST(PrefillPlanTest, CoversEveryLengthFromEveryRowAtTheLeastCost) {
  const VariantTable table = tinyTable();
  for (uint32_t row0 = 0; row0 < cts::kKvRows; ++row0) {
    for (uint32_t tokens = 1; row0 + tokens <= cts::kKvRows; ++tokens) {
      const auto plan = planPrefill(table, row0, tokens, cts::kKvRows);
      ASSERT_TRUE(plan.isOk()) << plan.status().toString();
      uint32_t row = row0;
      uint64_t cost = 0;
      for (const PlanStep& step : plan->steps) {
        ASSERT_EQ(step.row0, row);
        ASSERT_GE(step.valid, 1U);
        ASSERT_LE(step.valid, step.variant->rows);
        ASSERT_LE(step.row0 + step.variant->rows, cts::kKvRows) << "a write would leave the cache";
        ASSERT_EQ(step.variant->context, contextOf(step.row0 + step.variant->rows));
        row += step.valid;
        cost += step.variant->cost;
      }
      ASSERT_EQ(row, row0 + tokens);
      ASSERT_EQ(plan->picoseconds, cost);
      std::vector<uint64_t> known(tokens + 1);
      ASSERT_EQ(cost, leastCost(table, row0, tokens, cts::kKvRows, known)) << row0 << " + " << tokens;
    }
  }
}

/// A blob whose times depend on kind and context only.
VariantTable tableOfTimes(const std::function<uint64_t(const blob::EntryRecord&)>& picoseconds,
                          const Ladders& ladders) {
  const auto blob = cts::makeTinyBlob({.edit = [&](blob::Program& program) {
    for (blob::EntryRecord& entry : program.entries) entry.predictedPicoseconds = picoseconds(entry);
  }});
  EXPECT_TRUE(blob.isOk()) << blob.status().toString();
  auto table = VariantTable::create(*blob, ladders);
  EXPECT_TRUE(table.isOk()) << table.status().toString();
  return *std::move(table);
}

// Where a chunk begins decides its context, not how many of its rows are valid.
TEST(PrefillPlanTest, AChunkLiesInsideItsContext) {
  for (const uint32_t chunk : cts::kChunks) {
    const auto cheapChunks = [](const blob::EntryRecord& entry) {
      return entry.kind == blob::EntryKind::kPrefill ? 1 + entry.context : 1000;
    };
    const VariantTable table = tableOfTimes(cheapChunks, {.prefillChunks = {chunk}, .contexts = {}});
    const auto planOf = [&](uint32_t row0, uint32_t tokens) {
      const auto plan = planPrefill(table, row0, tokens, cts::kKvRows);
      EXPECT_TRUE(plan.isOk()) << plan.status().toString();
      return *plan;
    };
    for (const uint32_t tokens : {1U, chunk - 1, chunk}) {
      for (const uint32_t context : cts::kContexts) {
        const PrefillPlan last = planOf(context - chunk, tokens);
        ASSERT_EQ(last.steps.size(), 1U) << context << ": " << tokens;
        EXPECT_EQ(last.steps[0].variant->context, context);
        EXPECT_EQ(last.picoseconds, 1 + context);
      }
      const PrefillPlan behind = planOf(cts::kContexts[0] - chunk + 1, tokens);
      ASSERT_EQ(behind.steps.size(), 1U) << tokens;
      EXPECT_EQ(behind.steps[0].variant->context, cts::kKvRows);
      EXPECT_EQ(behind.picoseconds, 1 + cts::kKvRows) << "the time of the context that runs";
    }
    const PrefillPlan atEnd = planOf(cts::kKvRows - chunk + 1, chunk - 1);
    EXPECT_TRUE(std::ranges::all_of(atEnd.steps, &PlanStep::isGenerate)) << "no chunk leaves the cache";
  }
}

// 2 tokens at row 49 of 64 would fit the valid rows of prefill.16.64; the chunk they are in takes prefill.16.128.
TEST(PrefillPlanTest, AChunkThatNeedsADearContextIsWeighedAgainstSteps) {
  const auto dearContext = [](const blob::EntryRecord& entry) -> uint64_t {
    if (entry.kind != blob::EntryKind::kPrefill) return 60;
    return entry.context == cts::kKvRows ? 1000 : 100;
  };
  const VariantTable table = tableOfTimes(dearContext, {.prefillChunks = {16}, .contexts = {}});
  const auto inside = planPrefill(table, 48, 2, cts::kKvRows);
  ASSERT_TRUE(inside.isOk());
  ASSERT_EQ(inside->steps.size(), 1U);
  EXPECT_EQ(inside->picoseconds, 100U);
  const auto behind = planPrefill(table, 49, 2, cts::kKvRows);
  ASSERT_TRUE(behind.isOk());
  EXPECT_EQ(behind->steps.size(), 2U);
  EXPECT_EQ(behind->picoseconds, 120U);
}

// A blob may predict any time: sums of them must not wrap, and every length must still be covered.
TEST(PrefillPlanTest, CoversEveryLengthWhateverTheBlobPredicts) {
  for (const uint64_t picoseconds : {UINT64_MAX, UINT64_MAX - 1, UINT64_MAX / 2 + 1}) {
    const auto blob = cts::makeTinyBlob({.picoseconds = picoseconds});
    ASSERT_TRUE(blob.isOk()) << blob.status().toString();
    const auto table = VariantTable::create(*blob, {});
    ASSERT_TRUE(table.isOk()) << table.status().toString();
    for (const uint32_t tokens : {1U, 2U, 17U, cts::kKvRows}) {
      const auto plan = planPrefill(*table, 0, tokens, cts::kKvRows);
      ASSERT_TRUE(plan.isOk()) << plan.status().toString();
      uint32_t row = 0;
      for (const PlanStep& step : plan->steps) {
        ASSERT_EQ(step.row0, row);
        row += step.valid;
      }
      EXPECT_EQ(row, tokens) << picoseconds;
      EXPECT_GE(plan->picoseconds, picoseconds - 1) << "a longer plan is no cheaper";
    }
  }
}

// Whatever the bound, a prompt goes on by chunks; the head counts where the prompt ends.
TEST(PrefillPlanTest, ABoundLeavesTheSmallestChunks) {
  const VariantTable table = tinyTable();
  const uint32_t smallest = table.chunks().front(), largest = table.chunks().back();
  for (const uint64_t bound : {uint64_t{0}, uint64_t{1}, table.prefillFor(smallest, smallest)->cost}) {
    for (uint32_t tokens = 1; tokens <= cts::kKvRows; ++tokens) {
      const auto plan = planPrefill(table, 0, tokens, cts::kKvRows, bound);
      ASSERT_TRUE(plan.isOk());
      EXPECT_LE(plan->steps.size(), tokens / smallest + smallest) << tokens;
      for (const PlanStep& step : plan->steps) ASSERT_LE(step.variant->rows, smallest);
    }
  }
  const uint64_t chunk = table.prefillFor(largest, largest)->cost;
  const uint64_t head = table.heads().front().cost;
  const auto firstRows = [&](uint32_t tokens, uint64_t bound) {
    const auto plan = planPrefill(table, 0, tokens, cts::kKvRows, bound);
    EXPECT_TRUE(plan.isOk());
    return plan->steps.front().variant->rows;
  };
  ASSERT_GT(head, 1U);
  EXPECT_EQ(firstRows(largest, chunk + head), largest);
  EXPECT_NE(firstRows(largest, chunk + head - 1), largest) << "with its head it takes too long";
  EXPECT_EQ(firstRows(largest + 16, chunk), largest) << "no head behind it";
  EXPECT_NE(firstRows(largest + 16, chunk - 1), largest);
}

TEST(PrefillPlanTest, RefusesRowsThatDoNotExist) {
  const VariantTable table = tinyTable();
  EXPECT_EQ(planPrefill(table, 0, 0, cts::kKvRows).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(planPrefill(table, 0, cts::kKvRows + 1, cts::kKvRows).status().code(), Code::kOutOfRange);
  EXPECT_EQ(planPrefill(table, cts::kKvRows + 1, 1, cts::kKvRows).status().code(), Code::kOutOfRange);
  EXPECT_EQ(planPrefill(table, 1, UINT32_MAX, cts::kKvRows).status().code(), Code::kOutOfRange);
}

}  // namespace
}  // namespace firn::engine
