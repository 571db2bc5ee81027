// The rules that make the tables of a program one tree: counts, strings, and that every record has one parent.
// Not here: what the records say (program_verify.cc).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/status.h"
#include "blob/program_view.h"

namespace firn::blob {

/// corrupt names the table or record. After it, every range of records that a record names is inside its table, and
/// every call names a body. Linear in the size of the tables.
Status verifyTables(const ProgramView& program, uint32_t lanes);

/// Whether record `index` of a kind names, in `field`, the start of a string.
Status verifyName(const ProgramView& program, std::string_view record, size_t index, uint32_t name,
                  std::string_view field = "name");

}  // namespace firn::blob
