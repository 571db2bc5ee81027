// Memory of a long answer and of many: no allocation while decoding, and none that stays. This program counts every
// allocation that it makes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/allocation_counter_for_test.h"
#include "genai/pipeline.h"
#include "tests/e2e/compiled_model.h"
#include "tests/e2e/resident_pages.h"
#include "tools/engine_adapter.h"

namespace firn::e2e {
namespace {

constexpr uint32_t kVocab = 512;
constexpr uint32_t kSteps = 1000;

/// Page faults of this process so far, those that read a file included.
long pageFaults() {
  rusage usage = {};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return -1;
  return usage.ru_minflt + usage.ru_majflt;
}

class MemoryTest : public testing::TestWithParam<std::string> {
 protected:
  /// Rows for a prompt of 64 and 1024 steps, in several contexts.
  static compiler::CompileOptions compile() {
    compiler::CompileOptions options = smallCompile(GetParam());
    options.maxPromptTokens = 64;
    options.minResponseTokens = 1024;
    options.prefillChunks = {};
    options.contexts = {128, 256, 512, 1024};
    return options;
  }

  /// A thousand steps from `ids`.
  bool steps() {
    bool ok = true;
    for (uint32_t i = 0; i < kSteps; ++i) ok = session->decode(ids[i]).isOk() && ok;
    return ok;
  }

  bool startAgain() { return session->rewind(0).isOk() && session->prefill(prompt).isOk(); }

  SessionPtr session = openSession(compile());
  const std::vector<int32_t> prompt = someIds(60, kVocab);
  const std::vector<int32_t> ids = someIds(kSteps, kVocab, 2);
};

TEST_P(MemoryTest, ThousandStepsAllocateNothing) {
  need(session->prefill(prompt));
  // The first step may pay for what is made once; none after it.
  ASSERT_TRUE(session->decode(ids[0]).isOk());
  const uint64_t before = allocationCount();
  const bool ok = steps();
  const uint64_t after = allocationCount();
  EXPECT_TRUE(ok);
  EXPECT_EQ(after - before, 0U);
}

TEST_P(MemoryTest, ThousandStepsGrowByNothing) {
  // Touches every page of cache, scratch and weights that an answer touches.
  ASSERT_TRUE(startAgain() && steps());
  static_cast<void>(residentPages());
  const long before = residentPages();
  ASSERT_GT(before, 0);
  ASSERT_TRUE(startAgain() && steps());
  EXPECT_LE(residentPages(), before);
}

TEST_P(MemoryTest, ThousandStepsFaultNoPage) {
  ASSERT_TRUE(startAgain() && steps());
  // The kernel may take a page away and give it back for reasons of its own: once in three answers it does not.
  long least = 1;
  for (int attempt = 0; attempt < 3 && least > 0; ++attempt) {
    ASSERT_TRUE(startAgain());
    const long before = pageFaults();
    ASSERT_GE(before, 0);
    ASSERT_TRUE(steps());
    least = std::min(least, pageFaults() - before);
  }
  EXPECT_EQ(least, 0);
}

TEST_P(MemoryTest, FiveThousandStepsWithShiftsAllocateAndGrowByNothing) {
  const auto endless =
      need(engine::Session::create(need(engine::Model::open(blobOf(compile()), {})), {.contextShift = true}));
  const uint32_t rows = endless->model().limits().kvRows;
  need(endless->prefill(prompt));
  bool ok = true;
  uint32_t step = 0;
  // Until the first shift, so that every page of the cache and every context has been used.
  for (; step < rows; ++step) ok = endless->decode(ids[step % kSteps]).isOk() && ok;
  static_cast<void>(residentPages());
  const long pages = residentPages();
  const uint64_t before = allocationCount();
  for (; step < 5000; ++step) ok = endless->decode(ids[step % kSteps]).isOk() && ok;
  const uint64_t after = allocationCount();
  EXPECT_TRUE(ok);
  EXPECT_EQ(after - before, 0U);
  EXPECT_LE(residentPages(), pages);
}

TEST_P(MemoryTest, PrefillAllocatesForItsPlanAlone) {
  need(session->prefill(prompt));
  need(session->rewind(0));
  const uint64_t before = allocationCount();
  const bool ok = session->prefill(prompt).isOk();
  const uint64_t after = allocationCount();
  EXPECT_TRUE(ok);
  EXPECT_LE(after - before, 20U);
}

TEST_P(MemoryTest, AHundredChatsAreFlat) {
  tools::SessionEngine engine(*session);
  const auto chats = [&](uint32_t count) {
    for (uint32_t i = 0; i < count; ++i) {
      need(genai::generate(engine, nullptr, prompt, {.maxTokens = 30, .ignoreEos = true}));
    }
  };
  chats(10);
  const long before = residentPages();
  chats(100);
  const long grown = residentPages() - before;
  EXPECT_LE(grown * sysconf(_SC_PAGESIZE), 64 * 1024);
}

INSTANTIATE_TEST_SUITE_P(Models, MemoryTest, testing::Values("gguf/llama.gguf", "quant/q4_1.gguf"),
                         [](const auto& info) { return info.index == 0 ? "f32" : "q4_1"; });

/// Bytes of `bytes`, which start at a page, that lie in memory.
uint64_t residentBytes(std::span<std::byte> bytes) {
  constexpr uint64_t kPage = 4096;
  std::vector<unsigned char> pages((bytes.size() + kPage - 1) / kPage);
  if (mincore(bytes.data(), bytes.size(), pages.data()) != 0) return ~uint64_t{0};
  return kPage *
         static_cast<uint64_t>(std::ranges::count_if(pages, [](unsigned char page) { return (page & 1) != 0; }));
}

// A head of 16 K rows is large: its first rows take their own pages, and the logits do not know about pages.
TEST(LargeCacheTest, TakesTheMemoryOfItsTokens) {
  compiler::CompileOptions compile = smallCompile("gguf/llama.gguf");
  compile.maxPromptTokens = 16384;
  compile.minResponseTokens = 64;
  compile.prefillChunks = {256};
  compile.contexts = {4096};
  const std::vector<int32_t> ids = someIds(2200, kVocab);
  const auto grown = openSession(compile);
  ASSERT_GT(grown->cache().size(), 6'000'000U);
  need(grown->prefill(std::span(ids).first(10)));
  const uint64_t heads = grown->cache().size() / (uint64_t{16448} * 16 * sizeof(uint16_t));
  EXPECT_LE(residentBytes(grown->cache()), heads * 2 * 4096);
  // More than an eighth of the rows: the pages that are there become huge, too.
  const auto fresh = openSession(compile);
  const auto expected = need(fresh->prefill(ids));
  EXPECT_EQ(differenceInBits(need(grown->prefill(std::span(ids).subspan(10))), expected), "");
  for (const int32_t id : {1, 2, 3}) {
    EXPECT_EQ(differenceInBits(need(grown->decode(id)), need(fresh->decode(id))), "");
  }
}

}  // namespace
}  // namespace firn::e2e
