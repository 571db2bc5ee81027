// firn run: several answers to one prompt, and prompts that begin with what an earlier run has saved.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <tuple>

#include <nlohmann/json.hpp>

#include "base/page_buffer.h"
#include "engine/snapshot.h"
#include "tests/e2e/program.h"

namespace firn::e2e {
namespace {

using nlohmann::ordered_json;
using testing::HasSubstr;

class CliAnswersTest : public testing::Test {
 protected:
  /// The JSON of `firn run` on one blob, with `more` arguments.
  ordered_json run(std::vector<std::string> more) const {
    more.insert(more.begin(), {"run", blob, "--json", "--ignore-eos"});
    const ProgramResult result = folder.run("firn", more);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return result.exitCode == 0 ? ordered_json::parse(result.out) : ordered_json();
  }
  void SetUp() override {
    const ProgramResult compiled = folder.run(
        "firn", {"compile", "tests/data/gguf/llama.gguf", "-o", blob, "--max-prompt-len", "128", "--threads", "2"});
    ASSERT_EQ(compiled.exitCode, 0) << compiled.err;
  }
  /// "1,2,3,...", `count` ids from `first` on.
  static std::string ids(int first, int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += (i == 0 ? "" : ",") + std::to_string(first + i);
    return text;
  }

  ProgramFolder folder;
  const std::string blob = folder.file("model.firn");
  const std::string cache = folder.file("session");
};

TEST_F(CliAnswersTest, EachAnswerIsThatOfItsSeed) {
  const std::vector<std::string> prompt = {"--prompt-ids", ids(1, 40), "--max-tokens", "12", "--temperature", "1"};
  auto several = prompt;
  several.insert(several.end(), {"--n", "3", "--seed", "7"});
  const ordered_json answers = run(several);
  EXPECT_EQ(answers["prompt_tokens"], 40);
  EXPECT_EQ(answers["cached_tokens"], 0);
  ASSERT_EQ(answers["choices"].size(), 3U);
  for (int i = 0; i < 3; ++i) {
    auto one = prompt;
    one.insert(one.end(), {"--seed", std::to_string(7 + i)});
    const ordered_json alone = run(one);
    for (const char* key : {"text", "tokens", "completion_tokens", "finish_reason"}) {
      EXPECT_EQ(answers["choices"][i][key], alone[key]) << "answer " << i;
    }
  }
  EXPECT_NE(answers["choices"][0]["tokens"], answers["choices"][1]["tokens"]);
}

TEST_F(CliAnswersTest, AnswersAreStreamedOneAfterTheOther) {
  const auto result = folder.run("firn", {"run", blob, "--prompt-ids", "1,2,3", "--max-tokens", "5", "--ignore-eos",
                                          "--temperature", "1", "--n", "2"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.out, testing::AllOf(HasSubstr("\n---\n"), testing::EndsWith("\n")));
}

TEST_F(CliAnswersTest, SameAnswersAreRefused) {
  const auto result = folder.run("firn", {"run", blob, "--prompt-ids", "1", "--n", "2"});
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, HasSubstr("--temperature"));
  EXPECT_EQ(folder.run("firn", {"run", blob, "--prompt-ids", "1", "--n", "0"}).exitCode, 2);
}

TEST_F(CliAnswersTest, EveryAnswersSeedCanBeGiven) {
  const auto run = [&](const std::string& seed, const std::string& answers) {
    return folder.run("firn", {"run", blob, "--prompt-ids", "1", "--max-tokens", "1", "--temperature", "1", "--seed",
                               seed, "--n", answers});
  };
  EXPECT_EQ(run("9223372036854775805", "3").exitCode, 0);
  EXPECT_EQ(run("9223372036854775807", "1").exitCode, 0);
  const auto result = run("9223372036854775806", "3");
  EXPECT_EQ(result.exitCode, 2);
  EXPECT_THAT(result.err, HasSubstr("above 9223372036854775807"));
}

TEST_F(CliAnswersTest, APromptCacheSavesWhatAPromptBeginsWith) {
  const std::string prompt = ids(1, 60);
  const std::vector<std::string> rest = {"--max-tokens", "10", "--prompt-cache", cache};
  const auto with = [&](const std::string& text) {
    auto arguments = rest;
    arguments.insert(arguments.begin(), {"--prompt-ids", text});
    return run(arguments);
  };
  const ordered_json first = with(prompt);
  EXPECT_EQ(first["cached_tokens"], 0);
  // The same again: all but the last position.
  const ordered_json again = with(prompt);
  EXPECT_EQ(again["cached_tokens"], 59);
  EXPECT_EQ(again["tokens"], first["tokens"]);
  // The next turn begins with prompt and answer; the last token of an answer has no row.
  std::string turn = prompt;
  for (const int id : first["tokens"]) turn += "," + std::to_string(id);
  turn += ",5,6,7";
  const ordered_json next = with(turn);
  EXPECT_EQ(next["cached_tokens"], 69);
  EXPECT_EQ(next["tokens"], run({"--prompt-ids", turn, "--max-tokens", "10"})["tokens"]);
  // Another prompt with the same beginning.
  const std::string other = ids(1, 30) + ",9,9,9";
  const ordered_json branched = with(other);
  EXPECT_EQ(branched["cached_tokens"], 30);
  EXPECT_EQ(branched["tokens"], run({"--prompt-ids", other, "--max-tokens", "10"})["tokens"]);
}

TEST_F(CliAnswersTest, APromptCacheIsSavedThoughTheOutputIsLost) {
  const std::string program = programPath("firn") + " run " + blob + " --ignore-eos --max-tokens 20 --prompt-cache " +
                              cache + " --prompt-ids " + ids(1, 60);
  for (const char* more : {"", " --json", " --n 2 --temperature 1"}) {
    // A full disk, no output at all, a reader that has gone.
    for (const char* shell : {"@ > /dev/full; $end", "@ >&-; $end", "{ sleep 0.1; @; $end; } | true"}) {
      std::string command = shell;
      command.replace(command.find("$end"), 4, "echo code $? >&2");
      command.replace(command.find('@'), 1, program + more);
      std::filesystem::remove(cache);
      const ProgramResult result = folder.run("sh", {"-c", command});
      EXPECT_THAT(result.err,
                  testing::AllOf(HasSubstr("io: standard output could not be written"), HasSubstr("code 1\n")))
          << command;
      ASSERT_TRUE(std::filesystem::exists(cache)) << command;
      EXPECT_EQ(run({"--prompt-ids", ids(1, 60), "--max-tokens", "1", "--prompt-cache", cache})["cached_tokens"], 59)
          << command;
    }
  }
}

TEST_F(CliAnswersTest, APromptCacheOfAnotherKindIsRefusedAndKept) {
  // Of what is no session, a model even, nobody is told to remove it.
  const auto refusal = [&](const std::string& file, int exitCode) {
    const auto result = folder.run("firn", {"run", blob, "--prompt-ids", "1", "--prompt-cache", file});
    EXPECT_EQ(result.exitCode, exitCode) << file;
    EXPECT_THAT(result.err, testing::AllOf(HasSubstr(file), testing::ContainsRegex("Name a(nother)? file")));
    EXPECT_THAT(result.err, testing::Not(HasSubstr("Remove"))) << file;
  };
  for (const std::string& bytes : {std::string("no session"), std::string("x"), readFile(blob)}) {
    writeFile(cache, bytes);
    refusal(cache, 1);
    EXPECT_EQ(readFile(cache), bytes);
  }
  refusal("/dev/null", 2);
  refusal(folder.file("."), 2);
  // One of another program can go, and the difference has a name.
  std::filesystem::remove(cache);
  run({"--prompt-ids", "1,2", "--max-tokens", "1", "--prompt-cache", cache});
  const std::string other = folder.file("i8.firn");
  folder.run("firn", {"compile", "tests/data/gguf/llama.gguf", "-o", other, "--max-prompt-len", "128", "--threads", "2",
                      "--kv-type", "i8"});
  const auto result = folder.run("firn", {"run", other, "--prompt-ids", "1", "--prompt-cache", cache});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("KV type is f16, the loaded model's is i8"),
                                         HasSubstr("Remove the file, or name another")));
}

TEST_F(CliAnswersTest, AGoodSessionThatCannotBeReadIsNotToBeRemoved) {
  run({"--prompt-ids", ids(1, 60), "--max-tokens", "1", "--prompt-cache", cache});
  const std::string command =
      programPath("firn") + " run " + blob + " --prompt-ids 1,2 --max-tokens 1 --prompt-cache " + cache;
  // The blob is open, which leaves no number for the session.
  const std::string closed = "exec 3>&- 4>&- 5>&- 6>&- 7>&- 8>&- 9>&-; ulimit -n 4; exec ";
  const auto result = folder.run("sh", {"-c", closed + command});
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, HasSubstr("io: cannot open " + cache + ": Too many open files"));
  EXPECT_THAT(result.err, testing::Not(HasSubstr("Remove")));
}

TEST_F(CliAnswersTest, ASessionOfAnotherProgramIsRefusedBeforeTheCompile) {
  const auto answer = [&](const std::string& model, const std::vector<std::string>& more) {
    std::vector<std::string> arguments = {"run",          model, "--prompt-ids",   "1,2",
                                          "--max-tokens", "1",   "--prompt-cache", cache};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return folder.run("firn", arguments);
  };
  const std::string model = "tests/data/gguf/llama.gguf";
  ASSERT_EQ(answer(model, {}).exitCode, 0);
  ASSERT_EQ(folder.run("firn", {"cache", "clear"}).exitCode, 0);
  EXPECT_EQ(answer(model, {}).exitCode, 0) << "its own";
  ASSERT_EQ(folder.run("firn", {"cache", "clear"}).exitCode, 0);
  for (const auto& [other, more, difference] :
       {std::tuple(std::string("tests/data/gguf/qwen2.gguf"), std::vector<std::string>{}, "model hash"),
        {model, std::vector<std::string>{"--kv-type", "i8"}, "KV type is f16, the loaded model's is i8"},
        {model, std::vector<std::string>{"--max-prompt-len", "128"}, "number of cache rows"}}) {
    const auto result = answer(other, more);
    EXPECT_EQ(result.exitCode, 1);
    EXPECT_THAT(result.err, testing::AllOf(HasSubstr(cache), HasSubstr(difference), HasSubstr("Remove the file")));
    EXPECT_THAT(folder.cachedBlobs(), testing::IsEmpty()) << difference;
  }
}

TEST_F(CliAnswersTest, SavedRowsThatAreNoNumbersAreNotBlamedOnTheWeightsAlone) {
  const std::vector<std::string> arguments = {"run",          blob, "--prompt-ids",   ids(1, 60),
                                              "--max-tokens", "1",  "--prompt-cache", cache};
  ASSERT_EQ(folder.run("firn", arguments).exitCode, 0);
  PageBuffer file = need(PageBuffer::allocate(std::filesystem::file_size(cache)));
  const std::string bytes = readFile(cache);
  std::memcpy(file.bytes().data(), bytes.data(), bytes.size());
  const size_t rows = sizeof(engine::SnapshotHeader) + 256;        // 60 ids, and padding
  std::ranges::fill(file.bytes().subspan(rows), std::byte{0xFF});  // NaN in f16
  engine::sealSnapshot(file.bytes());
  writeFile(cache, {reinterpret_cast<const char*>(file.bytes().data()), bytes.size()});
  const ProgramResult result = folder.run("firn", arguments);
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("logits are NaN"), HasSubstr("the rows that " + cache + " has"),
                                         HasSubstr("remove it")));
}

TEST_F(CliAnswersTest, ExplainPlansWhatIsNotCached) {
  const std::vector<std::string> first = {"--prompt-ids", ids(1, 60), "--max-tokens", "1", "--prompt-cache", cache};
  run(first);
  auto arguments = first;
  arguments[1] = ids(1, 60) + ",3,4,5";
  arguments.insert(arguments.begin(), {"run", blob, "--explain"});
  const auto result = folder.run("firn", arguments);
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err, HasSubstr("plan: 3 tokens in"));
}

TEST_F(CliAnswersTest, ExplainTellsTheTimesOfEveryAnswer) {
  const auto result = folder.run("firn", {"run", blob, "--prompt-ids", ids(1, 60), "--max-tokens", "4", "--explain",
                                          "--n", "3", "--temperature", "1", "--ignore-eos"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  for (const char* answer : {"answer 1 of 3, measured: ", "answer 2 of 3, measured: ", "answer 3 of 3, measured: "}) {
    EXPECT_THAT(result.err, HasSubstr(answer));
  }
  EXPECT_THAT(result.err, HasSubstr("moved for prompt and answer together "));
}

TEST_F(CliAnswersTest, ExplainFoldsStepsOfOneKind) {
  // Chunks of 16 alone: a prompt of 128 takes 8 of them.
  const auto result = folder.run("firn", {"run", blob, "--prompt-ids", ids(1, 128), "--max-tokens", "1", "--explain",
                                          "--prefill-chunks", "16", "--contexts", "256"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_THAT(result.err, testing::ContainsRegex("plan: 128 tokens in 8 steps.*\n  prefill[.]16[.]256, rows 0 to 127, "
                                                 "x 8: predicted [^\n]*\n\nmeasured"));
}

}  // namespace
}  // namespace firn::e2e
