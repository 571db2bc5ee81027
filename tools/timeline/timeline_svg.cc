#include "tools/timeline/timeline_svg.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>
#include <vector>

#include "base/concat.h"
#include "blob/names.h"
#include "blob/npu_task_cost.h"
#include "tools/timeline/layer_timeline.h"
#include "tools/timeline/pixel_grid.h"

namespace firn::tools {
namespace {

using machine::Engine;

// Pixels.
constexpr double kLeft = 70;
constexpr double kWidth = 1100;
constexpr double kTop = 44;
constexpr double kRow = 18;
constexpr double kTile = 56;  ///< height of the CMX of a tile
constexpr double kGap = 16;
/// A box that is narrower or lower is painted into pixels, together with others there.
constexpr double kLeast = 1;

/// What tasks do, by colour.
struct Kind {
  const char* name;
  const char* colour;
};
enum KindIndex : uint8_t { kWeights, kCache, kValues, kOut, kMatmul, kKernel, kExpand, kSeveral };
constexpr std::array<Kind, 8> kKinds = {{{"weights in", "#3b6fb6"},
                                         {"cache in", "#5aa469"},
                                         {"values in", "#8fb3dd"},
                                         {"out of CMX", "#9a7fc1"},
                                         {"DPU", "#e07b39"},
                                         {"SHAVE", "#d9b23d"},
                                         {"SHAVE expands weights", "#b5544d"},
                                         {"several in a pixel", "#8c8c8c"}}};

template <typename... Numbers>
std::string format(const char* pattern, Numbers... numbers) {
  std::array<char, 320> text{};
  std::snprintf(text.data(), text.size(), pattern, numbers...);
  return text.data();
}

/// Text of XML; names come from a model and may hold anything.
std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '&') {
      out += "&amp;";
    } else {
      out += c < ' ' || c > '~' ? '?' : c;
    }
  }
  return out;
}

std::string times(uint64_t begin, uint64_t end) {
  return format("%.3f to %.3f us", static_cast<double>(begin) * 1e-6, static_cast<double>(end) * 1e-6);
}

class Picture {
 public:
  Picture(const blob::Blob& blob, const LayerTimeline& timeline)
      : blob_(blob),
        timeline_(timeline),
        machine_(timeline.machine()),
        end_(timeline.picoseconds()),
        title_(timeline.name() + format(": %.3f us", static_cast<double>(timeline.picoseconds()) * 1e-6)) {}

  std::string svg() {
    const uint32_t queues = machine::queueCount(machine_);
    const double cmxTop = kTop + queues * kRow + kGap;
    const double height = cmxTop + machine_.tiles * (kTile + 4) + 2 * kGap;
    out_ = format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %.0f %.0f\" width=\"%.0f\" height=\"%.0f\" "
        "font-family=\"sans-serif\" font-size=\"11\">\n",
        kLeft + kWidth + 10, height, kLeft + kWidth + 10, height);
    out_ += format("<rect width=\"%.0f\" height=\"%.0f\" fill=\"#fff\"/>\n", kLeft + kWidth + 10, height);
    out_ += "<text x=\"4\" y=\"14\" font-size=\"13\">" + escaped(title_) + "</text>\n";
    drawLegend();
    drawAxis(height - kGap);
    out_ += "<g stroke=\"#fff\" stroke-width=\".3\">\n";
    for (uint32_t queue = 0; queue < queues; ++queue) drawQueue(queue, kTop + queue * kRow);
    for (uint32_t tile = 0; tile < machine_.tiles; ++tile) drawTile(tile, cmxTop + tile * (kTile + 4));
    out_ += "</g>\n";
    for (uint32_t queue = 0; queue < queues; ++queue)
      nameRow(machine::queueName(machine_, queue), "", kTop + queue * kRow + 12);
    const auto [low, high] = timeline_.usedRange();
    for (uint32_t tile = 0; tile < machine_.tiles; ++tile) {
      nameRow(concat("cmx ", tile), concat("of ", (high - low + 1023) / 1024, " KiB"),
              cmxTop + tile * (kTile + 4) + 14);
    }
    return std::move(out_) + "</svg>\n";
  }

  const std::string& title() const { return title_; }

 private:
  double x(uint64_t picoseconds) const {
    return kLeft + kWidth * static_cast<double>(picoseconds) / static_cast<double>(std::max<uint64_t>(end_, 1));
  }

  KindIndex kindOf(uint32_t task) const {
    const blob::TaskRecord& record = blob_.tasks()[task];
    const auto op = static_cast<blob::TaskOp>(record.op);
    const auto operands = blob_.operandsOf(record);
    if (op == blob::TaskOp::kNpuMatmul || op == blob::TaskOp::kNpuMatmulGroups) return kMatmul;
    if (op == blob::TaskOp::kNpuExpand || op == blob::TaskOp::kNpuExpandGroups) return kExpand;
    if (op != blob::TaskOp::kNpuCopy && op != blob::TaskOp::kNpuKvWrite) return kKernel;
    if (operands[1].space != blob::Space::kCmx) return kOut;
    if (operands[0].space == blob::Space::kWeights) return kWeights;
    return operands[0].space == blob::Space::kKv ? kCache : kValues;
  }

  std::string nameOf(uint32_t task) const {
    const blob::TaskRecord& record = blob_.tasks()[task];
    return escaped(
        concat(blob_.string(record.name), " (", blob::taskOpName(static_cast<blob::TaskOp>(record.op)), ")"));
  }

  struct Rect {
    double left = 0, top = 0, width = 0, height = 0;
  };

  void drawRect(const Rect& area, const char* colour, const std::string& about) {
    out_ += format("<rect x=\"%.2f\" y=\"%.1f\" width=\"%.2f\" height=\"%.1f\" fill=\"%s\"><title>", area.left,
                   area.top, area.width, area.height, colour);
    out_ += about + "</title></rect>\n";
  }

  void drawLegend() {
    double at = kLeft;
    for (const Kind& kind : kKinds) {
      out_ += format("<rect x=\"%.0f\" y=\"22\" width=\"10\" height=\"10\" fill=\"%s\"/>", at, kind.colour);
      out_ += format("<text x=\"%.0f\" y=\"31\">%s</text>\n", at + 13, kind.name);
      at += 30 + 6.2 * static_cast<double>(std::string_view(kind.name).size());
    }
  }

  /// A line at each 1, 2 or 5 of a power of ten, ten at most.
  void drawAxis(double bottom) {
    uint64_t step = 1;
    for (uint64_t unit = 1; end_ / step > 10; unit *= 10) {
      for (const uint64_t factor : {1, 2, 5}) {
        if (end_ / step > 10) step = unit * factor;
      }
    }
    for (uint64_t time = 0; time <= end_; time += step) {
      out_ += format("<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.0f\" y2=\"%.0f\" stroke=\"#ddd\"/>", x(time), x(time), kTop,
                     bottom);
      out_ += format("<text x=\"%.1f\" y=\"%.0f\" text-anchor=\"middle\">%g us</text>\n", x(time), bottom + 11,
                     static_cast<double>(time) * 1e-6);
    }
  }

  void drawQueue(uint32_t queue, double top) {
    PixelGrid small(static_cast<uint32_t>(kWidth), 1);
    const auto drawBox = [&](const TimedTask& box) {
      drawRect({x(box.begin), top + 2, std::max(x(box.end) - x(box.begin), 0.3), kRow - 4},
               kKinds[kindOf(box.task)].colour, nameOf(box.task) + ", " + times(box.begin, box.end));
    };
    for (uint32_t i = 0; i < timeline_.tasks().size(); ++i) {
      const TimedTask& box = timeline_.tasks()[i];
      if (box.queue != queue) continue;
      if (x(box.end) - x(box.begin) >= kLeast) {
        drawBox(box);
      } else {
        const double left = x(box.begin) - kLeft;
        small.paint({left, 0, left, 0}, i, kindOf(box.task), kSeveral);
      }
    }
    for (const PixelGrid::Patch& patch : small.patches()) {
      const TimedTask& first = timeline_.tasks()[patch.cell.first];
      if (patch.cell.boxes == 1) {
        drawBox(first);
      } else {
        const TimedTask& last = timeline_.tasks()[patch.cell.last];
        drawRect({kLeft + patch.left, top + 2, static_cast<double>(patch.width), kRow - 4},
                 kKinds[patch.cell.kind].colour,
                 concat("from ", nameOf(first.task), " to ", nameOf(last.task), ", ") + times(first.begin, last.end));
      }
    }
  }

  void nameRow(const std::string& name, const std::string& below, double y) {
    out_ += format("<text x=\"4\" y=\"%.1f\">%s</text>", y, name.c_str());
    if (!below.empty()) out_ += format("<text x=\"4\" y=\"%.1f\" fill=\"#777\">%s</text>", y + 14, below.c_str());
    out_ += "\n";
  }

  /// Addresses grow upwards; a row shows what any tile uses.
  void drawTile(uint32_t tile, double top) {
    out_ += format("<rect x=\"%.0f\" y=\"%.1f\" width=\"%.0f\" height=\"%.0f\" fill=\"none\" stroke=\"#bbb\"/>\n",
                   kLeft, top, kWidth, kTile);
    const auto [low, high] = timeline_.usedRange();
    const double perByte = kTile / static_cast<double>(high - low);
    PixelGrid small(static_cast<uint32_t>(kWidth), static_cast<uint32_t>(kTile));
    const auto areaOf = [&, low = low](const TimedUse& use) {
      const double height = static_cast<double>(use.use.bytes) * perByte;
      return Rect{.left = x(use.use.begin),
                  .top = top + kTile - static_cast<double>(use.use.first - low) * perByte - height,
                  .width = x(use.use.end) - x(use.use.begin),
                  .height = height};
    };
    const auto drawUse = [&](const TimedUse& use) {
      Rect area = areaOf(use);
      area.width = std::max(area.width, 0.3);
      area.height = std::max(area.height, 0.3);
      drawRect(area, kKinds[kindOf(use.task)].colour,
               concat(nameOf(use.task), ", ", use.use.bytes, " bytes at ", use.use.first, ", ") +
                   times(use.use.begin, use.use.end));
    };
    for (uint32_t i = 0; i < timeline_.uses().size(); ++i) {
      if (timeline_.uses()[i].use.tile != tile) continue;
      const Rect area = areaOf(timeline_.uses()[i]);
      if (area.width >= kLeast && area.height >= kLeast) {
        drawUse(timeline_.uses()[i]);
      } else {
        const double left = area.left - kLeft, above = area.top - top;
        small.paint({left, above, left + area.width, above + area.height}, i, kindOf(timeline_.uses()[i].task),
                    kSeveral);
      }
    }
    drawPatches(small, top, drawUse);
  }

  /// What is small of a tile: a use alone as it is, several as the pixels that they share.
  template <typename DrawUse>
  void drawPatches(const PixelGrid& small, double top, const DrawUse& drawUse) {
    std::set<uint32_t> alone;
    for (const PixelGrid::Patch& patch : small.patches()) {
      const TimedUse& first = timeline_.uses()[patch.cell.first];
      if (patch.cell.boxes == 1) {
        if (alone.insert(patch.cell.first).second) drawUse(first);
      } else {
        drawRect(
            {kLeft + patch.left, top + patch.top, static_cast<double>(patch.width), static_cast<double>(patch.height)},
            kKinds[patch.cell.kind].colour, concat("several, such as ", nameOf(first.task)));
      }
    }
  }

  const blob::Blob& blob_;
  const LayerTimeline& timeline_;
  const machine::Machine& machine_;
  uint64_t end_;  ///< picoseconds
  std::string title_;
  std::string out_;
};

}  // namespace

Result<std::string> timelineSvg(const blob::Blob& blob, const TimelineChoice& choice) {
  FIRN_ASSIGN_OR_RETURN(const LayerTimeline timeline, LayerTimeline::read(blob, choice));
  return Picture(blob, timeline).svg();
}

Result<std::string> timelineHtml(const blob::Blob& blob, const TimelineChoice& choice) {
  FIRN_ASSIGN_OR_RETURN(const LayerTimeline timeline, LayerTimeline::read(blob, choice));
  Picture picture(blob, timeline);
  const std::string title = escaped(picture.title());
  return concat("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>", title, "</title></head><body>\n",
                picture.svg(), "</body></html>\n");
}

}  // namespace firn::tools
