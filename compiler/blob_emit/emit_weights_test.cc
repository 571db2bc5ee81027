// The weight section of a blob: the planes of a tensor lie where their packs say, row by row, and mean its weights.
#include <gtest/gtest.h>
#include <unistd.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>
#include <string>

#include "base/concat.h"
#include "blob/reader.h"
#include "blob/sample_program.h"
#include "compiler/blob_emit/emit.h"
#include "compiler/ir/task.h"
#include "kernels/quant/panel.h"
#include "mlir/Parser/Parser.h"

namespace firn::blob_emit {
namespace {

constexpr uint64_t kAddress = 64;
constexpr uint64_t kColumns = 96;
constexpr uint64_t kFirstColumn = 32;
constexpr uint64_t kColumnCount = 64;
constexpr uint64_t kGroupBytes = 4;  ///< of the scales of a row's two groups

/// Rows 3 to the last of a tensor with kColumns columns, and the planes of kColumnCount of them.
struct Planes {
  DType type;
  uint64_t bits;
  int zero;
  bool hasMins;
  uint64_t rows;

  uint64_t codeBytes() const { return kColumnCount * bits / 8; }
  uint64_t scalesAt() const { return (rows * codeBytes() + 63) / 64 * 64; }
  uint64_t minsAt() const { return scalesAt() + (rows * kGroupBytes + 63) / 64 * 64; }
  uint64_t end() const { return minsAt() + rows * kGroupBytes; }

  std::string pack(std::string_view form, uint64_t at, uint64_t rowBytes) const {
    return concat("task.pack \"", form, "\" \"", dtypeInfo(type)->name, "\" of \"w\" rows [3, ", rows, "] columns [",
                  kFirstColumn, ", ", kColumnCount, "] at ", at, " bytes ", rows * rowBytes, "\n");
  }
  std::string module(uint64_t weightsBytes) const {
    return concat("task.program \"cpu\" lanes 1 model {} memory {weights_bytes = ", weightsBytes, " : i64} {\n",
                  "task.stream @s bytes ", end(), " at ", kAddress, " {\n", pack("codes", 0, codeBytes()),
                  pack("scales", scalesAt(), kGroupBytes), hasMins ? pack("mins", minsAt(), kGroupBytes) : "",
                  "}\n}\n");
  }

  /// Weight k of row i of the planes, by the contract of npu.matmul_groups and npu.accumulate.
  float weightAt(std::span<const std::byte> section, uint64_t i, uint64_t k) const {
    const std::span<const std::byte> stream = section.subspan(kAddress);
    const auto half = [&](uint64_t plane) {
      uint16_t number;
      std::memcpy(&number, &stream[plane + i * kGroupBytes + k / 32 * 2], sizeof number);
      return f16ToF32(number);
    };
    const std::byte* codes = &stream[i * codeBytes()];
    int code = bits == 4 ? static_cast<int>(codes[k / 2]) >> (k % 2 * 4) & 15 : static_cast<int8_t>(codes[k]);
    const float product = half(scalesAt()) * static_cast<float>(code - zero);
    return hasMins ? product + half(minsAt()) : product;
  }
};

/// A matrix of any bytes that is three rows higher than the planes.
struct Tensor {
  explicit Tensor(const Planes& planes)
      : rowBytes(*dtypeBytes(planes.type, kColumns)), bytes((planes.rows + 3) * rowBytes) {
    std::mt19937 random(1);
    for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
    view = {.name = "w", .type = planes.type, .dims = {planes.rows + 3, kColumns}, .bytes = bytes};
  }
  std::vector<float> row(uint64_t i) const {
    std::vector<float> values(kColumns);
    quant::dequantizeRow(view.type, std::span(bytes).subspan(i * rowBytes, rowBytes), values);
    return values;
  }

  uint64_t rowBytes;
  std::vector<std::byte> bytes;
  import::TensorView view;
};

class EmitWeightsTest : public testing::Test {
 protected:
  EmitWeightsTest() { context.loadDialect<task::TaskDialect>(); }
  ~EmitWeightsTest() override { unlink(path.c_str()); }

  /// Writes a blob whose weights are those of the planes.
  Status emit(const Planes& planes, const import::TensorView& tensor) {
    blob::Contents contents = blob::sampleContents(blob::Target::kReference, blob::SampleSize::kHeadOnly);
    uint64_t& total = contents.program.header.weightsBytes;
    total = std::max<uint64_t>(total, kAddress + planes.end());
    const auto parsed = mlir::parseSourceString<mlir::ModuleOp>(planes.module(total), &context);
    if (!parsed) return internalError("the module does not parse");
    FIRN_ASSIGN_OR_RETURN(blob::Writer writer, blob::Writer::create(path, contents));
    const auto find = [&](std::string_view name) { return name == "w" ? &tensor : nullptr; };
    FIRN_RETURN_IF_ERROR(emitWeights(*parsed, find, [](uint64_t, uint64_t) { return true; }, writer));
    return writer.finish();
  }

  void expectWeights(const Planes& planes, const Tensor& tensor, uint64_t step) {
    const Status status = emit(planes, tensor.view);
    ASSERT_TRUE(status.isOk()) << status.toString();
    const Result<blob::Blob> blob = blob::Blob::open(path);
    ASSERT_TRUE(blob.isOk()) << blob.status().toString();
    for (uint64_t i = 0; i < planes.rows; i += step) {
      const std::vector<float> expected = tensor.row(i + 3);
      for (uint64_t k = 0; k < kColumnCount; ++k) {
        const float found = planes.weightAt(blob->weights(), i, k);
        const float wanted = expected[kFirstColumn + k];
        ASSERT_TRUE(std::bit_cast<uint32_t>(found) == std::bit_cast<uint32_t>(wanted) ||
                    (std::isnan(found) && std::isnan(wanted)))
            << dtypeInfo(planes.type)->name << " " << i << " " << k << ": " << found << ", expected " << wanted;
      }
    }
  }

  mlir::MLIRContext context;
  std::string path = concat(testing::TempDir(), "emit_weights_test_", getpid(), ".firn");
};

TEST_F(EmitWeightsTest, PlanesMeanTheWeightsOfTheTensor) {
  for (const Planes& planes : {Planes{DType::kQ4_0, 4, 8, false, 37}, Planes{DType::kQ4_1, 4, 0, true, 37},
                               Planes{DType::kQ5_0, 8, 0, false, 37}, Planes{DType::kQ5_1, 8, 0, true, 37},
                               Planes{DType::kQ8_0, 8, 0, false, 37}}) {
    expectWeights(planes, Tensor(planes), 1);
  }
}

TEST_F(EmitWeightsTest, PlanesOfManyRowsAreWrittenInParts) {
  const Planes planes{DType::kQ4_1, 4, 0, true, 300'007};  // codes of more than 8 MiB
  expectWeights(planes, Tensor(planes), 997);
}

TEST_F(EmitWeightsTest, ATensorOfAnotherTypeIsAnError) {
  const Planes planes{DType::kQ4_1, 4, 0, true, 8};
  Tensor tensor(planes);
  tensor.view.type = DType::kQ5_0;
  const Status status = emit(planes, tensor.view);
  EXPECT_EQ(status.code(), Code::kInternal);
  EXPECT_NE(status.message().find("does not hold what is packed of it"), std::string::npos) << status.toString();
}

}  // namespace
}  // namespace firn::blob_emit
