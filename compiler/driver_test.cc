// The whole compiler on small models: what a blob holds, what is refused, what is left behind. That the programs
// compute the right numbers is tested where they can be run (tests/).
#include "compiler/driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>

#include "blob/dump.h"
#include "blob/reader.h"
#include "blob/task_op.h"
#include "compiler/compiler_id.h"
#include "compiler/import/gguf_writer_for_test.h"
#include "compiler/import/import.h"
#include "kernels/quant/panel.h"

namespace firn::compiler {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr const char* kLlama = "tests/data/gguf/llama.gguf";
constexpr const char* kGemma3 = "tests/data/gguf/gemma3.gguf";
constexpr const char* kQ41 = "tests/data/quant/q4_1.gguf";

/// A folder of its own for each test.
class DriverTest : public testing::Test {
 protected:
  void SetUp() override {
    folder = fs::temp_directory_path() / ("firn_driver_" + std::to_string(getpid()) + "_" +
                                          testing::UnitTest::GetInstance()->current_test_info()->name());
    fs::create_directories(folder);
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string path(const std::string& name) const { return (folder / name).string(); }

  CompileOptions small(const std::string& model, const std::string& target) const {
    CompileOptions options;
    options.modelPath = model;
    options.outputPath = path("out.firn");
    options.target = target;
    options.maxPromptTokens = 64;
    options.minResponseTokens = 64;
    options.lanes = 2;
    return options;
  }

  std::vector<std::string> filesLeft() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename().string());
    return names;
  }

  fs::path folder;
};

std::string bytesOf(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

std::vector<std::string> entryNames(const blob::Blob& blob) {
  std::vector<std::string> names;
  for (const auto& entry : blob.entries()) names.emplace_back(blob.string(entry.name));
  return names;
}

TEST_F(DriverTest, ABlobHoldsEveryEntryOfTheLadders) {
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
    EXPECT_LE(blob->header().weightsBytes, fs::file_size(kQ41) * 6 / 5);
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

TEST_F(DriverTest, ABlobHoldsTheBatchesThatWereAskedFor) {
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

TEST_F(DriverTest, TheCardNamesTheRopeOfEachRunOfLayers) {
  ASSERT_TRUE(compile(small("tests/data/gguf/gemma3.gguf", "cpu"), nullptr));
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

TEST_F(DriverTest, BodiesDoNotGrowWithLayersOrContexts) {
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

TEST_F(DriverTest, TheSameSourceGivesTheSameBytes) {
  CompileOptions options = small(kLlama, "cpu");
  ASSERT_TRUE(compile(options, nullptr));
  std::string first = bytesOf(options.outputPath);
  ASSERT_TRUE(compile(options, nullptr));
  EXPECT_TRUE(first == bytesOf(options.outputPath));
  EXPECT_THAT(filesLeft(), ElementsAre("out.firn"));
}

/// Every row of the embedding, as the blob's embed task names it, is the source's row.
TEST_F(DriverTest, PanelsHoldTheSourceWeights) {
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
TEST_F(DriverTest, LanesShareTheWeightsOfALayer) {
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

TEST_F(DriverTest, LongerChunksPayOffAndOneChunkBeatsItsSteps) {
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

TEST_F(DriverTest, EveryPhaseCanBeTheLastAndPrints) {
  const std::vector<std::pair<std::string, std::string>> marks = {
      {"import", "graph.state "},    {"stateless", "graph.cache_update"}, {"freeze", "@prefill.16.128"},
      {"fold", "graph.call"},        {"place", "graph.reason"},           {"lower", "\"@prefill.16.x.0\""},
      {"schedule", "weights_bytes"},
  };
  for (const auto& [phase, mark] : marks) {
    CompileOptions options = small(kLlama, "cpu");
    options.outputPath.clear();
    options.stopAfter = phase;
    std::ostringstream text;
    options.printTo = &text;
    Status status = compile(options, nullptr);
    ASSERT_TRUE(status) << phase << ": " << status.toString();
    EXPECT_THAT(text.str(), HasSubstr(mark)) << phase;
  }
  EXPECT_THAT(filesLeft(), ElementsAre());
}

TEST_F(DriverTest, ReportsProgressInTheOrderOfThePhases) {
  CompileOptions options = small(kLlama, "cpu");
  std::vector<std::string> phases;
  uint64_t last = 0;
  options.progress = [&](std::string_view phase, uint64_t done, uint64_t total) {
    if (phases.empty() || phases.back() != phase) phases.emplace_back(phase);
    EXPECT_LE(done, total);
    last = total;
  };
  ASSERT_TRUE(compile(options, nullptr));
  EXPECT_THAT(phases, testing::ElementsAreArray(kPhases));
  EXPECT_GT(last, 0);
}

TEST_F(DriverTest, WarnsOfATrainedContextThatIsExceeded) {
  CompileOptions options = small(kLlama, "cpu");
  options.maxPromptTokens = 4096;
  CompileReport report;
  ASSERT_TRUE(compile(options, &report));
  ASSERT_FALSE(report.warnings.empty());
  EXPECT_THAT(report.warnings[0], HasSubstr("4160"));
}

TEST_F(DriverTest, NormsOfHeadsAreEvenedForI8Alone) {
  for (const char* target : {"cpu", "reference"}) {
    const auto graphOf = [&](const char* model, std::optional<DType> kvType) {
      CompileOptions options = small(model, target);
      options.kvType = kvType;
      options.stopAfter = "import";
      std::ostringstream text;
      options.printTo = &text;
      Status status = compile(options, nullptr);
      EXPECT_TRUE(status) << status.toString();
      return text.str();
    };
    const std::string plain = graphOf(kGemma3, std::nullopt);
    EXPECT_EQ(graphOf(kGemma3, DType::kF16), plain);
    EXPECT_EQ(graphOf(kGemma3, DType::kF32), plain);
    for (const char* norm : {"attn_q_norm", "attn_k_norm"}) {
      const std::string weight = std::string("graph.weight @blk.0.") + norm + " : tensor<32xf32> {";
      EXPECT_THAT(plain, HasSubstr(weight + "file = "));
      EXPECT_THAT(graphOf(kGemma3, DType::kI8), HasSubstr(weight + "value = "));
    }
    EXPECT_EQ(graphOf(kLlama, DType::kI8), graphOf(kLlama, DType::kF16)) << "it has no norms of heads";
  }
}

TEST_F(DriverTest, BadOptionsAreNamed) {
  const auto refusal = [&](void (*change)(CompileOptions&)) {
    CompileOptions options = small(kLlama, "cpu");
    change(options);
    Status status = compile(options, nullptr);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.toString();
    return status.message();
  };
  EXPECT_THAT(refusal([](CompileOptions& o) { o.target = "npu"; }), HasSubstr("npu"));
  EXPECT_THAT(refusal([](CompileOptions& o) { o.stopAfter = "link"; }), HasSubstr("schedule"));
  EXPECT_THAT(refusal([](CompileOptions& o) { o.outputPath.clear(); }), HasSubstr("-o"));
  EXPECT_THAT(refusal([](CompileOptions& o) { o.activationPlanes.head = 3; }), HasSubstr("3"));
  EXPECT_THAT(refusal([](CompileOptions& o) { o.prefillChunks = {65}; }), HasSubstr("--prefill-chunks"));
  EXPECT_THAT(refusal([](CompileOptions& o) { o.outputPath = kLlama; }), HasSubstr("the model file itself"));
  EXPECT_THAT(filesLeft(), ElementsAre());
}

TEST_F(DriverTest, WhatIsNoRegularFileIsNotReplaced) {
  CompileOptions options = small(kLlama, "cpu");
  ASSERT_EQ(mkfifo(options.outputPath.c_str(), 0600), 0);
  Status status = compile(options, nullptr);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("no regular file"));
  EXPECT_TRUE(fs::is_fifo(options.outputPath));
  options.outputPath = folder.string();
  EXPECT_EQ(compile(options, nullptr).code(), Code::kInvalidArgument);
}

TEST_F(DriverTest, FailureLeavesAnOlderBlobUntouched) {
  CompileOptions options = small(kLlama, "cpu");
  std::ofstream(options.outputPath) << "older";
  options.modelPath = path("absent.gguf");
  EXPECT_EQ(compile(options, nullptr).code(), Code::kNotFound);
  options.modelPath = kLlama;
  std::atomic<bool> cancel = false;
  options.cancel = &cancel;
  options.progress = [&](std::string_view phase, uint64_t done, uint64_t) { cancel = phase == "blob" && done > 0; };
  EXPECT_EQ(compile(options, nullptr).code(), Code::kCancelled);
  EXPECT_EQ(bytesOf(options.outputPath), "older");
  EXPECT_THAT(filesLeft(), ElementsAre("out.firn"));
}

TEST_F(DriverTest, AFolderThatDoesNotExistIsAnError) {
  CompileOptions options = small(kLlama, "cpu");
  options.outputPath = path("no/such/out.firn");
  Status status = compile(options, nullptr);
  EXPECT_FALSE(status);
  EXPECT_THAT(status.message(), HasSubstr("no/such"));
}

TEST(CompilerIdTest, Is128BitsInHexadecimal) {
  EXPECT_EQ(compilerId().size(), 32);
  EXPECT_EQ(compilerId().find_first_not_of("0123456789abcdef"), std::string::npos);
}

TEST_F(DriverTest, AModelThatChangesWhileItIsCompiledGivesNoBlob) {
  import::GgufWriter first = import::tinyLlama();
  import::GgufWriter second;
  second.add(first.tensors().back());
  first.eraseTensor(first.tensors().back().name);
  const std::string shards[] = {path("m-00001-of-00002.gguf"), path("m-00002-of-00002.gguf")};
  uint16_t number = 0;
  for (import::GgufWriter* shard : {&first, &second}) {
    shard->u16("split.no", number).u16("split.count", 2).i32("split.tensors.count", 11);
    const import::ByteVector bytes = shard->bytes();
    std::ofstream(shards[number++], std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  }
  CompileOptions options = small(shards[0], "cpu");
  ASSERT_TRUE(compile(options, nullptr).isOk());
  const std::string before = bytesOf(options.outputPath);
  for (const std::string& changed : shards) {
    // From the first phase to the last weight, by a write that keeps size and time.
    for (const std::string_view when : {"import", "lower", "blob"}) {
      options.progress = [&](std::string_view phase, uint64_t done, uint64_t total) {
        if (phase != when || done != total) return;
        std::this_thread::sleep_for(std::chrono::milliseconds(20));  // a tick of the clock of files
        const auto time = fs::last_write_time(changed);
        std::fstream file(changed, std::ios::in | std::ios::out | std::ios::binary);
        file.seekp(-1, std::ios::end);
        file.put('\0').flush();
        fs::last_write_time(changed, time);
      };
      const Status status = compile(options, nullptr);
      EXPECT_EQ(status.code(), Code::kIo) << when;
      EXPECT_THAT(status.message(), testing::AllOf(HasSubstr(changed), HasSubstr("changed while it was read")));
      EXPECT_EQ(bytesOf(options.outputPath), before);
      EXPECT_EQ(filesLeft().size(), 3U) << "shards and the older blob";
    }
  }
}

}  // namespace
}  // namespace firn::compiler
