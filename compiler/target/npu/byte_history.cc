#include "compiler/target/npu/byte_history.h"

#include <algorithm>

namespace firn::target {

ByteHistory::Page& ByteHistory::pageAt(uint64_t number) {
  if (number >= pages_.size()) pages_.resize(number + 1);
  Page& page = pages_[number];
  if (page.empty()) page.push_back({});
  return page;
}

size_t ByteHistory::splitAt(Page& page, uint32_t offset) {
  if (offset == kPageBytes) return page.size();
  const auto behind = std::upper_bound(page.begin(), page.end(), offset,
                                       [](uint32_t value, const HistoryCell& cell) { return value < cell.begin; });
  const auto cell = behind - 1;
  if (cell->begin == offset) return static_cast<size_t>(cell - page.begin());
  HistoryCell rest = *cell;
  rest.begin = offset;
  return static_cast<size_t>(page.insert(behind, rest) - page.begin());
}

void ByteHistory::write(uint64_t begin, uint64_t end, uint32_t writer, uint32_t value) {
  while (begin < end) {
    const uint64_t pageBegin = begin / kPageBytes * kPageBytes;
    const uint64_t stop = std::min(end, pageBegin + kPageBytes);
    Page& page = pageAt(begin / kPageBytes);
    splitAt(page, static_cast<uint32_t>(stop - pageBegin));
    const auto offset = static_cast<uint32_t>(begin - pageBegin);
    const size_t place = splitAt(page, offset);
    const auto first = page.begin() + static_cast<std::ptrdiff_t>(place);
    const auto behind =
        std::find_if(first, page.end(), [&](const HistoryCell& cell) { return pageBegin + cell.begin >= stop; });
    *first = {.begin = offset, .writer = writer, .value = value, .readers = 0};
    page.erase(first + 1, behind);
    begin = stop;
  }
}

}  // namespace firn::target
