// firn cache: what is in it, and how single models leave it.
#include <sys/stat.h>

#include <filesystem>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/atomic_file.h"
#include "tests/e2e/program.h"

namespace firn::e2e {
namespace {

using nlohmann::ordered_json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kModel = "tests/data/gguf/llama.gguf";

class CliCacheTest : public testing::Test {
 protected:
  std::string firn(const std::vector<std::string>& arguments) const {
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_EQ(result.exitCode, 0) << testing::PrintToString(arguments) << result.err;
    return result.out;
  }
  ordered_json entries() const { return ordered_json::parse(firn({"cache", "list", "--json"}))["entries"]; }
  /// Compiles the model into the cache with `more` arguments.
  void fill(const std::vector<std::string>& more, const std::string& model = kModel) const {
    std::vector<std::string> run = {"run", model, "--prompt-ids", "1", "--max-tokens", "1"};
    run.insert(run.end(), more.begin(), more.end());
    firn(run);
  }

  ProgramFolder folder;
};

TEST_F(CliCacheTest, ListTellsWhatEachModelWasCompiledFor) {
  EXPECT_TRUE(entries().empty());
  fill({"--max-prompt-len", "64", "--kv-type", "i8"});
  fill({"--max-prompt-len", "128", "--contexts", "64,128", "--prefill-chunks", "64", "--threads", "2"});
  firn({"bench", kModel, "--prompt-tokens", "4", "--decode-tokens", "1", "--sessions", "3", "--threads", "2"});
  const ordered_json all = ordered_json::parse(firn({"cache", "list", "--json"}));
  EXPECT_EQ(all["limit_bytes"], 20'000'000'000);
  ASSERT_EQ(all["entries"].size(), 3U);
  // Most recently used first.
  const ordered_json& batched = all["entries"][0];
  const ordered_json& last = all["entries"][1];
  const ordered_json& first = all["entries"][2];
  uint64_t bytes = 0;
  for (const ordered_json& entry : all["entries"]) bytes += entry["bytes"].get<uint64_t>();
  EXPECT_EQ(all["bytes"], bytes);
  EXPECT_EQ(last["bytes"], std::filesystem::file_size(last["path"].get<std::string>()));
  EXPECT_GE(last["age_s"], 0);
  EXPECT_LT(last["age_s"], 3600);
  EXPECT_EQ(last["model"], "Llama");
  EXPECT_EQ(last["device"], "cpu");
  EXPECT_EQ(last["threads"], 2);
  EXPECT_EQ(last["prefill_chunks"], (std::vector<int>{16, 64}));
  EXPECT_EQ(last["contexts"], (std::vector<int>{64, 128, 256}));
  EXPECT_EQ(last["batch"], std::vector<int>{});
  EXPECT_EQ(batched["batch"], (std::vector<int>{2, 4}));
  EXPECT_EQ(last["kv_type"], "f16");
  EXPECT_EQ(first["kv_type"], "i8");
  const std::string text = firn({"cache", "list"});
  EXPECT_THAT(text, AllOf(HasSubstr("contexts 64,128,256, batch none, KV f16 "), HasSubstr("batch 2,4, KV f16 "),
                          HasSubstr("batch none, KV i8 "), HasSubstr("just now"), HasSubstr("in 3 files")));
}

TEST_F(CliCacheTest, APlaceIsShown) {
  fill({"--prefill-device", "reference", "--place", "layers[1:]=cpu"});
  const ordered_json entry = entries()[0];
  EXPECT_EQ(entry["device"], "cpu and reference");
  ASSERT_EQ(entry["placement"].size(), 3U);  // prefill, generate, head
  EXPECT_THAT(entry["placement"][0]["entries"][0].get<std::string>(), testing::StartsWith("prefill.16."));
  EXPECT_EQ(entry["placement"][0]["parts"][0]["device"], "reference");
  EXPECT_EQ(entry["placement"][0]["parts"][0]["contents"], "input, layer 0");
  EXPECT_THAT(entry["placement"][0]["parts"][0]["reason"].get<std::string>(), HasSubstr("--prefill-device reference"));
  EXPECT_EQ(entry["placement"][0]["parts"][1]["device"], "cpu");
  EXPECT_THAT(firn({"cache", "list"}),
              HasSubstr("; prefill on reference (input, layer 0) and cpu (layers 1 to 2), generate and head on cpu\n"));
  // A compile tells the same.
  const ordered_json compiled =
      ordered_json::parse(firn({"compile", kModel, "-o", folder.file("x.firn"), "--prefill-device", "reference",
                                "--place", "layers[1:]=cpu", "--json"}));
  EXPECT_EQ(compiled["device"], entry["device"]);
  EXPECT_EQ(compiled["placement"], entry["placement"]);
}

TEST_F(CliCacheTest, AnUnfinishedFileIsSaidToBeThat) {
  fill({});
  const std::string path = folder.cachedBlobs().front();
  writeFile(path, readFile(path).substr(0, 5000));
  EXPECT_THAT(firn({"cache", "list"}), HasSubstr("(no finished blob)"));
  EXPECT_EQ(entries()[0]["finished"], false);
}

TEST_F(CliCacheTest, WhatStandsInPlaceOfABlobMakesWayForIt) {
  namespace fs = std::filesystem;
  fill({});
  const fs::path path = folder.cachedBlobs().front();
  const fs::path elsewhere = folder.file("elsewhere.firn");
  fs::rename(path, elsewhere);
  const std::pair<const char*, std::function<void()>> things[] = {
      {"a folder", [&] { fs::create_directory(path); }},
      {"a pipe", [&] { ASSERT_EQ(mkfifo(path.c_str(), 0600), 0); }},
      {"a link to nothing", [&] { fs::create_symlink(folder.file("nothing"), path); }},
      {"a link to itself", [&] { fs::create_symlink(path.filename(), path); }}};
  for (const auto& [what, make] : things) {
    for (const char* command : {"run", "clear"}) {
      make();
      EXPECT_EQ(entries().size(), 1U) << what;
      EXPECT_EQ(entries()[0]["finished"], false) << what;
      EXPECT_THAT(firn({"cache", "list"}), testing::Not(HasSubstr("(no finished blob)"))) << what;
      if (*command == 'r') {
        fill({});
        EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(path))) << what;
      } else {
        EXPECT_EQ(firn({"cache", "clear"}), "freed 0.0 MB in " + path.parent_path().string() + "\n") << what;
      }
      EXPECT_EQ(fs::exists(fs::symlink_status(path)), *command == 'r') << what;
      fs::remove(path);
    }
  }
  EXPECT_FALSE(fs::exists(folder.file("nothing")));
  // A link to a blob is used; removing it frees nothing.
  fs::create_symlink(elsewhere, path);
  EXPECT_EQ(entries()[0]["finished"], true);
  EXPECT_THAT(firn({"cache", "clear"}), testing::StartsWith("freed 0.0 MB in "));
  EXPECT_TRUE(fs::exists(elsewhere));
  // A folder with something in it may be anybody's: it stays, and the rest goes.
  fs::create_directories(path / "mine");
  const fs::path other = path.parent_path() / "other.firn";
  fs::create_directories(other / "mine");
  fill({"--kv-type", "i8"});
  const ProgramResult cleared = folder.run("firn", {"cache", "clear"});
  EXPECT_EQ(cleared.exitCode, 1);
  EXPECT_THAT(cleared.err,
              AllOf(HasSubstr("io: cannot remove "), HasSubstr(path.string() + ": Directory not empty"),
                    HasSubstr(other.string() + ": Directory not empty"), HasSubstr("Remove it yourself"),
                    HasSubstr("Nothing else is left of what was to go: freed "), Not(HasSubstr("freed 0.0 MB"))));
  EXPECT_TRUE(folder.cachedBlobs().empty());
  const ProgramResult run = folder.run("firn", {"run", kModel, "--prompt-ids", "1", "--max-tokens", "1"});
  EXPECT_EQ(run.exitCode, 1);
  EXPECT_THAT(run.err, AllOf(HasSubstr("io: cannot remove " + path.string()), HasSubstr("not empty. Move it away")));
}

TEST_F(CliCacheTest, ABlobOfAnotherModelUnderTheNameIsCompiledAnew) {
  fill({}, "tests/data/gguf/qwen2.gguf");
  const std::string other = readFile(folder.cachedBlobs().front());
  firn({"cache", "clear"});
  fill({});
  const std::string path = folder.cachedBlobs().front();
  const std::string own = readFile(path);
  for (const std::string& command : {"run", "bench", "profile"}) {
    std::filesystem::remove(path);  // it may be mapped
    writeFile(path, other);
    std::vector<std::string> arguments = {command, kModel};
    if (command != "bench") arguments.insert(arguments.end(), {"--prompt-ids", "1", "--max-tokens", "1"});
    const ProgramResult result = folder.run("firn", arguments);
    EXPECT_EQ(result.exitCode, 0) << result.err;
    EXPECT_TRUE(readFile(path) == own) << command;
  }
  firn({"cache", "clear"});
  firn({"simulate", "tests/data/gguf/qwen2.gguf", "--prompt", "8", "--decode", "1"});
  const std::string simulated = readFile(folder.cachedBlobs().front());
  firn({"cache", "clear"});
  const std::string said = firn({"simulate", kModel, "--prompt", "8", "--decode", "1", "--json"});
  const std::string place = folder.cachedBlobs().front();
  std::filesystem::remove(place);
  writeFile(place, simulated);
  const auto again = ordered_json::parse(firn({"simulate", kModel, "--prompt", "8", "--decode", "1", "--json"}));
  EXPECT_EQ(again["prefill_tok_s"], ordered_json::parse(said)["prefill_tok_s"]);
}

TEST_F(CliCacheTest, ACacheHomeThatIsIgnoredIsSaidSo) {
  const std::string home = folder.file("home");
  const std::string start = "HOME=" + home + " XDG_CACHE_HOME=here " + programPath("firn");
  for (const std::string& command :
       {" run " + std::string(kModel) + " hello --max-tokens 1", std::string(" cache list"),
        std::string(" cache remove llama"), std::string(" cache clear")}) {
    const ProgramResult result = folder.run("sh", {"-c", start + command});
    EXPECT_THAT(result.err, AllOf(HasSubstr("firn: note: XDG_CACHE_HOME is 'here', no absolute path"),
                                  HasSubstr("the cache is " + home + "/.cache/firn/blobs")))
        << command;
  }
  writeFile(folder.file("ids.json"), "[1, 2, 3, 4]");
  const ProgramResult twoModels =
      folder.run("sh", {"-c", start + " eval perplexity " + kModel + " --window 4 --ids " + folder.file("ids.json")});
  EXPECT_EQ(twoModels.exitCode, 0) << twoModels.err;
  const size_t note = twoModels.err.find("firn: note: XDG_CACHE_HOME");
  EXPECT_NE(note, std::string::npos);
  EXPECT_EQ(twoModels.err.find("firn: note: XDG_CACHE_HOME", note + 1), std::string::npos)
      << "the reference is another";
  EXPECT_FALSE(std::filesystem::exists("here"));
  const ProgramResult empty =
      folder.run("sh", {"-c", "XDG_CACHE_HOME= HOME=" + home + " " + programPath("firn") + " cache list"});
  EXPECT_EQ(empty.err, "") << "as if it were not set";
}

TEST_F(CliCacheTest, AMachineAndAbsentWeightsAreShown) {
  firn({"simulate", kModel, "--machine", "ptl", "--prompt", "8", "--decode", "1"});
  EXPECT_EQ(entries()[0]["machine"], "ptl");
  EXPECT_EQ(entries()[0]["weights"], "none");
  EXPECT_THAT(firn({"cache", "list"}), HasSubstr(", npu (machine ptl), no weights, "));
  firn({"cache", "clear"});
  fill({});
  EXPECT_FALSE(entries()[0].contains("machine"));
  EXPECT_EQ(entries()[0]["weights"], "blob");
  EXPECT_THAT(firn({"cache", "list"}), testing::Not(testing::AnyOf(HasSubstr("machine"), HasSubstr("weights"))));
}

TEST_F(CliCacheTest, AFolderThatCannotBeMadeHoldsNothing) {
  const std::string program = "XDG_CACHE_HOME=/proc/nowhere " + programPath("firn");
  for (const auto& [command, said] : {std::pair{" cache list", "in 0 files"}, {" cache clear", "freed 0.0 MB"}}) {
    const ProgramResult result = folder.run("sh", {"-c", program + command});
    EXPECT_EQ(result.exitCode, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr(said));
  }
  const ProgramResult run = folder.run("sh", {"-c", program + " run " + kModel + " hello"});
  EXPECT_EQ(run.exitCode, 1);
  EXPECT_THAT(run.err, HasSubstr("cannot make the cache folder"));
}

TEST_F(CliCacheTest, OneModelIsRemovedByItsNameOrTheBeginningOfItsFile) {
  fill({});
  fill({"--kv-type", "i8"});
  fill({"--device", "reference", "--threads", "1"}, "tests/data/gguf/qwen2.gguf");
  ASSERT_EQ(folder.cachedBlobs().size(), 3U);
  const auto fileName = [&](size_t i) {
    return std::filesystem::path(entries()[i]["path"].get<std::string>()).filename().string();
  };
  // Nothing goes when one of the names means nothing.
  const std::string some = fileName(0).substr(0, 12);
  const ProgramResult unknown = folder.run("firn", {"cache", "remove", some, "no-such"});
  EXPECT_EQ(unknown.exitCode, 1);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr("not_found"), HasSubstr("'no-such'"), HasSubstr("firn cache list")));
  EXPECT_EQ(folder.run("firn", {"cache", "remove", ""}).exitCode, 1);
  EXPECT_EQ(folder.run("firn", {"cache", "remove"}).exitCode, 2);
  ASSERT_EQ(folder.cachedBlobs().size(), 3U);

  // Beginning and path of one file: it goes once.
  EXPECT_THAT(firn({"cache", "remove", some, entries()[0]["path"]}), AllOf(HasSubstr(some), HasSubstr("freed ")));
  ASSERT_EQ(folder.cachedBlobs().size(), 2U);
  for (const ordered_json& entry : entries()) EXPECT_EQ(entry["model"], "Llama");
  // A name means all of the model.
  firn({"cache", "remove", "Llama"});
  EXPECT_TRUE(folder.cachedBlobs().empty());
}

TEST_F(CliCacheTest, AFileThatACompileIsWritingIsNotRemoved) {
  fill({});
  const std::string path = folder.cachedBlobs().front();
  auto writing = AtomicFile::create(std::filesystem::path(path).parent_path() / "new.firn");
  ASSERT_TRUE(writing.isOk()) << writing.status().toString();
  for (const ordered_json& entry : entries()) {
    const std::string temporary = entry["path"];
    if (temporary == path) continue;
    const std::string name = std::filesystem::path(temporary).filename();
    for (const std::string& named : {temporary, name, name.substr(0, 6)}) {
      const ProgramResult result = folder.run("firn", {"cache", "remove", path, named});
      EXPECT_EQ(result.exitCode, 1) << result.err;
      EXPECT_THAT(result.err, AllOf(HasSubstr("unavailable: "), HasSubstr(name), HasSubstr("a compile is writing it")));
      EXPECT_EQ(result.out, "");
    }
  }
  EXPECT_EQ(entries().size(), 2U) << "nothing goes when one of the names cannot";
  firn({"cache", "clear"});
  EXPECT_EQ(entries().size(), 1U);
  EXPECT_TRUE(writing->commit().isOk());
}

TEST_F(CliCacheTest, ABeginningThatSeveralHaveIsRefused) {
  fill({});
  const std::string path = folder.cachedBlobs().front();
  const std::string name = std::filesystem::path(path).filename().string();
  std::filesystem::copy_file(path, path.substr(0, path.size() - name.size()) + name.substr(0, 8) + "x.firn");
  const ProgramResult refused = folder.run("firn", {"cache", "remove", name.substr(0, 8)});
  EXPECT_EQ(refused.exitCode, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("2 files"), HasSubstr(name)));
  EXPECT_EQ(folder.cachedBlobs().size(), 2U);
  firn({"cache", "remove", name.substr(0, 9)});
  EXPECT_EQ(folder.cachedBlobs().size(), 1U);
}

}  // namespace
}  // namespace firn::e2e
