// Attributes that are real numbers: what is fine for kernels that compute in f32, and how they are printed.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "blob/task_op_rules.h"

namespace firn::blob {

/// What a kFinite or kPositive attribute with these bits should have been; nullopt when it is fine.
std::optional<std::string> realFault(AttrRule rule, uint64_t bits);
/// The attribute as a user reads it.
std::string attrText(AttrRule rule, uint64_t value);

}  // namespace firn::blob
