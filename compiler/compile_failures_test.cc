// What compile() refuses, and that a failure leaves every file as it was.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "compiler/compile_for_test.h"
#include "compiler/import/gguf_writer_for_test.h"

namespace firn::compiler {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

using CompileFailuresTest = CompileTest;

TEST_F(CompileFailuresTest, BadOptionsAreNamed) {
  const auto refusal = [&](void (*change)(CompileOptions&)) {
    CompileOptions options = small(kLlama, "cpu");
    change(options);
    Status status = compile(options, nullptr);
    EXPECT_EQ(status.code(), Code::kInvalidArgument) << status.toString();
    return status.message();
  };
  EXPECT_THAT(refusal([](CompileOptions& o) { o.target = "gpu"; }),
              HasSubstr("'gpu', expected one of cpu, npu, reference"));
  EXPECT_THAT(refusal([](CompileOptions& o) { o.stopAfter = "link"; }), HasSubstr("schedule"));
  EXPECT_THAT(refusal([](CompileOptions& o) { o.outputPath.clear(); }), HasSubstr("-o"));
  EXPECT_THAT(refusal([](CompileOptions& o) { o.activationPlanes.head = 3; }), HasSubstr("3"));
  EXPECT_THAT(refusal([](CompileOptions& o) { o.prefillChunks = {65}; }), HasSubstr("--prefill-chunks"));
  EXPECT_THAT(refusal([](CompileOptions& o) { o.outputPath = kLlama; }), HasSubstr("the model file itself"));
  EXPECT_THAT(filesLeft(), ElementsAre());
}

TEST_F(CompileFailuresTest, WhatIsNoRegularFileIsNotReplaced) {
  CompileOptions options = small(kLlama, "cpu");
  ASSERT_EQ(mkfifo(options.outputPath.c_str(), 0600), 0);
  Status status = compile(options, nullptr);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("no regular file"));
  EXPECT_TRUE(fs::is_fifo(options.outputPath));
  options.outputPath = folder.string();
  EXPECT_EQ(compile(options, nullptr).code(), Code::kInvalidArgument);
}

TEST_F(CompileFailuresTest, FailureLeavesAnOlderBlobUntouched) {
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

TEST_F(CompileFailuresTest, AFolderThatDoesNotExistIsAnError) {
  CompileOptions options = small(kLlama, "cpu");
  options.outputPath = path("no/such/out.firn");
  Status status = compile(options, nullptr);
  EXPECT_FALSE(status);
  EXPECT_THAT(status.message(), HasSubstr("no/such"));
}

TEST_F(CompileFailuresTest, AModelThatChangesWhileItIsCompiledGivesNoBlob) {
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
