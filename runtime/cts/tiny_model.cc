#include "runtime/cts/tiny_model.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "kernels/cpu/arithmetic.h"

namespace firn::runtime::cts {
namespace {

// Marsaglia's xorshift32; uniform in [-1, 1).
class Numbers {
 public:
  explicit Numbers(uint32_t seed) : state_(seed) {}
  uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    state_ ^= state_ << 5;
    return state_;
  }
  float real() { return static_cast<float>(static_cast<int32_t>(next())) * 0x1p-31F; }

 private:
  uint32_t state_;
};

TinyTensor floats(uint32_t rows, uint32_t columns, const auto& value) {
  TinyTensor tensor{.type = DType::kF32, .rows = rows, .columns = columns, .bytes = {}};
  tensor.bytes.resize(uint64_t{rows} * columns * sizeof(float));
  for (uint32_t i = 0; i < rows * columns; ++i) {
    const float x = value();
    std::memcpy(tensor.bytes.data() + i * sizeof(float), &x, sizeof(float));
  }
  return tensor;
}

// Blocks of an f16 scale and 32 signed bytes.
TinyTensor q8Blocks(uint32_t rows, uint32_t columns, float scale, Numbers& numbers) {
  TinyTensor tensor{.type = DType::kQ8_0, .rows = rows, .columns = columns, .bytes = {}};
  for (uint32_t block = 0; block < rows * columns / 32; ++block) {
    const uint16_t half = f32ToF16(scale / 127.0F * (1.0F + 0.25F * numbers.real()));
    tensor.bytes.push_back(static_cast<std::byte>(half & 0xFF));
    tensor.bytes.push_back(static_cast<std::byte>(half >> 8));
    for (int i = 0; i < 32; ++i) tensor.bytes.push_back(static_cast<std::byte>(numbers.next() % 255 + 129));
  }
  return tensor;
}

TinyTensor matrix(DType type, uint32_t rows, uint32_t columns, Numbers& numbers) {
  const float scale = 1.7F / std::sqrt(static_cast<float>(columns));
  if (type == DType::kQ8_0) return q8Blocks(rows, columns, scale, numbers);
  return floats(rows, columns, [&] { return scale * numbers.real(); });
}

TinyTensor norm(Numbers& numbers) {
  return floats(1, kEmbed, [&] { return 1.0F + 0.2F * numbers.real(); });
}

std::string card(const TinyWeights& weights, bool hasRope) {
  constexpr uint32_t kLayerMacs = kEmbed * (2 * kHeads + 2 * kKvHeads) * kHeadDim + 3 * kEmbed * kFfn;
  const std::string start = R"({"architecture": "tiny", "linear_macs": )" + std::to_string(kLayers * kLayerMacs);
  if (!hasRope) return start + "}";
  std::string frequencies;
  for (const float frequency : weights.ropeFreqs) {
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%s%.9g", frequencies.empty() ? "" : ", ", static_cast<double>(frequency));
    frequencies += text.data();
  }
  return start + R"(, "rope": [{"first_layer": 0, "layers": )" + std::to_string(kLayers) +
         R"(, "pairing": "interleaved", "dims": )" + std::to_string(kHeadDim) + R"(, "frequencies": [)" + frequencies +
         "]}]}";
}

std::string temporaryPath() {
  static std::atomic<uint32_t> count{0};
  return (std::filesystem::temp_directory_path() /
          ("firn_cts_" + std::to_string(getpid()) + "_" + std::to_string(count++) + ".firn"))
      .string();
}

}  // namespace

TinyWeights makeTinyWeights(DType matrices) {
  Numbers numbers(20260);
  Numbers biases(731);
  TinyWeights weights;
  weights.embedding = matrix(matrices, kVocab, kEmbed, numbers);
  weights.outputNorm = norm(numbers);
  for (uint32_t layer = 0; layer < kLayers; ++layer) {
    TinyLayer tiny;
    tiny.attnNorm = norm(numbers);
    tiny.q = matrix(matrices, kHeads * kHeadDim, kEmbed, numbers);
    tiny.k = matrix(matrices, kKvHeads * kHeadDim, kEmbed, numbers);
    tiny.v = matrix(matrices, kKvHeads * kHeadDim, kEmbed, numbers);
    tiny.o = matrix(matrices, kEmbed, kHeads * kHeadDim, numbers);
    tiny.ffnNorm = norm(numbers);
    tiny.gate = matrix(matrices, kFfn, kEmbed, numbers);
    tiny.up = matrix(matrices, kFfn, kEmbed, numbers);
    tiny.down = matrix(matrices, kEmbed, kFfn, numbers);
    // Some elements are far above the others, as in models with such a bias.
    tiny.kBias = floats(1, kKvHeads * kHeadDim, [&] { return 3 * std::pow(biases.real(), 3.0F); });
    weights.layers.push_back(std::move(tiny));
  }
  for (uint32_t pair = 0; pair < kHeadDim / 2; ++pair) {
    weights.ropeFreqs.push_back(std::pow(10000.0F, -2.0F * static_cast<float>(pair) / kHeadDim));
  }
  return weights;
}

uint64_t WeightArena::add(std::span<const std::byte> bytes) {
  bytes_.resize(roundUp(bytes_.size(), blob::kTensorAlignment));
  const uint64_t at = bytes_.size();
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return at;
}

blob::KvPart kvPart(DType type) { return blob::KvPart::of(type, kKvHeads, kKvRows, kHeadDim).value_or(blob::KvPart{}); }

uint64_t kvOffset(uint32_t layer, bool isV, DType type) { return (layer * 2 + (isV ? 1 : 0)) * kvPart(type).bytes(); }

Result<blob::Blob> makeTinyBlob(const TinyOptions& options) {
  blob::Contents contents;
  contents.ident.target = options.target;
  contents.ident.lanes = options.lanes;
  contents.ident.arithmeticId = options.arithmeticId != 0 ? options.arithmeticId : cpu::kArithmeticId;
  contents.program.header = blob::sampleHeader(
      {.layers = kLayers, .embed = kEmbed, .heads = kHeads, .kvHeads = kKvHeads, .headDim = kHeadDim, .vocab = kVocab},
      options.cacheType());
  contents.program.header.topTokens = options.topTokens;
  const TinyWeights weights = makeTinyWeights(options.weights);
  contents.card = card(weights, options.cardHasRope);
  WeightArena arena;
  if (options.target == blob::Target::kCpu) {
    addCpuProgram(weights, options, contents.program, arena);
  } else if (options.target == blob::Target::kNpu) {
    contents.machine = tinyMachineText();
    addNpuProgram(weights, options, contents.program, arena);
  } else {
    addReferenceProgram(weights, options, contents.program, arena);
  }
  if (options.picoseconds != 0) {
    for (blob::EntryRecord& entry : contents.program.entries) entry.predictedPicoseconds = options.picoseconds;
  }
  if (options.edit) options.edit(contents.program);
  contents.program.header.weightsBytes = arena.bytes().size();

  const std::string path = temporaryPath();
  FIRN_ASSIGN_OR_RETURN(blob::Writer writer, blob::Writer::create(path, contents));
  FIRN_RETURN_IF_ERROR(writer.appendWeights(arena.bytes()));
  FIRN_RETURN_IF_ERROR(writer.finish());
  Result<blob::Blob> blob = blob::Blob::open(path);
  std::error_code ignored;  // a file left in the temporary folder harms nothing
  std::filesystem::remove(path, ignored);
  return blob;
}

}  // namespace firn::runtime::cts
