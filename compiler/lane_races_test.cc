// Lanes of one segment run at the same time: no byte that one of them writes may be touched by another. The verifier of
// blobs does not prove this, the compiler has to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "blob/reader.h"
#include "blob/task_op_rules.h"
#include "compiler/driver.h"

namespace firn::compiler {
namespace {

/// Who touched each byte of one memory so far.
class Touched {
 public:
  /// Marks bytes [offset, offset + count); false when another lane is in the way.
  bool mark(uint64_t offset, uint64_t count, int lane, bool writes) {
    if (bytes_.size() < offset + count) bytes_.resize(offset + count);
    const int16_t me = static_cast<int16_t>(lane + 1);
    bool isFree = true;
    for (uint64_t at = offset; at < offset + count; ++at) {
      auto& [writer, reader] = bytes_[at];
      isFree = isFree && (writer == 0 || writer == me) && (!writes || reader == 0 || reader == me);
      if (writes) writer = me;
      if (!writes) reader = reader == 0 || reader == me ? me : kMany;
    }
    return isFree;
  }

 private:
  static constexpr int16_t kMany = -1;
  /// Lane + 1 of who wrote it, and of who read it (kMany: several); 0: nobody.
  struct Byte {
    int16_t writer = 0;
    int16_t reader = 0;
  };
  std::vector<Byte> bytes_;
};

/// Calls `visit` with the byte offset and the bytes of every element of a strided operand.
template <typename Visit>
void forEachElement(const blob::OperandRecord& operand, Visit visit) {
  uint32_t size = dtypeInfo(operand.dtype)->blockBytes;
  for (uint32_t a = 0; a < operand.dims[0]; ++a) {
    for (uint32_t b = 0; b < operand.dims[1]; ++b) {
      for (uint32_t c = 0; c < operand.dims[2]; ++c) {
        for (uint32_t d = 0; d < operand.dims[3]; ++d) {
          uint64_t index = uint64_t{a} * operand.strides[0] + uint64_t{b} * operand.strides[1] +
                           uint64_t{c} * operand.strides[2] + uint64_t{d} * operand.strides[3];
          visit(operand.offset + index * size, size);
        }
      }
    }
  }
}

/// The first conflict of a segment, as text; empty when there is none.
std::string conflictOf(const blob::Blob& blob, const blob::SegmentRecord& segment) {
  std::map<std::pair<blob::Space, uint16_t>, Touched> memory;
  int lane = 0;
  for (const auto& range : blob.lanesOf(segment)) {
    for (const auto& task : blob.tasksOf(range)) {
      auto operands = blob.operandsOf(task);
      const blob::TaskOpRule& rule = *blob::taskOpRule(static_cast<blob::TaskOp>(task.op));
      const DType kvType = blob.header().kvType;
      size_t at = 0;
      for (uint32_t i = 0; i < rule.operandCount(); ++i) {
        const bool isLeftOut = rule.operands[i].isOptional() && operands.size() < rule.operandCount(kvType, true);
        if (isLeftOut || !rule.operands[i].isThere(kvType)) continue;
        const blob::OperandRecord& operand = operands[at++];
        if (operand.space == blob::Space::kWeights) continue;
        bool writes = rule.operands[i].access != blob::Access::kRead;
        bool clean = true;
        Touched& touched = memory[{operand.space, operand.base}];
        forEachElement(operand, [&](uint64_t offset, uint64_t bytes) {
          clean = touched.mark(offset, bytes, lane, writes) && clean;
        });
        if (!clean) return std::string(blob.string(task.name)) + ", operand " + std::string(rule.operands[i].name);
      }
    }
    ++lane;
  }
  return {};
}

TEST(LaneRacesTest, NoLaneTouchesWhatAnotherWritesInTheSameSegment) {
  std::string path =
      (std::filesystem::temp_directory_path() / ("firn_races_" + std::to_string(getpid()) + ".firn")).string();
  for (const char* model : {"tests/data/gguf/llama-bias-linear-rope.gguf", "tests/data/quant/q4_0.gguf",
                            "tests/data/gguf/gemma3.gguf", "tests/data/gguf/qwen2.gguf"}) {
    for (const auto& [lanes, kvType] : std::vector<std::pair<uint32_t, std::optional<DType>>>{
             {2, {}}, {3, {}}, {7, {}}, {2, DType::kI8}, {3, DType::kI8}, {7, DType::kI8}, {3, DType::kF32}}) {
      CompileOptions options;
      options.modelPath = model;
      options.outputPath = path;
      options.maxPromptTokens = 64;
      options.minResponseTokens = 64;
      options.prefillChunks = {16};
      options.batches = {2};
      options.lanes = lanes;
      options.kvType = kvType;
      Status status = compile(options, nullptr);
      ASSERT_TRUE(status) << status.toString();
      auto blob = blob::Blob::open(path);
      ASSERT_TRUE(blob) << blob.status().toString();
      for (const auto& body : blob->bodies()) {
        for (const auto& segment : blob->segmentsOf(body)) {
          EXPECT_EQ(conflictOf(*blob, segment), "")
              << model << ", " << lanes << " lanes, KV " << dtypeInfo(blob->header().kvType)->name << ", "
              << blob->string(body.name);
        }
      }
    }
  }
  std::filesystem::remove(path);
}

TEST(LaneRacesTest, TheCheckSeesAConflict) {
  Touched touched;
  EXPECT_TRUE(touched.mark(0, 4, 0, false));
  EXPECT_TRUE(touched.mark(0, 4, 1, false));
  EXPECT_FALSE(touched.mark(0, 4, 0, true));
  EXPECT_TRUE(touched.mark(4, 4, 0, true));
  EXPECT_TRUE(touched.mark(4, 4, 0, false));
  EXPECT_FALSE(touched.mark(4, 4, 1, false));
  // Elements of other widths that begin elsewhere.
  EXPECT_FALSE(touched.mark(7, 1, 1, false));
  EXPECT_FALSE(touched.mark(2, 4, 1, true));
  EXPECT_TRUE(touched.mark(8, 1, 1, true));
}

}  // namespace
}  // namespace firn::compiler
