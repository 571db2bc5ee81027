// Builds the tokenizer image of a blob from the metadata of a GGUF file (keys tokenizer.ggml.*).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "compiler/import/gguf_reader.h"

namespace firn::import {

/// The image (blob/tokenizer_image.h). Fails with not_found when the file has no tokenizer, unsupported when it has one
/// that firn does not read, corrupt when its parts contradict each other.
/// Generation ends at the eos, eot and eom keys' tokens and at the known end-of-turn tokens of the vocabulary.
Result<std::vector<std::byte>> importGgufTokenizer(const GgufFile& file);

/// What a file with a readable tokenizer leaves open, in words.
std::vector<std::string> notesOnGgufTokenizer(const GgufFile& file);

/// The ids of the eos, eot and eom keys, each once: what ends an answer where firn does not read the tokenizer. corrupt
/// when one is not below `vocab`.
Result<std::vector<uint32_t>> importGgufEndIds(const GgufFile& file, uint32_t vocab);

}  // namespace firn::import
