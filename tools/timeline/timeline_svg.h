// A picture of a schedule: the queues of a machine as rows, tasks as boxes over time, and below them what lies where in
// the CMX of each tile.
#pragma once

#include <string>

#include "base/status.h"
#include "blob/reader.h"
#include "tools/timeline/layer_timeline.h"

namespace firn::tools {

/// An SVG that needs nothing beside it. Boxes that are too small to be seen apart are drawn as one, so its size does
/// not grow with the tasks beyond a bound. Errors: those of LayerTimeline::read.
Result<std::string> timelineSvg(const blob::Blob& blob, const TimelineChoice& choice);

/// The same as a page.
Result<std::string> timelineHtml(const blob::Blob& blob, const TimelineChoice& choice);

}  // namespace firn::tools
