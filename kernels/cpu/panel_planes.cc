#include "kernels/cpu/panel_planes.h"

#include <algorithm>

#include "blob/extent.h"

namespace firn::cpu {

PanelPlanes panelPlanes(DType type, size_t columns) {
  const blob::PanelShape shape = blob::panelShape(type, columns).value_or(blob::PanelShape{});
  return {shape.scalesOffset, std::max(shape.minsOffset, shape.supersOffset), shape.panelBytes};
}

}  // namespace firn::cpu
