// Blobs without weights: a compile that reads none makes one, devices that compute refuse it, timing takes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "compiler/import/gguf_reader.h"
#include "engine/simulation.h"
#include "tests/e2e/program.h"

namespace firn::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr const char* kModel = "tests/data/gguf/llama.gguf";

compiler::CompileOptions npuCompile(bool hasWeights) {
  compiler::CompileOptions options = smallCompile("gguf/llama.gguf", "npu", 1);
  options.hasWeights = hasWeights;
  return options;
}

/// The model with a hole in place of its tensors' bytes, which reads as zeros.
std::string withHole(const std::string& path) {
  const import::GgufFile model = need(import::GgufFile::open(kModel));
  const std::string bytes = readFile(kModel);
  uint64_t dataBytes = 0;  // but for the gaps between them: a few bytes of the first tensor stay
  for (const import::GgufTensor& tensor : model.tensors()) dataBytes += tensor.bytes.size();
  writeFile(path, bytes.substr(0, bytes.size() - dataBytes));
  std::filesystem::resize_file(path, bytes.size());
  return path;
}

TEST(AbsentWeightsTest, TimesAreThoseOfTheWholeBlob) {
  const compiler::CompileOptions options = npuCompile(false);
  const TempFolder folder;
  compiler::CompileOptions without = options;
  without.outputPath = folder.file("none.firn");
  need(compiler::compile(without, nullptr));
  const blob::Blob none = need(blob::Blob::open(without.outputPath));
  const blob::Blob whole = need(blob::Blob::open(blobOf(npuCompile(true))));
  EXPECT_FALSE(none.hasWeights());
  EXPECT_EQ(none.header().weightsBytes, whole.header().weightsBytes);
  engine::Simulator ofNone = need(engine::Simulator::create(none));
  engine::Simulator ofWhole = need(engine::Simulator::create(whole));
  EXPECT_EQ(need(ofNone.run(50, 3)).prompt.run.picoseconds, need(ofWhole.run(50, 3)).prompt.run.picoseconds);
  EXPECT_EQ(need(ofNone.run(50, 3)).decode.leastDdrBytes, need(ofWhole.run(50, 3)).decode.leastDdrBytes);

  const Status refused = engine::Model::open(without.outputPath, {}).status();
  EXPECT_EQ(refused.code(), Code::kUnsupported);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("--weights none"), HasSubstr("firn simulate")));
  runtime::SimulatedTime time;
  const SessionPtr timed = openSession(
      without.outputPath, {.deviceOptions = {.simulation = runtime::SimulationMode::kTiming, .simulated = &time}});
  static_cast<void>(timed->prefill(someIds(50, timed->model().limits().vocab)).isOk());
  EXPECT_EQ(time.total.picoseconds, need(ofNone.run(50, 0)).prompt.run.picoseconds);
}

TEST(AbsentWeightsTest, ProgramsSayWhatToDo) {
  const ProgramFolder folder;
  const std::string model = withHole(folder.file("hole.gguf"));
  const std::string blob = folder.file("none.firn");
  const ProgramResult compiled = folder.run(
      "firn", {"compile", model, "-o", blob, "--device", "npu", "--max-prompt-len", "64", "--weights", "none"});
  ASSERT_EQ(compiled.exitCode, 0) << compiled.err;
  EXPECT_THAT(compiled.err, HasSubstr("left out"));
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"run", blob, "--prompt-ids", "1"},
                                                    {"bench", blob},
                                                    {"profile", blob, "--prompt-ids", "1"}}) {
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_EQ(result.exitCode, 1) << arguments.front();
    EXPECT_THAT(result.err, AllOf(HasSubstr("none.firn"), HasSubstr("--weights none"), HasSubstr("firn simulate")));
  }
  EXPECT_EQ(folder.run("firn", {"simulate", blob}).exitCode, 0);
  EXPECT_EQ(folder.run("firn", {"simulate", model}).exitCode, 0);
  EXPECT_THAT(folder.run("firn", {"inspect", blob}).out, HasSubstr("left out"));
  EXPECT_EQ(folder.run("firn", {"inspect", blob, "--verify"}).exitCode, 1);
  EXPECT_EQ(folder.run("firn", {"compile", kModel, "-o", blob, "--weights", "some"}).exitCode, 2);
}

}  // namespace
}  // namespace firn::e2e
