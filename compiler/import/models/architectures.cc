#include "compiler/import/models/architectures.h"

#include <string>

#include "base/quote.h"

namespace firn::import {
namespace {

constexpr Architecture kArchitectures[] = {
#define FIRN_ARCHITECTURE(name, function) {name, function},
#include "compiler/import/models/architectures.def"
#undef FIRN_ARCHITECTURE
};

}  // namespace

std::span<const Architecture> architectures() { return kArchitectures; }

Result<const Architecture*> findArchitecture(const GgufFile& file) {
  FIRN_ASSIGN_OR_RETURN(const std::optional<std::string_view> name, file.getString("general.architecture"));
  if (!name) return corrupt(file.path() + ": key 'general.architecture' is missing: no model to compile");
  std::string known;
  for (const Architecture& architecture : kArchitectures) {
    if (architecture.name == *name) return &architecture;
    known += (known.empty() ? "" : ", ") + std::string(architecture.name);
  }
  return unsupported(file.path() + ": unknown architecture " + quoted(*name) +
                     " in key 'general.architecture'; known: " + known);
}

}  // namespace firn::import
