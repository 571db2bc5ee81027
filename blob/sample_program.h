// Small valid blobs for tests and fuzz seeds. Not a model: the numbers mean nothing, the shapes obey every rule.
#pragma once

#include <cstddef>
#include <vector>

#include "base/status.h"
#include "blob/writer.h"

namespace firn::blob {

/// A program that uses most ops of `target`: prefill.16.64, prefill.16.128, generate.128 and head.2 over two layers,
/// two lanes on cpu and one on reference, 8 heads of 8 and 4 KV heads on a width of 64, ffn 96, vocabulary of 40.
Contents sampleContents(Target target);

/// The weights that sampleContents asks for: bytes that count up.
std::vector<std::byte> sampleWeights(const Contents& contents);

/// The whole file, written through Writer to a temporary file and read back.
Result<std::vector<std::byte>> sampleBlob(Target target);

}  // namespace firn::blob
