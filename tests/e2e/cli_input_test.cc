// What the programs read and write besides files: standard input in every state, one thing on standard output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "tests/e2e/program.h"

namespace firn::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

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
  // A pipe that stays open and says nothing.
  const ProgramResult result = folder.run(
      "sh", {"-c", "mkfifo " + pipe + "; sleep 20 > " + pipe + " & writer=$!; " + program + " < " + pipe +
                       " & reader=$!; sleep 1; " + "kill -INT $reader; wait $reader; echo $? >&2; kill $writer"});
  EXPECT_THAT(result.err, AllOf(HasSubstr("cancelled: stopped while standard input was read"), HasSubstr("130")));
}

TEST_F(CliInputTest, StandardOutputHoldsOneThing) {
  const ProgramResult both =
      folder.run("firn", {"compile", kModel, "-o", folder.file("x.firn"), "--print", "--json", "--stop-after", "fold"});
  EXPECT_EQ(both.exitCode, 2);
  EXPECT_THAT(both.err, AllOf(HasSubstr("--print"), HasSubstr("--json")));
  EXPECT_THAT(both.out, IsEmpty());
}

TEST_F(CliInputTest, ACompileThatWritesNothingSaysSo) {
  const ProgramResult result =
      folder.run("firn", {"compile", kModel, "-o", folder.file("x.firn"), "--stop-after", "fold"});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err, HasSubstr("stopped after phase fold, so no file was written"));
}

TEST_F(CliInputTest, NotesOfACompileReachWhoRuns) {
  const ProgramResult result =
      folder.run("firn", {"run", kModel, "hello", "--max-tokens", "1", "--max-prompt-len", "4096"});
  EXPECT_EQ(result.exitCode, 0);
  EXPECT_THAT(result.err, HasSubstr("note: the model was trained for"));
}

}  // namespace
}  // namespace firn::e2e
