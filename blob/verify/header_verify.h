// The rules of the header of a program: the sizes of the model, its cache and its memory.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "blob/program_view.h"

namespace firn::blob {

/// Of the sizes of a model. Far above any model, low enough that products of two stay exact everywhere.
inline constexpr uint32_t kMaxSize = 1U << 24;

/// corrupt names the field. `weightsBytes` is the size of the weight section.
Status verifyHeader(const ProgramView& program, uint64_t weightsBytes);

}  // namespace firn::blob
