// Boxes of a picture that are too small to be seen apart, as few rectangles: they are painted into pixels, and pixels
// that look alike are drawn together. So a picture is bounded by its size, whatever it shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace firn::tools {

class PixelGrid {
 public:
  PixelGrid(uint32_t width, uint32_t height) : width_(width), height_(height), cells_(size_t{width} * height) {}

  /// What a pixel shows.
  struct Cell {
    uint32_t boxes = 0;
    uint32_t first = 0;  ///< the box painted there first, and the last one
    uint32_t last = 0;
    uint8_t kind = 0;

    bool operator==(const Cell&) const = default;
  };
  /// A rectangle of pixels alike: of one box, or of several whose kind is the same.
  struct Patch {
    uint32_t left = 0;
    uint32_t top = 0;
    uint32_t width = 0;
    uint32_t height = 0;
    Cell cell;  ///< `first` of the pixel at the top left, `last` of that at the bottom right, the most `boxes` of one
  };
  struct Area {
    double left = 0;
    double top = 0;
    double right = 0;
    double bottom = 0;
  };

  /// Paints each pixel that `area` touches. Where boxes of several kinds meet, the kind becomes `mixed`.
  void paint(const Area& area, uint32_t box, uint8_t kind, uint8_t mixed);

  /// All that was painted, each pixel once: at most one patch a pixel.
  std::vector<Patch> patches() const;

 private:
  const Cell& at(uint32_t x, uint32_t y) const { return cells_[size_t{y} * width_ + x]; }

  uint32_t width_;
  uint32_t height_;
  std::vector<Cell> cells_;
};

}  // namespace firn::tools
