// What the programs read and write besides files: standard input in every state, one thing on standard output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "compiler/import/gguf_writer_for_test.h"
#include "tests/e2e/program.h"

namespace firn::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kModel = "tests/data/gguf/llama.gguf";

class CliInputTest : public testing::Test {
 protected:
  /// `firn run MODEL -` with the redirections and pipes of a shell: "PIPE | @ REDIRECTION", @ for the program.
  ProgramResult runFromShell(std::string command) const {
    const std::string program = programPath("firn") + " run " + kModel + " - --max-tokens 2 --json";
    command.replace(command.find('@'), 1, program);
    return folder.run("sh", {"-c", command});
  }

  ProgramFolder folder;
};

TEST_F(CliInputTest, APromptFromAPipeIsThatOfTheCommandLine) {
  const auto piped = nlohmann::json::parse(runFromShell("printf 'hello there' | @").out);
  const auto given =
      nlohmann::json::parse(folder.run("firn", {"run", kModel, "hello there", "--max-tokens", "2", "--json"}).out);
  EXPECT_EQ(piped["tokens"], given["tokens"]);
  EXPECT_EQ(piped["prompt_tokens"], given["prompt_tokens"]);
}

TEST_F(CliInputTest, TokenizeReadsStandardInputAsRunDoes) {
  const std::string command = programPath("firn") + " tokenize " + kModel + " - --json";
  EXPECT_EQ(folder.run("sh", {"-c", "printf 'hello there' | " + command}).out,
            folder.run("firn", {"tokenize", kModel, "hello there", "--json"}).out);
  const ProgramResult endless = folder.run("sh", {"-c", command + " < /dev/zero"});
  EXPECT_EQ(endless.exitCode, 1);
  EXPECT_THAT(endless.err, AllOf(HasSubstr("standard input has more than"), HasSubstr("in parts")));
}

TEST_F(CliInputTest, BytesWithoutATokenAreNoted) {
  const std::string model = folder.file("few.gguf");
  const import::ByteVector bytes = import::tinyLlama().bytes();  // a vocabulary of a, b and c
  writeFile(model, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"tokenize", model},
        {"tokenize", "--json", model},
        {"run", "--max-tokens", "1", model},
        {"eval", "perplexity", "--window", "4", "--kl-windows", "0", model}}) {
    for (const auto& [text, note] : {std::pair{"a\xff b", "no tokens for 2 bytes of the text; they are left out"},
                                     {"abx", "no tokens for 1 byte of the text; it is left out"},
                                     {"abc", ""}}) {
      auto arguments = command;
      arguments.emplace_back(text);
      if (command.front() == "eval") {
        arguments.back() = folder.file("text");
        writeFile(arguments.back(), std::string("cccccccc") + text);
      }
      // A compile comes before the first run, and not before the second.
      for (int i = 0; i < 2; ++i) {
        const ProgramResult result = folder.run("firn", arguments);
        EXPECT_EQ(result.exitCode, 0) << result.err;
        EXPECT_THAT(result.err, HasSubstr(note)) << text;
        const size_t at = result.err.find("no tokens for");
        EXPECT_EQ(at != std::string::npos, *note != 0) << text;
        EXPECT_EQ(result.err.rfind("no tokens for"), at) << "said twice: " << result.err;
      }
    }
  }
}

TEST_F(CliInputTest, StandardInputThatCannotBeReadIsAnError) {
  // A folder, a file opened for writing only, nothing at all: no prompt, and no file that firn opened itself.
  for (const char* command : {"@ < /", "@ 0> /dev/null", "@ <&-"}) {
    const ProgramResult result = runFromShell(command);
    EXPECT_EQ(result.exitCode, 1) << command << result.err;
    EXPECT_THAT(result.err, HasSubstr("cannot read standard input")) << command;
    EXPECT_THAT(result.out, IsEmpty());
  }
}

TEST_F(CliInputTest, EndlessInputIsRefusedAtTheLongestPrompt) {
  const ProgramResult result = runFromShell("@ < /dev/zero");
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, AllOf(HasSubstr("standard input has more than"), HasSubstr("--max-prompt-len")));
  EXPECT_LT(result.peakBytes, 256U << 20);
}

TEST_F(CliInputTest, AnInterruptEndsTheWaitForInput) {
  folder.run("firn", {"run", kModel, "hello", "--max-tokens", "1"});  // the cache has it
  const std::string program = programPath("firn") + " run " + kModel + " -";
  const std::string pipe = folder.file("pipe");
  // A pipe that stays open and says nothing. A shell without a terminal has SIGINT ignored in its background.
  const ProgramResult result = folder.run(
      "sh", {"-c", "mkfifo " + pipe + "; sleep 20 > " + pipe + " & writer=$!; " + program + " < " + pipe +
                       " & reader=$!; sleep 1; " + "kill -TERM $reader; wait $reader; echo $? >&2; kill $writer"});
  EXPECT_THAT(result.err, AllOf(HasSubstr("cancelled: stopped while standard input was read"), HasSubstr("143")));
}

TEST_F(CliInputTest, StandardOutputHoldsOneThing) {
  const ProgramResult both =
      folder.run("firn", {"compile", kModel, "-o", folder.file("x.firn"), "--print", "--json", "--stop-after", "fold"});
  EXPECT_EQ(both.exitCode, 2);
  EXPECT_THAT(both.err, AllOf(HasSubstr("--print"), HasSubstr("--json")));
  EXPECT_THAT(both.out, IsEmpty());
}

TEST_F(CliInputTest, ACompileThatWritesNothingSaysSo) {
  for (const std::vector<std::string>& more :
       {std::vector<std::string>{}, {"--quiet"}, {"--print"}, {"--json"}, {"--print", "--quiet"}}) {
    std::vector<std::string> command = {"compile", kModel, "-o", folder.file("x.firn"), "--stop-after", "fold"};
    command.insert(command.end(), more.begin(), more.end());
    const ProgramResult result = folder.run("firn", command);
    EXPECT_EQ(result.exitCode, 0);
    const bool isJson = !more.empty() && more.front() == "--json";  // which holds every note
    EXPECT_THAT(isJson ? result.out : result.err, HasSubstr("stopped after phase fold, so no file was written"))
        << testing::PrintToString(more);
  }
}

TEST_F(CliInputTest, OptionsThatChangeNothingGoodAreNoted) {
  const std::vector<std::string> run = {"run", kModel, "hello", "--max-tokens", "1"};
  const auto noted = [&](const std::vector<std::string>& more) {
    auto all = run;
    all.insert(all.end(), more.begin(), more.end());
    const ProgramResult result = folder.run("firn", all);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    return result.err;
  };
  EXPECT_THAT(noted({"--seed", "1"}), HasSubstr("firn: note: --seed changes nothing without --temperature"));
  EXPECT_THAT(noted({"--seed", "1", "--temperature", "1"}), Not(HasSubstr("--seed")));
  EXPECT_THAT(noted({"--threads", "200"}), HasSubstr("firn: note: --threads 200 is more than the"));
  EXPECT_THAT(noted({"--threads", "1"}), Not(HasSubstr("--threads")));
}

TEST_F(CliInputTest, OneIsNoPlural) {
  writeFile(folder.file("ids.json"), "[1, 2, 3, 4]");
  const std::string blob = folder.file("model.firn");
  const std::vector<std::vector<std::string>> commands = {
      {"compile", kModel, "-o", blob, "--max-prompt-len", "64", "--threads", "1"},
      {"bench", blob, "--prompt-tokens", "1", "--decode-tokens", "1", "--depth", "1", "--sessions", "1"},
      {"eval", "perplexity", kModel, "--ids", folder.file("ids.json"), "--window", "4", "--kl-windows", "1",
       "--threads", "1"},
      {"run", blob, "--prompt-ids", "1", "--max-tokens", "2", "--ignore-eos", "--explain"},
      {"cache", "list"}};
  for (const auto& command : commands) {
    const ProgramResult result = folder.run("firn", command);
    EXPECT_EQ(result.exitCode, 0) << testing::PrintToString(command) << result.err;
    EXPECT_THAT(result.out + result.err, Not(testing::ContainsRegex("(^|[^0-9.])1 [A-Za-z]+s([^a-z/]|$)")));
  }
}

TEST_F(CliInputTest, NotesOfACompileReachWhoRuns) {
  const ProgramResult result =
      folder.run("firn", {"run", kModel, "hello", "--max-tokens", "1", "--max-prompt-len", "4096"});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err, HasSubstr("note: the model was trained for"));
}

}  // namespace
}  // namespace firn::e2e
