// The door of compiler/import: a model file becomes a ModelSpec. No MLIR, no devices.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "base/status.h"
#include "blob/layout.h"
#include "compiler/import/gguf_reader.h"
#include "compiler/import/model_spec.h"

namespace firn::import {

/// Opens the GGUF model at `path` and verifies all of it: file, architecture, hyper-parameters, tensors, tokenizer.
/// Weights stay in the file; the result keeps it mapped. Refuses a file without weights ("model has no weights"), an
/// unknown architecture (naming the known ones) and whatever firn would compute wrongly.
/// A tokenizer that firn does not read is no refusal: the image is empty and `tokenizerAbsence` says why.
Result<ModelSpec> importModel(const std::string& path);

/// The same for a file that is already open.
Result<ModelSpec> importModel(const GgufFile& file);

/// Only the tokenizer: its image (blob/tokenizer_image.h) built from the metadata of `path`. A file without tensors
/// will do; a file without a tokenizer, or with one that firn does not read, is refused.
Result<std::vector<std::byte>> importTokenizer(const std::string& path);

/// What identifies the source: XXH3-128 over the header, metadata and size of every shard. Not over weights.
blob::Hash128 sourceHash(const GgufFile& file);

}  // namespace firn::import
