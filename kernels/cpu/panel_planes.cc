#include "kernels/cpu/panel_planes.h"

#include <algorithm>

#include "blob/extent.h"
#include "kernels/cpu/arithmetic.h"
#include "kernels/quant/super_panels.h"

namespace firn::cpu {

// Kernel text states these again, since what it includes must not be compiled for its instruction set.
static_assert(kGroup == blob::kPanelGroup && kLanes == blob::kPanelRows && kSuperGroups == quant::kSuperGroups);

PanelPlanes panelPlanes(DType type, size_t columns) {
  const blob::PanelShape shape = blob::panelShape(type, columns).value_or(blob::PanelShape{});
  return {shape.scalesOffset, std::max(shape.minsOffset, shape.supersOffset), shape.panelBytes};
}

}  // namespace firn::cpu
