#include "tools/timeline/pixel_grid.h"

#include <algorithm>

namespace firn::tools {
namespace {

bool isAlike(const PixelGrid::Cell& a, const PixelGrid::Cell& b) {
  return a == b || (a.boxes > 1 && b.boxes > 1 && a.kind == b.kind);
}

/// The pixel of a place, from 0; places beyond the grid belong to its last pixel.
uint32_t pixelOf(double place, uint32_t pixels) {
  return place <= 0 ? 0 : static_cast<uint32_t>(std::min(place, static_cast<double>(pixels - 1)));
}

}  // namespace

void PixelGrid::paint(const Area& area, uint32_t box, uint8_t kind, uint8_t mixed) {
  const uint32_t right = pixelOf(area.right, width_), bottom = pixelOf(area.bottom, height_);
  for (uint32_t y = pixelOf(area.top, height_); y <= bottom; ++y) {
    for (uint32_t x = pixelOf(area.left, width_); x <= right; ++x) {
      Cell& cell = cells_[size_t{y} * width_ + x];
      if (cell.boxes == 0) cell = {.boxes = 0, .first = box, .last = box, .kind = kind};
      ++cell.boxes;
      cell.last = box;
      if (cell.kind != kind) cell.kind = mixed;
    }
  }
}

std::vector<PixelGrid::Patch> PixelGrid::patches() const {
  std::vector<Patch> patches;
  std::vector<bool> isDone(cells_.size());
  const auto isOpen = [&](uint32_t x, uint32_t y, const Cell& like) {
    return !isDone[size_t{y} * width_ + x] && isAlike(at(x, y), like);
  };
  for (uint32_t y = 0; y < height_; ++y) {
    for (uint32_t x = 0; x < width_; ++x) {
      const Cell& corner = at(x, y);
      if (corner.boxes == 0 || !isOpen(x, y, corner)) continue;
      uint32_t right = x + 1, bottom = y + 1;
      while (right < width_ && isOpen(right, y, corner)) ++right;
      const auto isRowOpen = [&] {
        for (uint32_t i = x; i < right; ++i) {
          if (!isOpen(i, bottom, corner)) return false;
        }
        return true;
      };
      while (bottom < height_ && isRowOpen()) ++bottom;
      Cell sum = corner;
      for (uint32_t j = y; j < bottom; ++j) {
        for (uint32_t i = x; i < right; ++i) {
          isDone[size_t{j} * width_ + i] = true;
          sum.boxes = std::max(sum.boxes, at(i, j).boxes);
          sum.last = at(i, j).last;
        }
      }
      patches.push_back({.left = x, .top = y, .width = right - x, .height = bottom - y, .cell = sum});
    }
  }
  return patches;
}

}  // namespace firn::tools
