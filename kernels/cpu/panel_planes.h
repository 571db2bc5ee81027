// Where the planes of a panel of weights lie, as kernel text asks for it. No function here is inline: what a text of
// one instruction set compiles must not become the function of another. Not here: the count itself (blob/extent.h).
#pragma once

#include <cstddef>

#include "base/dtype.h"

namespace firn::cpu {

/// Groups of one super-block.
inline constexpr size_t kSuperGroups = 8;

/// In bytes from the start of a panel.
struct PanelPlanes {
  size_t scalesOffset;
  size_t minsOffset;  ///< mins or super-blocks
  size_t panelBytes;
};

/// The planes of a panel of a type and width that the verifier has seen.
PanelPlanes panelPlanes(DType type, size_t columns);

}  // namespace firn::cpu
