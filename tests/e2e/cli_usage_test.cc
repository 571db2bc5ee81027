// The command line itself: what is wrong with it is said in one form, with what to do, before anything is done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "tests/e2e/program.h"

namespace firn::e2e {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;

constexpr const char* kModel = "tests/data/gguf/llama.gguf";

using Arguments = std::vector<std::string>;

class CliUsageTest : public testing::Test {
 protected:
  std::string refused(const Arguments& arguments) const {
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_EQ(result.exitCode, 2) << testing::PrintToString(arguments) << result.err;
    return result.err;
  }
  /// The options of a command that take a value, by its --help, which writes their type behind them.
  Arguments optionsWithValue(Arguments command) const {
    command.emplace_back("--help");
    const std::string help = folder.run("firn", command).out;
    Arguments names;
    const std::regex line(R"((?:^|\n)  (?:-\w,)?(-[-\w]+) (?:TEXT|N|X)\b)");
    for (std::sregex_iterator at(help.begin(), help.end(), line), end; at != end; ++at) names.push_back((*at)[1]);
    return names;
  }

  ProgramFolder folder;
};

TEST_F(CliUsageTest, WrongUsageExitsWithTwo) {
  const std::vector<std::vector<std::string>> wrong = {
      {},
      {"frob"},
      {"run"},
      {"run", kModel},
      {"run", kModel, "text", "--prompt-ids", "1"},
      {"run", kModel, "text", "--frob"},
      {"run", kModel, "text", "-x"},
      {"run", kModel, "several", "words"},
      {"run", kModel, "text", "--json=yes"},
      {"run", kModel, "text", "--temperature", "warm"},
      {"run", kModel, "text", "--threads", "0"},
      {"run", kModel, "text", "--threads", "many"},
      {"run", kModel, "text", "--device", "abacus"},
      {"run", kModel, "text", "--max-tokens", "-1"},
      {"run", kModel, "text", "--seed", "-1"},
      {"run", kModel, "text", "--temperature", "-1"},
      {"run", kModel, "text", "--temperature", "nan"},
      {"run", kModel, "--prompt-ids", "1,x"},
      {"compile"},
      {"compile", kModel},
      {"compile", kModel, "-o", folder.file("x"), "--stop-after", "lunch"},
      {"run", kModel, "text", "--prefill-device", "abacus"},
      {"run", kModel, "text", "--decode-device", "abacus"},
      {"compile", kModel, "-o", folder.file("x"), "--device", "abacus"},
      {"compile", kModel, "-o", folder.file("x"), "--prefill-device", "abacus"},
      {"compile", kModel, "-o", folder.file("x"), "--decode-device", "abacus"},
      {"compile", kModel, "-o", folder.file("x"), "--place", "layers[0:1]"},
      {"compile", kModel, "-o", folder.file("x"), "--place", "layers[0:1]=abacus"},
      {"compile", kModel, "-o", folder.file("x"), "--place", "layers[0:77]=cpu"},
      {"compile", kModel, "-o", folder.file("x"), "--machine", "lnl"},
      {"compile", kModel, "-o", folder.file("x"), "--machine", "lnl", "--place", "layers[0:1]=reference"},
      {"run", kModel, "text", "--machine", "lnl"},
      {"bench", kModel, "--machine", "lnl", "--device", "reference"},
      {"compile", kModel, "-o", folder.file("x"), "--contexts", "99999"},
      {"compile", kModel, "-o", folder.file("x"), "--threads", "257"},
      {"bench", kModel, "--prompt-tokens", "0"},
      {"bench", kModel, "--decode-tokens", "-1"},
      {"eval", "perplexity", kModel, "/dev/null", "--window", "-1"},
      {"eval", "perplexity", kModel, "/dev/null", "--max-windows", "-1"},
      {"eval"},
      {"eval", "frob"},
      {"cache"},
      {"cache", "frob"},
      {"eval", "logits", kModel},
      {"tokenize", kModel},
      {"tokenize", kModel, "text", "more"},
      {"inspect"}};
  for (const auto& arguments : wrong) {
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_EQ(result.exitCode, 2) << testing::PrintToString(arguments) << result.err;
    EXPECT_THAT(result.err, MatchesRegex("firn( compile)?: invalid_argument: .*\n"))
        << testing::PrintToString(arguments);
    EXPECT_THAT(result.out, IsEmpty());
  }
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST_F(CliUsageTest, HelpAndVersionAreNoFailures) {
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{"--help"},
                                                    {"--version"},
                                                    {"run", "--help"},
                                                    {"compile", "--help"},
                                                    {"inspect", "--help"},
                                                    {"eval", "logits", "--help"}}) {
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_EQ(result.exitCode, 0) << testing::PrintToString(arguments);
    EXPECT_FALSE(result.out.empty());
  }
}

TEST_F(CliUsageTest, NoOptionTakesAnotherForItsValue) {
  size_t options = 0;
  for (const Arguments& command : {Arguments{"run", kModel, "text"},
                                   {"compile", kModel},
                                   {"bench", kModel},
                                   {"eval", "logits", kModel},
                                   {"eval", "perplexity", kModel}}) {
    for (const std::string& option : optionsWithValue(command)) {
      ++options;
      for (const Arguments& more :
           {Arguments{option + "=", "1"}, {option, ""}, {option, "--threads", "1"}, {option, "--"}, {option}}) {
        Arguments all = command;
        all.insert(all.end(), more.begin(), more.end());
        EXPECT_THAT(refused(all), HasSubstr(option + " needs a value")) << testing::PrintToString(all);
      }
      Arguments twice = command;
      twice.insert(twice.end(), {option, "1", option, "1"});
      EXPECT_THAT(refused(twice), HasSubstr(option + " stands twice"));
    }
  }
  EXPECT_GT(options, 40U);
  EXPECT_THAT(refused({"compile", kModel, "-o=x"}), HasSubstr("it is written -o VALUE"));
  EXPECT_THAT(folder.names(), IsEmpty());
}

TEST_F(CliUsageTest, ARefusalNamesWhatWasFoundAndWhereHelpIs) {
  const std::vector<std::pair<Arguments, std::string>> cases = {
      {{}, "a command is missing; the commands are run, compile,.*firn --help"},
      {{"ru", kModel}, "no command 'ru'; the commands are run, compile,.*firn --help"},
      {{"eval", "x"}, "no command 'x'; the commands are logits, perplexity. firn eval --help"},
      {{"run"}, "model is missing. firn run --help"},
      {{"run", kModel, "a", "b"}, "found 'b'.*quotes. firn run --help"},
      {{"run", kModel, "--", "-a", "b"}, "found 'b'.*quotes. firn run --help"},
      {{"run", kModel, "--", "-a", "--max-tokens", "2"}, "found '--max-tokens'.*before --. firn run --help"},
      {{"run", kModel, "--frob"}, "no option '--frob'.*firn run --help"},
      {{"run", kModel, "a", "--device", "tpu"}, "--device: found 'tpu', expected one of: cpu.*firn run --help"},
      {{"compile", kModel, "--frob"}, "firn compile: .*no option '--frob'.*firn compile --help"}};
  for (const auto& [arguments, message] : cases) {
    EXPECT_THAT(refused(arguments), MatchesRegex(".*" + message + ".*\n")) << testing::PrintToString(arguments);
  }
}

TEST_F(CliUsageTest, ATextThatBeginsWithAMinusStandsBehindTwo) {
  const ProgramResult result = folder.run("firn", {"tokenize", "--json", kModel, "--", "--json"});
  EXPECT_EQ(result.exitCode, 0) << result.err;
  EXPECT_EQ(result.out, folder.run("firn", {"tokenize", kModel, "--json", "--", "--json"}).out);
}

TEST_F(CliUsageTest, ATextThatCannotBeAnOptionIsAText) {
  for (const char* text : {"- a list", "-\na", "-!", "---", "--- a", "--!x", "-- x"}) {
    const ProgramResult behind = folder.run("firn", {"tokenize", kModel, "--", text});
    EXPECT_EQ(behind.exitCode, 0) << behind.err;
    EXPECT_FALSE(behind.out.empty());
    const ProgramResult result = folder.run("firn", {"tokenize", kModel, text});
    EXPECT_EQ(result.exitCode, 0) << text << ": " << result.err;
    EXPECT_EQ(result.out, behind.out) << text;
  }
  EXPECT_EQ(folder.run("firn", {"run", kModel, "- a list", "--max-tokens", "1"}).exitCode, 0);
}

TEST_F(CliUsageTest, HelpOfCompileSpeaksOfFirn) {
  EXPECT_THAT(folder.run("firn", {"compile", "--help"}).out, HasSubstr("Usage: firn compile [OPTIONS] MODEL"));
  EXPECT_THAT(folder.run("firn-compile", {"--help"}).out, HasSubstr("Usage: firn-compile [OPTIONS] MODEL"));
}

}  // namespace
}  // namespace firn::e2e
