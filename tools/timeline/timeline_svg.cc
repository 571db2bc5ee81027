#include "tools/timeline/timeline_svg.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <vector>

#include "base/concat.h"
#include "blob/names.h"
#include "blob/npu_task_cost.h"
#include "runtime/devices/npu/cmx_use.h"
#include "runtime/devices/npu/entry_timeline.h"

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
/// A narrower box is drawn with its neighbours.
constexpr double kLeast = 0.6;

/// What tasks do, by colour.
struct Kind {
  const char* name;
  const char* colour;
};
enum KindIndex : uint8_t { kWeights, kCache, kValues, kOut, kMatmul, kKernel, kExpand };
constexpr std::array<Kind, 7> kKinds = {{{"weights in", "#3b6fb6"},
                                         {"cache in", "#5aa469"},
                                         {"values in", "#8fb3dd"},
                                         {"out of CMX", "#9a7fc1"},
                                         {"DPU", "#e07b39"},
                                         {"SHAVE", "#d9b23d"},
                                         {"SHAVE expands weights", "#b5544d"}}};

/// A task of one of the calls that are drawn.
struct Box {
  uint32_t task = 0;  ///< of the blob
  uint16_t queue = 0;
  uint64_t begin = 0;
  uint64_t end = 0;
};

/// A CMX use of one of the calls, in the time of the picture.
struct Use {
  runtime::CmxUse use;
  uint32_t task = 0;  ///< of the blob: who wrote it
};

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
  Picture(const blob::Blob& blob, machine::Machine machine) : blob_(blob), machine_(std::move(machine)) {}

  Status read(const TimelineChoice& choice) {
    const blob::EntryRecord& entry = blob_.entries()[choice.entry];
    for (const blob::CallRecord& call : blob_.callsOf(entry)) {
      if (call.layer != choice.layer) continue;
      FIRN_ASSIGN_OR_RETURN(const runtime::BodyTimeline body, runtime::bodyTimelineOf(blob_, machine_, call.body));
      add(body);
    }
    if (boxes_.empty()) {
      const bool isLayer = choice.layer != blob::kNoLayer;
      return notFound(concat(blob_.path(), ": entry ", blob_.string(entry.name), " has no tasks ",
                             isLayer ? concat("of layer ", choice.layer) : std::string("outside its layers")));
    }
    title_ = concat(blob_.string(entry.name),
                    choice.layer == blob::kNoLayer ? std::string() : concat(", layer ", choice.layer), " on ",
                    machine_.name, ": ", format("%.3f us", static_cast<double>(end_) * 1e-6));
    return Status::ok();
  }

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
    const auto [low, high] = usedRange();
    for (uint32_t tile = 0; tile < machine_.tiles; ++tile) {
      nameRow(concat("cmx ", tile), concat("of ", (high - low + 1023) / 1024, " KiB"),
              cmxTop + tile * (kTile + 4) + 14);
    }
    return std::move(out_) + "</svg>\n";
  }

  const std::string& title() const { return title_; }

 private:
  void add(const runtime::BodyTimeline& body) {
    for (const uint32_t i : body.timeline.order) {
      const machine::Interval& interval = body.timeline.tasks[i];
      boxes_.push_back({body.firstTask + i, body.queues[i], end_ + interval.begin, end_ + interval.end});
    }
    for (runtime::CmxUse use : runtime::cmxUsesOf(blob_, body)) {
      use.begin += end_;
      use.end += end_;
      uses_.push_back({use, body.firstTask + use.task});
    }
    end_ += body.timeline.picoseconds;
  }

  double x(uint64_t picoseconds) const {
    return kLeft + kWidth * static_cast<double>(picoseconds) / static_cast<double>(end_);
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

  struct Area {
    double left = 0, top = 0, width = 0, height = 0;
  };

  void drawRect(const Area& area, const char* colour, const std::string& about) {
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
    // Neighbours of one kind that are narrow, and what they cover.
    struct Run {
      uint64_t begin = 0, end = 0;
      uint32_t tasks = 0, first = 0;
      KindIndex kind{};
    } run;
    const auto draw = [&] {
      if (run.tasks == 0) return;
      const std::string name =
          run.tasks == 1 ? nameOf(run.first) : concat(run.tasks, " tasks from ", nameOf(run.first));
      drawRect({x(run.begin), top + 2, std::max(x(run.end) - x(run.begin), 0.3), kRow - 4}, kKinds[run.kind].colour,
               name + ", " + times(run.begin, run.end));
      run = {};
    };
    for (const Box& box : boxes_) {
      if (box.queue != queue) continue;
      const KindIndex kind = kindOf(box.task);
      const bool isNarrow = x(box.end) - x(box.begin) < kLeast;
      const bool joins = run.tasks > 0 && isNarrow && kind == run.kind && x(box.begin) - x(run.end) < kLeast;
      if (!joins) {
        draw();
        run = {.begin = box.begin, .first = box.task, .kind = kind};
      }
      run.end = box.end;
      ++run.tasks;
    }
    draw();
  }

  /// The bytes between the lowest and the highest that a tile uses, of all of them the outermost.
  std::pair<uint64_t, uint64_t> usedRange() const {
    std::pair<uint64_t, uint64_t> range = {machine_.cmxBytes, 0};
    for (const Use& use : uses_) {
      range.first = std::min(range.first, use.use.first);
      range.second = std::max(range.second, use.use.first + use.use.bytes);
    }
    return range.first < range.second ? range : std::pair<uint64_t, uint64_t>{0, machine_.cmxBytes};
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
    const auto [low, high] = usedRange();
    const double perByte = kTile / static_cast<double>(high - low);
    for (const Use& use : uses_) {
      if (use.use.tile != tile) continue;
      const double width = x(use.use.end) - x(use.use.begin);
      const double height = static_cast<double>(use.use.bytes) * perByte;
      if (width < kLeast && height < kLeast) continue;
      drawRect({x(use.use.begin), top + kTile - static_cast<double>(use.use.first - low) * perByte - height,
                std::max(width, 0.3), std::max(height, 0.3)},
               kKinds[kindOf(use.task)].colour,
               concat(nameOf(use.task), ", ", use.use.bytes, " bytes at ", use.use.first, ", ") +
                   times(use.use.begin, use.use.end));
    }
  }

  const blob::Blob& blob_;
  machine::Machine machine_;
  std::vector<Box> boxes_;  ///< by begin
  std::vector<Use> uses_;
  uint64_t end_ = 0;  ///< picoseconds
  std::string title_;
  std::string out_;
};

Result<Picture> pictureOf(const blob::Blob& blob, const TimelineChoice& choice) {
  const blob::EntryRecord& entry = blob.entries()[choice.entry];
  if (entry.target != blob::Target::kNpu) {
    return invalidArgument(concat(blob.path(), ": entry ", blob.string(entry.name), " is for device ",
                                  blob::targetName(entry.target), "; only one for npu has a timeline"));
  }
  FIRN_ASSIGN_OR_RETURN(machine::Machine machine, machine::parseMachine(blob.machine(), blob.path()));
  Picture picture(blob, std::move(machine));
  FIRN_RETURN_IF_ERROR(picture.read(choice));
  return picture;
}

}  // namespace

Result<std::string> timelineSvg(const blob::Blob& blob, const TimelineChoice& choice) {
  FIRN_ASSIGN_OR_RETURN(Picture picture, pictureOf(blob, choice));
  return picture.svg();
}

Result<std::string> timelineHtml(const blob::Blob& blob, const TimelineChoice& choice) {
  FIRN_ASSIGN_OR_RETURN(Picture picture, pictureOf(blob, choice));
  const std::string title = escaped(picture.title());
  return concat("<!DOCTYPE html>\n<html><head><meta charset=\"utf-8\"><title>", title, "</title></head><body>\n",
                picture.svg(), "</body></html>\n");
}

}  // namespace firn::tools
