// A picture of a schedule: the queues of a machine as rows, tasks as boxes over time, and below them what lies where in
// the CMX of each tile.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "blob/reader.h"

namespace firn::tools {

/// What is drawn: the calls of one layer of an entry for the npu, one behind the other; blob::kNoLayer: the calls that
/// belong to none, such as the input, the output and a head.
struct TimelineChoice {
  uint32_t entry = 0;
  uint32_t layer = 0;
};

/// An SVG that needs nothing beside it. Boxes that are too small to be seen apart are drawn as one, so its size does
/// not grow with the tasks beyond a bound. invalid_argument: the entry is for another target; not_found: it has no such
/// calls; corrupt: tasks that never end, or in a time beyond all measure.
Result<std::string> timelineSvg(const blob::Blob& blob, const TimelineChoice& choice);

/// The same as a page.
Result<std::string> timelineHtml(const blob::Blob& blob, const TimelineChoice& choice);

}  // namespace firn::tools
