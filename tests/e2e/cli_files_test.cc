// The programs and the files they are given: nothing that is read is replaced, and a changed file is noticed.
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "compiler/import/gguf_reader.h"
#include "compiler/import/gguf_writer_for_test.h"
#include "tests/e2e/program.h"

namespace firn::e2e {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr const char* kModel = "tests/data/gguf/llama.gguf";

class CliFilesTest : public testing::Test {
 protected:
  /// A copy of the model that a test may spoil.
  std::string copyOfModel() const {
    const std::string copy = folder.file("copy.gguf");
    fs::copy_file(kModel, copy, fs::copy_options::overwrite_existing);
    return copy;
  }

  ProgramFolder folder;
};

TEST_F(CliFilesTest, AChangedModelIsCompiledAgainThoughSizeAndTimeAreTheSame) {
  const std::string model = copyOfModel();
  const auto time = fs::last_write_time(model);
  const std::vector<std::string> run = {"run", model, "hello", "--max-tokens", "1", "--json"};
  EXPECT_TRUE(nlohmann::json::parse(folder.run("firn", run).out)["compiled"]);
  EXPECT_FALSE(nlohmann::json::parse(folder.run("firn", run).out)["compiled"]);
  {
    std::fstream file(model, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-64, std::ios::end);
    file.put('\x11');
  }
  fs::last_write_time(model, time);
  EXPECT_TRUE(nlohmann::json::parse(folder.run("firn", run).out)["compiled"]);
}

TEST_F(CliFilesTest, WeightsThatAreNoNumbersAreNamedAsTheCause) {
  const std::string model = copyOfModel();
  const std::string whole = readFile(model);
  const std::string text = folder.file("text");
  const std::string ids = folder.file("ids.json");
  const std::string output = folder.file("logits");
  writeFile(text, std::string(2000, 'a'));
  writeFile(ids, "[1, 2, 3]");
  // An infinite one leaves logits of both kinds, and of numbers: whatever is chosen among them is no answer.
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    std::string bytes = whole;
    {
      const import::GgufFile file = need(import::GgufFile::open(model));
      const import::GgufTensor& norm = *file.findTensor("output_norm.weight");
      const auto* start = file.shards().front().metadata.data();
      std::memcpy(bytes.data() + (norm.bytes.data() - start), &bad, sizeof(bad));
    }
    writeFile(model, bytes);
    for (const char* device : {"cpu", "reference"}) {
      const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
          {{"run", model, "hello", "--json"}, "corrupt: token 1 of the answer: "},
          {{"run", model, "hello", "--temperature", "1"}, "corrupt: token 1 of the answer: "},
          {{"bench", model}, "corrupt: the prompt: "},
          {{"profile", model, "hello", "--max-tokens", "1"}, "corrupt: token 1 of the answer: "},
          {{"profile", model, "hello"}, "corrupt: token 1 of the answer: "},
          {{"eval", "logits", model, "--ids", ids, "-o", output}, "corrupt: position 0: "},
          {{"eval", "perplexity", model, text, "--window", "64"}, "corrupt: window 1, position 32: "}};
      for (auto [arguments, place] : cases) {
        arguments.insert(arguments.end(), {"--device", device});
        const auto result = folder.run("firn", arguments);
        EXPECT_EQ(result.exitCode, 1) << testing::PrintToString(arguments);
        EXPECT_THAT(result.err, testing::AllOf(HasSubstr("firn: " + place), HasSubstr("weights of the model are NaN")))
            << testing::PrintToString(arguments);
      }
    }
    fs::copy_file(kModel, model, fs::copy_options::overwrite_existing);
  }
  EXPECT_FALSE(fs::exists(output));
}

TEST_F(CliFilesTest, ASessionIsSuspectedOnlyForRowsThatWereUsed) {
  constexpr size_t kVocab = 512;
  constexpr size_t kSpoilt = 7;  // a token whose embedding is NaN
  const std::string model = copyOfModel();
  std::string bytes = readFile(model);
  {
    const import::GgufFile file = need(import::GgufFile::open(model));
    const import::GgufTensor& table = *file.findTensor("token_embd.weight");
    const auto* start = file.shards().front().metadata.data();
    const size_t rowBytes = table.bytes.size() / kVocab;
    bytes.replace(static_cast<size_t>(table.bytes.data() - start) + kSpoilt * rowBytes, rowBytes, rowBytes, '\xFF');
  }
  writeFile(model, bytes);
  const std::string blob = folder.file("x.firn");
  ASSERT_EQ(folder.run("firn", {"compile", model, "-o", blob}).exitCode, 0);
  const std::string session = folder.file("session");
  const auto run = [&](const std::vector<std::string>& prompt) {
    std::vector<std::string> arguments = {"run", blob, "--max-tokens", "1", "--prompt-cache", session};
    arguments.insert(arguments.end(), prompt.begin(), prompt.end());
    return folder.run("firn", arguments);
  };
  ASSERT_EQ(run({"--prompt-ids", "1,2,3"}).exitCode, 0);
  for (const auto& [ids, isSuspect] : {std::pair("1,7", true), {"7,8", false}, {"7", false}}) {
    const auto result = run({"--prompt-ids", ids});
    EXPECT_EQ(result.exitCode, 1) << ids;
    EXPECT_THAT(result.err, HasSubstr("are NaN")) << ids;
    EXPECT_EQ(result.err.find("prompt's beginning are no numbers") != std::string::npos, isSuspect) << result.err;
  }
  const auto nothing = run({""});
  EXPECT_EQ(nothing.exitCode, 2);
  EXPECT_THAT(nothing.err, HasSubstr("no tokens"));
}

/// A command that writes a file, which it is given as its last argument, and the files that it reads.
struct Writer {
  std::vector<std::string> command;
  std::vector<std::string> inputs;
};

TEST_F(CliFilesTest, AnOutputNeverReplacesAnInput) {
  const std::string model = copyOfModel();
  const std::string ids = folder.file("ids.json");
  const std::string machine = folder.file("mine.json");
  const std::string blob = folder.file("blob.svg");  // inspect draws into such names only
  writeFile(ids, "[1, 2, 3]");
  fs::copy_file("compiler/target/npu/machines/lnl.json", machine);
  ASSERT_EQ(folder.run("firn", {"compile", model, "-o", blob, "--device", "npu"}).exitCode, 0);
  const std::vector<Writer> writers = {
      {{"compile", model, "--device", "npu", "--machine", machine, "-o"}, {model, machine}},
      {{"eval", "logits", model, "--ids", ids, "--device", "npu", "--machine", machine, "-o"}, {model, ids, machine}},
      {{"eval", "logits", blob, "--ids", ids, "-o"}, {blob, ids}},
      {{"profile", model, "hello", "--device", "npu", "--machine", machine, "-o"}, {model, machine}},
      {{"profile", blob, "hello", "-o"}, {blob}},
      {{"run", model, "hello", "--device", "npu", "--machine", machine, "--prompt-cache"}, {model, machine}},
      {{"run", blob, "hello", "--prompt-cache"}, {blob}},
      {{"inspect", blob, "--timeline"}, {blob}}};
  for (const auto& [command, inputs] : writers) {
    for (const std::string& input : inputs) {
      const std::string before = readFile(input);
      const std::string symbolic = folder.file("symbolic.svg");
      const std::string hard = folder.file("hard.svg");
      fs::create_symlink(input, symbolic);
      fs::create_hard_link(input, hard);
      const std::string dotted = folder.file("../" + fs::path(input).parent_path().filename().string() + "/" +
                                             fs::path(input).filename().string());
      for (const std::string& output : {input, dotted, symbolic, hard}) {
        auto arguments = command;
        arguments.push_back(output);
        const auto result = folder.run("firn", arguments);
        EXPECT_EQ(result.exitCode, 2) << testing::PrintToString(arguments);
        EXPECT_THAT(result.err, HasSubstr("is the input '" + input + "' itself")) << testing::PrintToString(arguments);
        ASSERT_TRUE(readFile(input) == before) << testing::PrintToString(arguments);
      }
      fs::remove(symbolic);
      fs::remove(hard);
    }
  }
  EXPECT_THAT(folder.cachedBlobs(), testing::IsEmpty()) << "compiled before it was refused";
}

TEST_F(CliFilesTest, AnOutputThatIsALinkIsWrittenWhereItLeads) {
  fs::create_directories(folder.file("there"));
  writeFile(folder.file("ids.json"), "[1, 2, 3]");
  for (const bool isThere : {false, true}) {
    for (const std::vector<std::string>& command : {std::vector<std::string>{"compile", kModel, "-o"},
                                                    {"eval", "logits", kModel, "--ids", folder.file("ids.json"), "-o"},
                                                    {"run", kModel, "hello", "--max-tokens", "1", "--prompt-cache"}}) {
      const std::string name = command[0] + ".out";
      const fs::path link = folder.file(name);
      const fs::path target = folder.file("there/" + name);
      if (!isThere) fs::create_symlink(fs::path("there") / name, link);
      const auto time = isThere ? fs::last_write_time(target) : fs::file_time_type();
      auto arguments = command;
      arguments.push_back(link.string());
      const auto result = folder.run("firn", arguments);
      EXPECT_EQ(result.exitCode, 0) << result.err;
      EXPECT_TRUE(fs::is_symlink(link)) << name;
      ASSERT_TRUE(fs::is_regular_file(target) && !fs::is_symlink(target)) << name;
      EXPECT_NE(fs::last_write_time(target), time) << name;
    }
  }
}

TEST_F(CliFilesTest, AnOutputNeverReplacesAShard) {
  import::GgufWriter first = import::tinyLlama();
  import::GgufWriter second;
  second.add(first.tensors().back());
  first.eraseTensor(first.tensors().back().name);
  const std::string paths[] = {folder.file("m-00001-of-00002.gguf"), folder.file("m-00002-of-00002.gguf")};
  uint16_t number = 0;
  for (import::GgufWriter* shard : {&first, &second}) {
    shard->u16("split.no", number).u16("split.count", 2).i32("split.tensors.count", 11);
    const import::ByteVector bytes = shard->bytes();
    writeFile(paths[number++], {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  }
  const std::string ids = folder.file("ids.json");
  std::ofstream(ids) << "[1, 2, 3]";
  const std::string before = readFile(paths[1]);
  for (std::vector<std::string> command : {std::vector<std::string>{"eval", "logits", paths[0], "--ids", ids, "-o"},
                                           {"profile", paths[0], "--prompt-ids", "1", "-o"},
                                           {"run", paths[0], "--prompt-ids", "1", "--prompt-cache"},
                                           {"compile", paths[0], "-o"}}) {
    command.push_back(paths[1]);
    const auto result = folder.run("firn", command);
    EXPECT_EQ(result.exitCode, 2) << result.err;
    EXPECT_TRUE(readFile(paths[1]) == before) << command.front();
  }
}

TEST_F(CliFilesTest, AFullOutputIsAnErrorAndNoInterrupt) {
  const std::string command = programPath("firn") + " run " + kModel + " hello --max-tokens 20 > /dev/full";
  const auto result = folder.run("sh", {"-c", command});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, HasSubstr("standard output could not be written"));
}

TEST_F(CliFilesTest, ClearingTheCacheLeavesWhatFirnDidNotMake) {
  folder.run("firn", {"run", kModel, "hello", "--max-tokens", "1"});
  ASSERT_EQ(folder.cachedBlobs().size(), 1U);
  const fs::path notes = fs::path(folder.cachedBlobs().front()).parent_path() / "notes.txt";
  std::ofstream(notes) << "mine";
  EXPECT_EQ(folder.run("firn", {"cache", "clear"}).exitCode, 0);
  std::vector<fs::path> left;
  for (const auto& entry : fs::directory_iterator(notes.parent_path())) left.push_back(entry.path());
  EXPECT_THAT(left, testing::ElementsAre(notes));
}

}  // namespace
}  // namespace firn::e2e
