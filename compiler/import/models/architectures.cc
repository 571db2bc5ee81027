#include "compiler/import/models/architectures.h"

#include <algorithm>
#include <iterator>

#include "base/concat.h"
#include "base/joined.h"
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
  const auto* const found = std::ranges::find(kArchitectures, *name, &Architecture::name);
  if (found != std::end(kArchitectures)) return found;
  return unsupported(
      concat(file.path(), ": unknown architecture ", quoted(*name),
             " in key 'general.architecture'; known: ", joined(kArchitectures, ", ", &Architecture::name)));
}

}  // namespace firn::import
