// The list of architectures. The only place where a name of one is compared.
#pragma once

#include <span>
#include <string_view>

#include "base/status.h"
#include "compiler/import/gguf_reader.h"
#include "compiler/import/model_spec.h"

namespace firn::import {

/// `import` makes everything of a ModelSpec but the tokenizer, chat template and source hash.
struct Architecture {
  std::string_view name;  ///< general.architecture
  Result<ModelSpec> (*import)(const GgufFile& file);
};

std::span<const Architecture> architectures();

/// The architecture that the file names; refused when it names none or an unknown one, with the known ones.
Result<const Architecture*> findArchitecture(const GgufFile& file);

#define FIRN_ARCHITECTURE(name, function) Result<ModelSpec> function(const GgufFile& file);
#include "compiler/import/models/architectures.def"
#undef FIRN_ARCHITECTURE

}  // namespace firn::import
