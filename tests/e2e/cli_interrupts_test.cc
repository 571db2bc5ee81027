// The programs interrupted, killed, or robbed of a file while they work: exit codes, messages, and nothing left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include <nlohmann/json.hpp>

#include "blob/reader.h"
#include "tests/e2e/program.h"

namespace firn::e2e {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

constexpr const char* kModel = "tests/data/gguf/llama.gguf";

class CliInterruptsTest : public testing::Test {
 protected:
  /// Starts an answer without end from a new blob, with `more` arguments, and waits for its first text.
  pid_t startEndlessRun(const std::vector<std::string>& more = {}) const {
    const std::string blob = folder.file("model.firn");
    const ProgramResult compiled =
        folder.run("firn", {"compile", kModel, "-o", blob, "--max-prompt-len", "64", "--threads", "2"});
    EXPECT_EQ(compiled.exitCode, 0) << compiled.err;
    std::vector<std::string> arguments = {"run", blob, "hello", "--ignore-eos", "--context-shift"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const pid_t process = folder.start("firn", arguments);
    folder.waitUntil(process, [this] { return !folder.outputSoFar().empty(); });
    return process;
  }

  ProgramFolder folder;
};

/// Whether `process` would be told of a SIGINT, by /proc/PID/status.
bool catchesInterrupt(pid_t process) {
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("SigCgt:")) return (std::stoull(line.substr(7), nullptr, 16) & (1ULL << (SIGINT - 1))) != 0;
  }
  return false;
}

TEST_F(CliInterruptsTest, WaitingForAProgramThatHasEndedEnds) {
  const pid_t process = folder.start("firn", {"run", "absent.gguf", "hello"});
  try {
    folder.waitUntil(process, [] { return false; });
    FAIL() << "it came back without what it waited for";
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(error.what(), HasSubstr("absent.gguf")) << "what the program said";
  }
  EXPECT_EQ(folder.finish(process).exitCode, 1);
}

TEST_F(CliInterruptsTest, AnInterruptedCompileLeavesNothing) {
  // Large enough to be interrupted: many lanes and sizes make a second of work of a small model.
  const std::vector<std::string> arguments = {"tests/data/quant/q8_0.gguf",
                                              "-o",
                                              folder.file("x.firn"),
                                              "--threads",
                                              "256",
                                              "--max-prompt-len",
                                              "4096",
                                              "--prefill-chunks",
                                              "64,128,192,256,320,384,448,512,1024,2048,4096"};
  for (const int delayMs : {0, 150}) {
    const int signal = delayMs == 0 ? SIGINT : SIGTERM;
    const pid_t process = folder.start("firn-compile", arguments);
    folder.waitUntil(process, [process] { return catchesInterrupt(process); });
    std::this_thread::sleep_for(std::chrono::milliseconds(delayMs));
    ASSERT_EQ(kill(process, signal), 0);
    const ProgramResult result = folder.finish(process);
    EXPECT_EQ(result.exitCode, 128 + signal) << delayMs << " ms; " << result.err;
    EXPECT_THAT(folder.names(), IsEmpty());
  }
}

TEST_F(CliInterruptsTest, AnInterruptOfTheCompileThatARunNeedsEndsBoth) {
  // To firn alone, as `kill` does; firn-compile is told by it.
  for (const int signal : {SIGINT, SIGTERM}) {
    const pid_t process = folder.start(
        "firn", {"run", "tests/data/quant/q8_0.gguf", "--prompt-ids", "1", "--threads", "256", "--max-prompt-len",
                 "4096", "--prefill-chunks", "64,128,192,256,320,384,448,512,1024,2048,4096"});
    folder.waitUntil(process, [process] { return catchesInterrupt(process); });
    std::this_thread::sleep_for(std::chrono::milliseconds(signal == SIGINT ? 0 : 60));
    ASSERT_EQ(kill(process, signal), 0);
    const ProgramResult result = folder.finish(process);
    EXPECT_EQ(result.exitCode, 128 + signal) << result.err;
    EXPECT_THAT(result.err, HasSubstr("cancelled"));
    EXPECT_THAT(folder.cachedBlobs(), IsEmpty());
  }
}

TEST_F(CliInterruptsTest, AnInterruptedAnswerEndsItsLine) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    const pid_t process = startEndlessRun();
    ASSERT_EQ(kill(process, signal), 0);
    const ProgramResult result = folder.finish(process);
    EXPECT_EQ(result.exitCode, 128 + signal);
    EXPECT_THAT(result.out, testing::EndsWith("\n"));
    EXPECT_THAT(result.err, HasSubstr("firn: cancelled: generation was stopped after"));
  }
}

TEST_F(CliInterruptsTest, WhatTheParentIgnoresIsIgnored) {
  const std::string blob = folder.file("model.firn");
  ASSERT_EQ(folder.run("firn", {"compile", kModel, "-o", blob, "--max-prompt-len", "64"}).exitCode, 0);
  const std::string answer = programPath("firn") + " run " + blob + " hello --ignore-eos --context-shift";
  const pid_t process = folder.start("sh", {"-c", "trap '' INT TERM HUP; exec " + answer});
  folder.waitUntil(process, [this] { return !folder.outputSoFar().empty(); });
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ASSERT_EQ(kill(process, signal), 0);
  const size_t before = folder.outputSoFar().size();
  folder.waitUntil(process, [&] { return folder.outputSoFar().size() > before + 100; });
  ASSERT_EQ(kill(process, SIGKILL), 0);
  EXPECT_EQ(folder.finish(process).exitCode, 128 + SIGKILL);
}

TEST_F(CliInterruptsTest, AnInterruptedAnswerIsSavedUpToItsLastStep) {
  const std::string cache = folder.file("session");
  const pid_t process = startEndlessRun({"--prompt-cache", cache});
  ASSERT_EQ(kill(process, SIGINT), 0);
  EXPECT_EQ(folder.finish(process).exitCode, 130);
  // A run that begins with the same text has its rows.
  const ProgramResult next = folder.run("firn", {"run", folder.file("model.firn"), "hello there", "--max-tokens", "1",
                                                 "--json", "--prompt-cache", cache});
  EXPECT_EQ(next.exitCode, 0) << next.err;
  EXPECT_GT(nlohmann::json::parse(next.out)["cached_tokens"], 0);
}

TEST_F(CliInterruptsTest, AnInterruptedPromptLeavesTheLongerSessionThatWasSaved) {
  const std::string blob = folder.file("model.firn");
  const std::string cache = folder.file("session");
  ASSERT_EQ(folder.run("firn", {"compile", kModel, "-o", blob, "--max-prompt-len", "64", "--threads", "1"}).exitCode,
            0);
  const std::vector<std::string> saved = {"run", blob,     "--prompt-ids", "1,2,3,4,5,6,7,8", "--prompt-cache",
                                          cache, "--json", "--explain",    "--ignore-eos",    "--max-tokens",
                                          "20"};
  ASSERT_EQ(folder.run("firn", saved).exitCode, 0);
  const std::string before = readFile(cache);
  // Another prompt with the same beginning: what is behind it is dropped before anything is computed.
  std::vector<std::string> other = saved;
  other[3] = "1,2,3,9,9,9";
  other.back() = "1000000000";
  other.emplace_back("--context-shift");
  for (int tries = 0;; ++tries) {
    ASSERT_LT(tries, 50) << "never interrupted before its first token";
    const pid_t process = folder.start("firn", other);
    folder.waitUntil(process, [&] { return catchesInterrupt(process); });
    ASSERT_EQ(kill(process, SIGINT), 0);
    const ProgramResult result = folder.finish(process);
    ASSERT_EQ(result.exitCode, 130) << result.err;
    if (nlohmann::json::parse(result.out)["completion_tokens"] == 0) break;
    writeFile(cache, before);
  }
  EXPECT_EQ(readFile(cache), before);
}

TEST_F(CliInterruptsTest, AnInterruptedRunPrintsItsJson) {
  const std::string blob = folder.file("model.firn");
  ASSERT_EQ(folder.run("firn", {"compile", kModel, "-o", blob, "--max-prompt-len", "64", "--threads", "1"}).exitCode,
            0);
  struct Case {
    const char* answers;
    const char* maxTokens;
    bool endsInFirst;
  };
  // The form is that of the answers asked for, however many came.
  for (const Case& item : {Case{"1", "1000000000", true}, {"3", "1000000000", true}, {"1000000", "3", false}}) {
    const bool isList = item.answers != std::string_view("1");
    const pid_t process =
        folder.start("firn", {"run", blob, "hello", "--ignore-eos", "--context-shift", "--json", "--explain", "--n",
                              item.answers, "--temperature", "1", "--max-tokens", item.maxTokens});
    folder.waitUntil(process, [&] { return catchesInterrupt(process); });
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    ASSERT_EQ(kill(process, SIGINT), 0);
    const ProgramResult result = folder.finish(process);
    EXPECT_EQ(result.exitCode, 130);
    EXPECT_THAT(result.err, HasSubstr("firn: cancelled: generation was stopped after"));
    const auto object = nlohmann::json::parse(result.out);
    ASSERT_EQ(object.contains("choices"), isList);
    if (isList && item.endsInFirst) {
      EXPECT_EQ(object["choices"].size(), 1U);
      EXPECT_THAT(result.err, HasSubstr("answer 1 of 3, measured: "));
    }
    const auto& last = isList ? object["choices"].back() : object;
    EXPECT_EQ(last["finish_reason"], "interrupted");
    EXPECT_EQ(last["completion_tokens"], last["tokens"].size());
    EXPECT_GT(object["prompt_tokens"], 0);
  }
}

TEST_F(CliInterruptsTest, WhatAKilledWriterLeftIsRemovedByTheNext) {
  // Temporary files that nobody has locked: a killed process's. Files of other names are none of ours.
  const auto litter = [](const std::string& at) { writeFile(at + "/.firn.99999999.0.tmp", "part"); };
  folder.run("firn", {"run", kModel, "hello", "--max-tokens", "1"});
  const std::string cache = std::filesystem::path(folder.cachedBlobs().front()).parent_path().string();
  const std::string here = std::filesystem::path(folder.file("x")).parent_path().string();
  writeFile(folder.file(".firn.notes.tmp"), "mine");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"cache", "list"},
        {"cache", "clear"},
        {"run", kModel, "hello", "--max-tokens", "1"},                  // compiles
        {"run", kModel, "hello", "--contexts", "99999"},                // a compile that fails
        {"run", "tests/data/quant/q8_0.gguf", "--prompt-ids", "1"}}) {  // another compile
    litter(cache);
    folder.run("firn", command);
    for (const std::string& path : folder.cachedBlobs()) {
      EXPECT_THAT(path, testing::EndsWith(".firn")) << testing::PrintToString(command);
    }
  }
  litter(here);
  EXPECT_EQ(folder.run("firn", {"compile", kModel, "-o", folder.file("x.firn")}).exitCode, 0);
  EXPECT_THAT(folder.names(), testing::UnorderedElementsAre("x.firn", ".firn.notes.tmp"));
}

TEST_F(CliInterruptsTest, ACompileThatTheSystemEndsIsNamed) {
  // Many lanes and sizes make a second of work.
  const pid_t process = folder.start(
      "firn", {"run", "tests/data/quant/q8_0.gguf", "--prompt-ids", "1", "--threads", "256", "--max-prompt-len", "4096",
               "--prefill-chunks", "64,128,192,256,320,384,448,512,1024,2048,4096"});
  const std::string id = std::to_string(process);
  std::string child;
  folder.waitUntil(process, [&] {
    std::ifstream("/proc/" + id + "/task/" + id + "/children") >> child;
    return !child.empty();
  });
  ASSERT_EQ(kill(std::stoi(child), SIGKILL), 0);
  const ProgramResult result = folder.finish(process);
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err, testing::AllOf(HasSubstr("firn: resource_exhausted: firn-compile was ended by signal 9"),
                                         HasSubstr("ran out of memory"), HasSubstr("--max-prompt-len")));
  EXPECT_THAT(folder.cachedBlobs(), IsEmpty());
}

TEST_F(CliInterruptsTest, AModelCutShortWhileItRunsIsNamed) {
  const pid_t process = startEndlessRun();
  std::filesystem::resize_file(folder.file("model.firn"), 4096);
  const ProgramResult result = folder.finish(process);
  EXPECT_EQ(result.exitCode, 1);
  EXPECT_THAT(result.err,
              testing::AllOf(HasSubstr("firn: io: "), HasSubstr("model.firn lost bytes while it was in use")));
}

TEST_F(CliInterruptsTest, AModelCutShortWhileItIsCompiledLeavesNothing) {
  const std::string model = folder.file("model.gguf");
  std::filesystem::copy_file("tests/data/quant/q8_0.gguf", model);
  const pid_t process = folder.start("firn", {"compile", model, "-o", folder.file("x.firn"), "--threads", "256"});
  // Its weights are read last: the blob has begun.
  folder.waitUntil(process, [&] {
    for (const std::string& name : folder.names()) {
      std::error_code gone;
      const auto bytes = std::filesystem::file_size(folder.file(name), gone);
      if (name.ends_with(".tmp") && !gone && bytes > 0) return true;
    }
    return false;
  });
  std::filesystem::resize_file(model, 4096);
  const ProgramResult result = folder.finish(process);
  EXPECT_EQ(result.exitCode, 1) << result.err;
  EXPECT_THAT(result.err, HasSubstr("model.gguf"));
  EXPECT_THAT(folder.names(), testing::ElementsAre("model.gguf"));
}

TEST_F(CliInterruptsTest, AKilledCompileLeavesNoFileOfThatName) {
  for (int delayMs = 5; delayMs <= 80; delayMs += 15) {
    const std::string blob = folder.file("x.firn");
    const pid_t process = folder.start("firn-compile", {"tests/data/quant/q8_0.gguf", "-o", blob, "--threads", "2"});
    std::this_thread::sleep_for(std::chrono::milliseconds(delayMs));
    kill(process, SIGKILL);
    folder.finish(process);
    if (!std::filesystem::exists(blob)) continue;
    EXPECT_TRUE(blob::Blob::open(blob).isOk()) << "a part of a blob after " << delayMs << " ms";
    std::filesystem::remove(blob);
  }
}

}  // namespace
}  // namespace firn::e2e
