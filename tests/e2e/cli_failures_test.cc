// The programs firn and firn-compile where something is wrong: exit codes, messages, and nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/concat.h"
#include "blob/reader.h"
#include "compiler/import/gguf_writer_for_test.h"
#include "tests/e2e/program.h"

namespace firn::e2e {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kModel = "tests/data/gguf/llama.gguf";

class CliFailuresTest : public testing::Test {
 protected:
  std::string compiled() const {
    const std::string blob = folder.file("model.firn");
    const ProgramResult result =
        folder.run("firn", {"compile", kModel, "-o", blob, "--max-prompt-len", "64", "--threads", "2"});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return blob;
  }
  void expectFailure(const std::vector<std::string>& arguments, int exitCode, const std::string& message) const {
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_EQ(result.exitCode, exitCode) << testing::PrintToString(arguments) << result.err;
    EXPECT_THAT(result.err, HasSubstr(message));
    EXPECT_THAT(result.out, IsEmpty());
  }

  ProgramFolder folder;
};

TEST_F(CliFailuresTest, AMissingFileIsNamed) {
  const std::string missing = folder.file("no such model.gguf");
  expectFailure({"run", missing, "text"}, 1, missing);
  expectFailure({"compile", missing, "-o", folder.file("x.firn")}, 1, missing);
  expectFailure({"inspect", missing}, 1, missing);
  expectFailure({"tokenize", missing, "text"}, 1, missing);
  expectFailure({"bench", missing}, 1, missing);
  expectFailure({"eval", "logits", kModel, "--ids", missing, "-o", folder.file("o")}, 1, missing);
  expectFailure({"eval", "perplexity", kModel, missing}, 1, missing);
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST_F(CliFailuresTest, WhatIsLongerThanTheModelsPromptsIsRefusedWithBothNumbers) {
  std::string ids = "1";
  for (int i = 0; i < 64; ++i) ids += ",1";
  writeFile(folder.file("ids.json"), "[" + ids + "]");
  const std::string blob = compiled();
  const std::vector<std::vector<std::string>> commands = {
      {"run", blob, "--prompt-ids", ids, "--json"},
      {"run", blob, "--prompt-ids", ids, "--ignore-eos"},
      {"bench", blob, "--prompt-tokens", "65"},
      {"bench", blob, "--prompt-tokens", "8", "--depth", "65"},
      {"eval", "logits", blob, "--ids", folder.file("ids.json"), "-o", folder.file("out")},
      {"eval", "perplexity", blob, "--ids", folder.file("ids.json"), "--window", "65"},
      {"eval", "perplexity", blob, "--ids", folder.file("ids.json"), "--window", "66"}};
  for (const auto& command : commands) {
    const ProgramResult result = folder.run("firn", command);
    const bool isOdd = command.back() == "65" && command.front() == "eval";  // wrong for every model
    EXPECT_EQ(result.exitCode, isOdd ? 2 : 1) << testing::PrintToString(command);
    if (!isOdd) EXPECT_THAT(result.err, testing::AllOf(HasSubstr("out_of_range"), HasSubstr("64")));
  }
}

TEST_F(CliFailuresTest, IdsOutsideTheVocabularyAreRefused) {
  const ProgramResult result = folder.run("firn", {"run", compiled(), "--prompt-ids", "1,512", "--json"});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("512"), HasSubstr("511")));
}

TEST_F(CliFailuresTest, ABlobOfAnotherDeviceIsRefused) {
  const ProgramResult result = folder.run("firn", {"run", compiled(), "--prompt-ids", "1", "--device", "reference"});
  EXPECT_NE(result.exitCode, 0);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("cpu"), HasSubstr("reference")));
}

TEST_F(CliFailuresTest, APlaceIsRefusedByName) {
  const ProgramResult result = folder.run("firn", {"run", kModel, "--prompt-ids", "1", "--place", "layers[0:77]=cpu"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, HasSubstr("--place 'layers[0:77]=cpu': the model has layers 0 to"));
}

TEST_F(CliFailuresTest, PlacesOfABlobAreFixed) {
  for (const std::string option : {"--prefill-device", "--decode-device", "--place"}) {
    const std::string value = option == "--place" ? "layers=cpu" : "cpu";
    const ProgramResult result = folder.run("firn", {"run", compiled(), "--prompt-ids", "1", option, value});
    EXPECT_EQ(result.exitCode, 2);
    EXPECT_THAT(result.err, HasSubstr("invalid_argument: " + option + " is fixed in a blob; give it to firn compile"));
  }
}

TEST_F(CliFailuresTest, NoModelAndNoBlob) {
  const std::string text = folder.file("notes.txt");
  for (const std::string& bytes : {std::string(), std::string("hello"), std::string(10000, '\0'), std::string("GGUF"),
                                   std::string("\x7f"
                                               "ELF")}) {
    writeFile(text, bytes);
    expectFailure({"run", text, "--prompt-ids", "1", "--json"}, 1, text);
    expectFailure({"compile", text, "-o", folder.file("x.firn")}, 1, text);
    expectFailure({"inspect", text}, 1, text);
  }
  EXPECT_EQ(folder.run("firn", {"run", folder.file("."), "--prompt-ids", "1"}).exitCode, 1 + 1);
  EXPECT_THAT(folder.names(), testing::ElementsAre("notes.txt"));
}

TEST_F(CliFailuresTest, ATruncatedBlobIsRefusedAtAnyLength) {
  const std::string whole = readFile(compiled());
  const std::string part = folder.file("part.firn");
  for (size_t length = 0; length < whole.size(); length += length < 8192 ? 97 : 9973) {
    writeFile(part, whole.substr(0, length));
    const auto blob = blob::Blob::open(part);
    ASSERT_FALSE(blob.isOk()) << length << " bytes";
    EXPECT_THAT(blob.status().message(), HasSubstr(part));
  }
  writeFile(part, whole.substr(0, whole.size() - 1));
  expectFailure({"inspect", part}, 1, part);
  expectFailure({"run", part, "--prompt-ids", "1", "--json"}, 1, part);
}

TEST_F(CliFailuresTest, AFlippedByteOutsideTheWeightsIsRefused) {
  const std::string path = compiled();
  std::string bytes = readFile(path);
  const uint64_t outside = need(blob::Blob::open(path)).frame().outsideBytes();
  for (uint64_t at = 0; at < outside; at += 101) {
    const char old = bytes[at];
    bytes[at] = static_cast<char>(old ^ (1 << (at % 8)));
    EXPECT_FALSE(blob::Blob::fromMemory(std::as_bytes(std::span(bytes))).isOk()) << "byte " << at;
    bytes[at] = old;
  }
  EXPECT_TRUE(blob::Blob::fromMemory(std::as_bytes(std::span(bytes))).isOk());
  bytes[outside / 2] ^= 1;
  writeFile(path, bytes);
  expectFailure({"inspect", path}, 1, path);
}

TEST_F(CliFailuresTest, AFlippedWeightIsFoundByVerifyAndCrashesNothing) {
  const std::string path = compiled();
  std::string bytes = readFile(path);
  const uint64_t outside = need(blob::Blob::open(path)).frame().outsideBytes();
  for (const uint64_t at : {outside, (outside + bytes.size()) / 2, bytes.size() - 1}) {
    std::string flipped = bytes;
    flipped[at] = static_cast<char>(flipped[at] ^ 0x7F);
    writeFile(path, flipped);
    EXPECT_EQ(folder.run("firn", {"inspect", path}).exitCode, 0);
    const ProgramResult verified = folder.run("firn", {"inspect", path, "--verify"});
    EXPECT_EQ(verified.exitCode, 1) << "byte " << at;
    EXPECT_THAT(verified.err, HasSubstr("hash"));
    EXPECT_EQ(folder.run("firn", {"run", path, "--prompt-ids", "1,2", "--max-tokens", "3", "--json"}).exitCode, 0);
  }
}

TEST_F(CliFailuresTest, AnOutputThatCannotBeWrittenIsRefusedBeforeAnyWork) {
  writeFile(folder.file("ids.json"), "[1, 2]");
  const std::string nowhere = folder.file("no/such/folder");
  // A folder that is none, a file in its place, a name longer than a name can be, a folder as the file, no file at all.
  const std::vector<std::pair<std::string, int>> outputs = {{nowhere + "/x", 1},
                                                            {folder.file("ids.json") + "/x", 1},
                                                            {folder.file(std::string(256, 'n')), 1},
                                                            {folder.file("."), 2},
                                                            {"-", 2}};
  for (const auto& [output, exitCode] : outputs) {
    // The compile would fail too, later: it has no model. The others would compile first.
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"compile", folder.file("none"), "-o", output},
          {"eval", "logits", kModel, "--ids", folder.file("ids.json"), "-o", output},
          {"run", kModel, "hello", "--prompt-cache", output}}) {
      const ProgramResult result = folder.run("firn", command);
      EXPECT_EQ(result.exitCode, exitCode) << testing::PrintToString(command) << result.err;
      EXPECT_THAT(result.err, HasSubstr(command[command.size() - 2] + (output == "-" ? " -: " : ": ")));
      EXPECT_THAT(result.out, IsEmpty());
    }
  }
  EXPECT_THAT(folder.cachedBlobs(), IsEmpty());
  EXPECT_THAT(folder.names(), testing::ElementsAre("ids.json"));
}

TEST_F(CliFailuresTest, WhatNeedsNoCompileIsRefusedBeforeIt) {
  const std::string noTokenizer = folder.file("tiny.gguf");
  const std::string fewTokens = folder.file("few.gguf");
  import::GgufWriter tiny = import::tinyLlama();
  for (const std::string& path : {fewTokens, noTokenizer}) {
    const import::ByteVector bytes = tiny.bytes();
    writeFile(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
    tiny.erase("tokenizer.ggml.model");
  }
  const std::string text = folder.file("text");
  const std::string ids = folder.file("ids.json");
  writeFile(text, "a few words");
  const std::string oneId = folder.file("one.json");
  writeFile(oneId, "[1]");
  const std::string foreign = folder.file("foreign.json");
  writeFile(foreign, "[1, 2, 3, 512]");
  std::string list = "1";
  for (int i = 0; i < 70; ++i) list += ",1";
  writeFile(ids, "[" + list + "]");
  writeFile(folder.file("notes"), "mine");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"run", kModel, "hello", "--temperature", "1e7"}, "found '1e7', expected a number from 0 to 1000000"},
      {{"run", kModel, "hello", "--prompt-cache", folder.file("notes")}, "no session"},
      {{"run", kModel, "hello", "--context-shift", "--keep-rows", "144"}, "at most 143 can be kept"},
      {{"run", kModel, "--prompt-ids", list}, "the prompt has 71 tokens, the limit is 64"},
      {{"run", kModel, list}, "the limit is 64"},
      {{"run", kModel, "--prompt-ids", "1,512"}, "512"},
      {{"profile", kModel, "--prompt-ids", "1,512"}, "512"},
      {{"eval", "logits", kModel, "--ids", foreign, "-o", folder.file("o")}, foreign + ": "},
      {{"eval", "perplexity", kModel, "--ids", foreign, "--window", "4"}, foreign + ": "},
      {{"run", noTokenizer, "hello"}, "--prompt-ids"},
      {{"run", noTokenizer, "-"}, "--prompt-ids"},
      {{"run", fewTokens, "hello"}, "no tokens for 5 bytes"},
      {{"run", fewTokens, "hello"}, "prompt has no tokens"},
      {{"bench", kModel, "--prompt-tokens", "65"}, "limit of 64"},
      {{"bench", kModel, "--depth", "65"}, "limit of 64"},
      {{"bench", kModel, "--decode-tokens", "177"}, "176 that fit"},
      {{"eval", "logits", kModel, "--ids", ids, "-o", folder.file("o")}, "the limit is 64"},
      {{"eval", "perplexity", kModel, "--ids", ids, "--window", "66"}, "limit of 64"},
      {{"eval", "perplexity", kModel, "--ids", ids, "--window", "5"}, "an even number"},
      {{"eval", "perplexity", kModel, text, "--window", "64"}, "less than one window"},
      {{"eval", "perplexity", kModel, "--ids", oneId, "--window", "64"},
       "1 token, less than one window of 64; give a longer text, or a smaller --window"},
      {{"eval", "perplexity", noTokenizer, text, "--window", "4"}, "--ids"}};
  for (const auto& [command, message] : cases) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"--max-prompt-len", "60", "--min-response-len", "128"});
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_NE(result.exitCode, 0) << testing::PrintToString(command);
    EXPECT_THAT(result.err, HasSubstr(message)) << testing::PrintToString(command);
    EXPECT_THAT(folder.cachedBlobs(), IsEmpty()) << testing::PrintToString(command);
  }
  // Just what fits is no error.
  EXPECT_EQ(folder
                .run("firn", {"run", kModel, "hello", "--context-shift", "--keep-rows", "143", "--max-tokens", "1",
                              "--max-prompt-len", "60", "--min-response-len", "128"})
                .exitCode,
            0);
  EXPECT_EQ(folder.cachedBlobs().size(), 1U);
}

TEST_F(CliFailuresTest, ACacheThatNoMachineHoldsIsRefusedBeforeTheCompile) {
  constexpr uint32_t kHeads = 1024;
  constexpr uint32_t kHeadDim = 128;  // two million rows of these take a terabyte
  import::GgufWriter wide = import::tinyLlama();
  for (const char* key : {"attention.head_count", "attention.head_count_kv"}) wide.u32(concat("llama.", key), kHeads);
  for (const char* key : {"key", "value"}) wide.u32(concat("llama.attention.", key, "_length"), kHeadDim);
  for (const char* name : {"q", "k", "v"}) {
    wide.tensor(concat("blk.0.attn_", name, ".weight"), {8, uint64_t{kHeads} * kHeadDim});
  }
  const import::ByteVector bytes = wide.tensor("blk.0.attn_output.weight", {uint64_t{kHeads} * kHeadDim, 8}).bytes();
  const std::string model = folder.file("wide.gguf");
  writeFile(model, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  writeFile(folder.file("ids.json"), "[1, 2, 1, 2]");
  for (std::vector<std::string> command : {std::vector<std::string>{"run", model, "--prompt-ids", "1"},
                                           {"bench", model},
                                           {"eval", "perplexity", model, "--ids", folder.file("ids.json")}}) {
    if (command.front() == "eval") command.insert(command.end(), {"--window", "4"});
    command.insert(command.end(), {"--max-prompt-len", "1048576", "--min-response-len", "1048576"});
    expectFailure(command, 1, "resource_exhausted: the KV cache of 2097152 rows of f16 (--max-prompt-len, ");
    EXPECT_THAT(folder.cachedBlobs(), IsEmpty());
  }
}

TEST_F(CliFailuresTest, ABenchmarkFitsTheModel) {
  const ProgramResult result = folder.run("firn", {"bench", compiled()});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, testing::AllOf(HasSubstr("prefill 64 tokens"), HasSubstr("decode 128 tokens")));
}

TEST_F(CliFailuresTest, AFileOfAnotherKindIsNamedWithWhatToDo) {
  const std::string blob = compiled();
  const std::string session = folder.file("chat.session");
  const std::string empty = folder.file("empty");
  const std::string ids = folder.file("ids.json");
  ASSERT_EQ(folder.run("firn", {"run", blob, "hello", "--max-tokens", "1", "--prompt-cache", session}).exitCode, 0);
  writeFile(empty, "");
  writeFile(ids, "[1, 2]");
  const std::string output = folder.file("x.firn");
  const auto failure = [&](const std::vector<std::string>& arguments) {
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_EQ(result.exitCode, 1) << testing::PrintToString(arguments);
    EXPECT_THAT(result.out, IsEmpty()) << testing::PrintToString(arguments);
    return result.err;
  };
  for (const std::string& file : {session, empty}) {
    for (const std::vector<std::string>& command : {std::vector<std::string>{"run", file, "hello"},
                                                    {"compile", file, "-o", output},
                                                    {"inspect", file},
                                                    {"tokenize", file, "hello"},
                                                    {"bench", file},
                                                    {"eval", "perplexity", file, ids},
                                                    {"eval", "logits", file, "--ids", ids, "-o", output}}) {
      const std::string said = failure(command);
      EXPECT_THAT(said, HasSubstr(file + (file == empty ? " is empty" : " is a session"))) << command.front();
      if (file == session) EXPECT_THAT(said, HasSubstr("--prompt-cache " + session)) << command.front();
    }
  }
  EXPECT_THAT(failure({"compile", blob, "-o", output}),
              testing::AllOf(HasSubstr(blob + " is a blob, compiled already"), HasSubstr("firn run " + blob)));
  EXPECT_THAT(failure({"run", blob, "hello", "--prompt-cache", empty}),
              testing::AllOf(HasSubstr(empty + " is empty"), HasSubstr("Remove it, or name another file")));
}

TEST_F(CliFailuresTest, MoreThreadsThanABlobHasLanesAreOneRefusal) {
  const ProgramResult result = folder.run("firn", {"run", compiled(), "hello", "--threads", "256"});
  EXPECT_NE(result.exitCode, 0);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("256"), testing::Not(HasSubstr("note: "))));
  EXPECT_EQ(std::ranges::count(result.err, '\n'), 1) << result.err;
}

TEST_F(CliFailuresTest, SessionsThatNoBatchHoldsAreRefusedBeforeTheyAreMeasured) {
  const std::string blob = compiled();
  expectFailure({"bench", blob, "--prompt-tokens", "8", "--sessions", "1,2"}, 2,
                "--sessions 2: the blob has no batches");
  EXPECT_EQ(folder.run("firn", {"compile", kModel, "-o", blob, "--max-prompt-len", "64", "--batch", "2"}).exitCode, 0);
  expectFailure({"bench", blob, "--prompt-tokens", "8", "--sessions", "2,3"}, 2, "batches of at most 2; compile");
  const ProgramResult result =
      folder.run("firn", {"bench", blob, "--prompt-tokens", "8", "--decode-tokens", "4", "--sessions", "1,2"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
}

}  // namespace
}  // namespace firn::e2e
