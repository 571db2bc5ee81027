// Arbitrary bytes as a GGUF file: the reader, the import of a model and the building of its tokenizer.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>

#include "blob/tokenizer_image.h"
#include "compiler/import/gguf_reader.h"
#include "compiler/import/gguf_tokenizer.h"
#include "compiler/import/import.h"
#include "fuzz/accepted.h"

namespace firn::import {
namespace {

void check(bool holds) {
  if (!holds) std::abort();
}

/// Touches both ends of a view, so that a sanitizer sees one that leaves the file.
uint64_t touch(std::span<const std::byte> bytes) {
  return bytes.empty() ? 0 : std::to_integer<uint64_t>(bytes.front()) + std::to_integer<uint64_t>(bytes.back());
}

uint64_t readLinear(const LinearSpec& linear, uint64_t rows, uint64_t columns) {
  check(linear.weight.bytes.size() == dtypeBytes(linear.weight.type, rows * columns));
  if (linear.bias) check(linear.bias->bytes.size() == rows * sizeof(float));
  return touch(linear.weight.bytes) + (linear.bias ? touch(linear.bias->bytes) : 0);
}

uint64_t readVector(const TensorView& vector, uint64_t elements) {
  check(vector.bytes.size() == elements * sizeof(float));
  return touch(vector.bytes);
}
uint64_t readVector(const std::optional<TensorView>& vector, uint64_t elements) {
  return vector ? readVector(*vector, elements) : 0;
}

/// What the graph builder relies on: every weight has the size that the hyper-parameters give it.
uint64_t readModel(const ModelSpec& spec) {
  const uint64_t queryRows = uint64_t{spec.heads} * spec.headDim;
  const uint64_t keyRows = uint64_t{spec.kvHeads} * spec.headDim;
  check(spec.heads % spec.kvHeads == 0 && spec.rope.freqs.size() * 2 == spec.rope.dims);
  if (spec.windowRope) check(spec.windowRope->freqs.size() * 2 == spec.windowRope->dims);
  uint64_t sum = readLinear({spec.embedding, {}}, spec.vocab, spec.embed) + readVector(spec.outputNorm, spec.embed);
  if (spec.head) sum += readLinear(*spec.head, spec.vocab, spec.embed);
  for (const LayerSpec& layer : spec.layers) {
    sum += readVector(layer.attnNorm, spec.embed) + readVector(layer.ffnNorm, spec.embed);
    sum += readVector(layer.postAttnNorm, spec.embed) + readVector(layer.postFfnNorm, spec.embed);
    sum += readVector(layer.qNorm, spec.headDim) + readVector(layer.kNorm, spec.headDim);
    sum += readLinear(layer.q, queryRows, spec.embed) + readLinear(layer.k, keyRows, spec.embed);
    sum += readLinear(layer.v, keyRows, spec.embed) + readLinear(layer.o, spec.embed, queryRows);
    sum += readLinear(layer.gate, spec.ffn, spec.embed) + readLinear(layer.up, spec.ffn, spec.embed);
    sum += readLinear(layer.down, spec.embed, spec.ffn);
  }
  return sum;
}

uint64_t readAll(std::span<const std::byte> bytes) {
  const Result<GgufFile> file = GgufFile::fromMemory(bytes, "fuzz.gguf");
  if (!file) return 0;
  uint64_t sum = 0;
  for (const GgufTensor& tensor : file->tensors()) {
    check(file->findTensor(tensor.name) == &tensor);
    sum += touch(tensor.bytes);
  }
  const Result<ModelSpec> spec = importModel(*file);
  if (spec) {
    ++fuzz::acceptedInputs;
    sum += readModel(*spec);
  }
  const Result<std::vector<std::byte>> image = importGgufTokenizer(*file);
  if (image) {
    ++fuzz::acceptedInputs;
    check(blob::TokenizerImage::open(*image).isOk());
  }
  return sum;
}

}  // namespace
}  // namespace firn::import

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  [[maybe_unused]] const volatile uint64_t sum = firn::import::readAll(std::as_bytes(std::span(bytes, size)));
  return 0;
}
