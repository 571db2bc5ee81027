// What a compile puts into a blob: entries, bodies, weights, card.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "blob/reader.h"
#include "blob/task_op.h"
#include "compiler/compile_for_test.h"
#include "compiler/import/import.h"
#include "kernels/quant/panel.h"

namespace firn::compiler {
namespace {

using testing::ElementsAre;

using CompiledBlobTest = CompileTest;

std::vector<std::string> entryNames(const blob::Blob& blob) {
  std::vector<std::string> names;
  for (const auto& entry : blob.entries()) names.emplace_back(blob.string(entry.name));
  return names;
}

TEST_F(CompiledBlobTest, ABlobHoldsEveryEntryOfTheLadders) {
  for (const char* target : {"cpu", "reference"}) {
    CompileReport report;
    Status status = compile(small(kQ41, target), &report);
    ASSERT_TRUE(status) << status.toString();
    auto blob = blob::Blob::open(path("out.firn"));
    ASSERT_TRUE(blob) << blob.status().toString();
    EXPECT_THAT(entryNames(*blob),
                ElementsAre("prefill.16.128", "prefill.64.128", "generate.128", "head.1", "head.16", "head.64"));
    EXPECT_EQ(blob->header().kvRows, 128);
    EXPECT_EQ(blob->ident().lanes, target == std::string("cpu") ? 2 : 1);
    EXPECT_EQ(blob->header().kvType, target == std::string("cpu") ? DType::kF16 : DType::kF32);
    EXPECT_EQ(report.written->blobBytes, blob->fileBytes());
    EXPECT_LE(blob->header().weightsBytes, std::filesystem::file_size(kQ41) * 6 / 5);
    Status weights = blob->verifyWeights();
    EXPECT_TRUE(weights) << weights.toString();
    auto card = nlohmann::json::parse(blob->card());
    EXPECT_EQ(card["architecture"], "llama");
    EXPECT_EQ(card["source"], "q4_1.gguf");
    ASSERT_EQ(card["rope"].size(), 1U);
    EXPECT_EQ(card["rope"][0]["layers"], blob->header().layers);
    EXPECT_EQ(card["rope"][0]["frequencies"].size() * 2, card["rope"][0]["dims"]);
    EXPECT_GT(card["weights"]["q4_1"]["tensors"], 10);
  }
}

TEST_F(CompiledBlobTest, ABlobHoldsTheBatchesThatWereAskedFor) {
  CompileOptions options = small(kQ41, "cpu");
  CompileReport without;
  ASSERT_TRUE(compile(options, &without));
  options.batches = {4, 2};
  options.contexts = {64};
  CompileReport report;
  Status status = compile(options, &report);
  ASSERT_TRUE(status) << status.toString();
  EXPECT_THAT(report.batches, ElementsAre(2, 4));
  EXPECT_EQ(report.written->weightsBytes, without.written->weightsBytes) << "batches share the weights of all";
  auto blob = blob::Blob::open(path("out.firn"));
  ASSERT_TRUE(blob) << blob.status().toString();
  const auto names = entryNames(*blob);
  EXPECT_THAT(names, testing::IsSupersetOf({"batch.2.64", "batch.2.128", "batch.4.64", "batch.4.128"}));
  const auto cost = [&](const char* name) { return blob->entries()[*blob->findEntry(name)].predictedPicoseconds; };
  EXPECT_GT(cost("batch.4.128"), cost("generate.128"));
  EXPECT_LT(cost("batch.4.128"), 4 * cost("generate.128")) << "the weights are read once for all rows";
}

TEST_F(CompiledBlobTest, TheCardNamesTheRopeOfEachRunOfLayers) {
  ASSERT_TRUE(compile(small(kGemma3, "cpu"), nullptr));
  auto blob = blob::Blob::open(path("out.firn"));
  ASSERT_TRUE(blob) << blob.status().toString();
  const auto rope = nlohmann::json::parse(blob->card())["rope"];
  ASSERT_EQ(rope.size(), 3U);  // five layers with the window, one that sees all, one with the window
  const int64_t runs[][2] = {{0, 5}, {5, 1}, {6, 1}};
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(rope[i]["first_layer"], runs[i][0]);
    EXPECT_EQ(rope[i]["layers"], runs[i][1]);
    EXPECT_EQ(rope[i]["pairing"], "half_split");
  }
  EXPECT_EQ(rope[0]["frequencies"], rope[2]["frequencies"]);
  EXPECT_NE(rope[0]["frequencies"], rope[1]["frequencies"]);
}

TEST_F(CompiledBlobTest, BodiesDoNotGrowWithLayersOrContexts) {
  CompileOptions options = small(kQ41, "cpu");
  CompileReport few;
  ASSERT_TRUE(compile(options, &few));
  options.contexts = {64, 128};
  CompileReport more;
  ASSERT_TRUE(compile(options, &more));
  EXPECT_GT(more.written->entries, few.written->entries);
  EXPECT_EQ(more.written->bodies, few.written->bodies);
  EXPECT_EQ(more.written->tasks, few.written->tasks);
  EXPECT_EQ(more.written->weightsBytes, few.written->weightsBytes);
}

TEST_F(CompiledBlobTest, TheSameSourceGivesTheSameBytes) {
  CompileOptions options = small(kLlama, "cpu");
  ASSERT_TRUE(compile(options, nullptr));
  std::string first = bytesOf(options.outputPath);
  ASSERT_TRUE(compile(options, nullptr));
  EXPECT_TRUE(first == bytesOf(options.outputPath));
  EXPECT_THAT(filesLeft(), ElementsAre("out.firn"));
}

/// Every row of the embedding, as the blob's embed task names it, is the source's row.
TEST_F(CompiledBlobTest, PanelsHoldTheSourceWeights) {
  CompileOptions options = small(kQ41, "cpu");
  ASSERT_TRUE(compile(options, nullptr));
  auto blob = blob::Blob::open(options.outputPath);
  ASSERT_TRUE(blob);
  auto spec = import::importModel(kQ41);
  ASSERT_TRUE(spec) << spec.status().toString();
  const blob::OperandRecord* table = nullptr;
  for (const blob::TaskRecord& task : blob->tasks()) {
    if (task.op == static_cast<uint16_t>(blob::TaskOp::kCpuEmbed)) table = &blob->operandsOf(task)[1];
  }
  ASSERT_NE(table, nullptr);
  auto packed = blob->weights().subspan(table->offset, table->bytes);
  uint64_t rowBytes = *dtypeBytes(spec->embedding.type, spec->embed);
  std::vector<float> found(spec->embed);
  std::vector<float> expected(spec->embed);
  for (uint32_t row = 0; row < spec->vocab; ++row) {
    quant::unpackPanelRow(table->dtype, packed, row, spec->embed, found);
    quant::dequantizeRow(spec->embedding.type, spec->embedding.bytes.subspan(row * rowBytes, rowBytes), expected);
    ASSERT_EQ(found, expected) << "row " << row;
  }
}

/// The weights that the lanes of a layer read are all of its weights, each once.
TEST_F(CompiledBlobTest, LanesShareTheWeightsOfALayer) {
  for (uint32_t lanes : {1U, 2U, 3U, 7U}) {
    CompileOptions options = small(kQ41, "cpu");
    options.lanes = lanes;
    ASSERT_TRUE(compile(options, nullptr));
    auto blob = blob::Blob::open(options.outputPath);
    ASSERT_TRUE(blob);
    const auto& entry = blob->entries()[*blob->findEntry("generate.128")];
    const auto& body = blob->bodies()[blob->callsOf(entry)[0].body];
    uint64_t elements = 0;
    for (const auto& segment : blob->segmentsOf(body)) {
      for (const auto& lane : blob->lanesOf(segment)) {
        for (const auto& task : blob->tasksOf(lane)) {
          if (task.op != static_cast<uint16_t>(blob::TaskOp::kCpuLinearI8)) continue;
          const auto& weight = blob->operandsOf(task)[3];
          elements += static_cast<uint64_t>(weight.dims[0]) * weight.dims[1];
        }
      }
    }
    auto spec = import::importModel(kQ41);
    ASSERT_TRUE(spec);
    uint64_t expected = 0;
    for (const auto* linear : {&spec->layers[0].q, &spec->layers[0].k, &spec->layers[0].v, &spec->layers[0].o,
                               &spec->layers[0].gate, &spec->layers[0].up, &spec->layers[0].down}) {
      expected += linear->weight.dims[0] * linear->weight.dims[1];
    }
    EXPECT_EQ(elements, expected) << lanes << " lanes";
  }
}

TEST_F(CompiledBlobTest, LongerChunksPayOffAndOneChunkBeatsItsSteps) {
  CompileOptions options = small(kQ41, "cpu");
  options.maxPromptTokens = 256;
  ASSERT_TRUE(compile(options, nullptr));
  auto blob = blob::Blob::open(options.outputPath);
  ASSERT_TRUE(blob);
  auto cost = [&](const char* name) { return blob->entries()[*blob->findEntry(name)].predictedPicoseconds; };
  EXPECT_GT(cost("prefill.16.256"), cost("generate.256"));
  EXPECT_LT(cost("prefill.16.256"), 16 * cost("generate.256"));
  EXPECT_LT(cost("prefill.64.256"), 4 * cost("prefill.16.256"));
  EXPECT_LT(cost("prefill.256.256"), 4 * cost("prefill.64.256"));
  EXPECT_LT(cost("generate.256"), cost("generate.320"));
}

}  // namespace
}  // namespace firn::compiler
