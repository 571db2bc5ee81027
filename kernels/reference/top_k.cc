#include "kernels/reference/top_k.h"

#include <algorithm>
#include <cassert>
#include <limits>

namespace firn::reference {
namespace {

void bestOfRow(std::span<const float> in, std::span<float> values, std::span<int32_t> ids) {
  size_t count = 0;  // of the list so far
  for (size_t j = 0; j < in.size(); ++j) {
    if (in[j] != in[j]) continue;  // NaN
    size_t place = count;          // behind all that are as good
    while (place > 0 && values[place - 1] < in[j]) --place;
    if (place == values.size()) continue;
    count = std::min(count + 1, values.size());
    std::shift_right(values.begin() + static_cast<ptrdiff_t>(place), values.begin() + static_cast<ptrdiff_t>(count), 1);
    std::shift_right(ids.begin() + static_cast<ptrdiff_t>(place), ids.begin() + static_cast<ptrdiff_t>(count), 1);
    values[place] = in[j];
    ids[place] = static_cast<int32_t>(j);
  }
  std::ranges::fill(values.subspan(count), -std::numeric_limits<float>::infinity());
  std::ranges::fill(ids.subspan(count), -1);
}

}  // namespace

void topK(const TopKArgs& args) {
  assert(args.values.columns == args.ids.columns);
  for (uint64_t i = 0; i < args.values.rows; ++i) {
    bestOfRow({args.in.row(i), args.in.columns}, {args.values.row(i), args.values.columns},
              {args.ids.row(i), args.ids.columns});
  }
}

}  // namespace firn::reference
