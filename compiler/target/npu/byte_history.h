// Who last wrote each byte of a memory, and who has read it since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace firn::target {

inline constexpr uint32_t kNobody = UINT32_MAX;

/// Small sets of tasks, each kept once, so that a stretch of bytes names its readers by a number; 0 is the empty set.
class ReaderSets {
 public:
  ReaderSets() : sets_(1) {}
  const std::vector<uint32_t>& at(uint32_t set) const { return sets_[set]; }

  /// The set with `reader`, without those of it for which isImplied(other) holds.
  template <typename IsImplied>
  uint32_t with(uint32_t set, uint32_t reader, const IsImplied& isImplied) {
    const auto [found, isNew] = known_.try_emplace(uint64_t{set} << 32 | reader, static_cast<uint32_t>(sets_.size()));
    if (isNew) {
      std::vector<uint32_t> readers;
      for (const uint32_t other : sets_[set]) {
        if (other != reader && !isImplied(other)) readers.push_back(other);
      }
      readers.push_back(reader);
      sets_.push_back(std::move(readers));
    }
    return found->second;
  }

 private:
  std::vector<std::vector<uint32_t>> sets_;
  std::unordered_map<uint64_t, uint32_t> known_;  ///< set and reader
};

/// A stretch of bytes with one history, up to the next one's begin.
struct HistoryCell {
  uint32_t begin = 0;  ///< in its page
  uint32_t writer = kNobody;
  uint32_t value = 0;  ///< for which it was written
  uint32_t readers = 0;
};

/// The cells of one memory, in pages that are made when they are first touched. Memory: in proportion to the cells and
/// to the greatest address.
class ByteHistory {
 public:
  /// Calls visit(address, cell) for the cells that make up [begin, end), cut at its ends. visit may change all but the
  /// begin of a cell, and stops the walk by returning false.
  template <typename Visit>
  void forEach(uint64_t begin, uint64_t end, const Visit& visit) {
    while (begin < end) {
      const uint64_t number = begin / kPageBytes;
      const uint64_t pageBegin = number * kPageBytes;
      const uint64_t stop = std::min(end, pageBegin + kPageBytes);
      Page& page = pageAt(number);
      const size_t last = splitAt(page, static_cast<uint32_t>(stop - pageBegin));
      const size_t before = page.size();
      const size_t first = splitAt(page, static_cast<uint32_t>(begin - pageBegin));
      const size_t behind = last + page.size() - before;
      for (size_t i = first; i < behind; ++i) {
        if (!visit(pageBegin + page[i].begin, page[i])) return;
      }
      begin = stop;
    }
  }

  /// [begin, end) has one history now.
  void write(uint64_t begin, uint64_t end, uint32_t writer, uint32_t value);

 private:
  static constexpr uint64_t kPageBytes = 4096;
  using Page = std::vector<HistoryCell>;

  Page& pageAt(uint64_t number);
  /// The place of the cell that begins at `offset`, which is cut if need be; behind the last one for the page's end.
  static size_t splitAt(Page& page, uint32_t offset);

  std::vector<Page> pages_;
};

}  // namespace firn::target
