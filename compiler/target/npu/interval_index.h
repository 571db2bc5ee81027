// Finds, among many intervals whose begins are all known before, those of the present set that meet a given one.
#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace firn::target {

/// A set of intervals [begin, end), each at a fixed place of an order by begin. A tree of the greatest ends makes
/// insert and erase cost O(log n), and a search O(log n) for each interval that it finds.
class IntervalIndex {
 public:
  /// `begins` ascending: the begin of the interval at each place, whether it is ever present or not.
  explicit IntervalIndex(std::vector<uint64_t> begins)
      : begins_(std::move(begins)), leaves_(std::bit_ceil(std::max<size_t>(begins_.size(), 1))), ends_(2 * leaves_) {}

  /// The interval at `place` ends at `end` > 0 from now on. It may begin later than its place says.
  void insert(uint32_t place, uint64_t end) { set(place, end); }
  void erase(uint32_t place) { set(place, 0); }

  /// Calls visit(place) for each present interval that meets [begin, end), in ascending order. `visit` must not change
  /// the set.
  template <typename Visit>
  void forEach(uint64_t begin, uint64_t end, const Visit& visit) const {
    const auto limit = std::lower_bound(begins_.begin(), begins_.end(), end) - begins_.begin();
    search({1, 0, leaves_}, {begin, static_cast<size_t>(limit)}, visit);
  }

 private:
  struct Node {
    size_t index;  ///< in ends_; its children are 2 * index and 2 * index + 1
    size_t first;  ///< its first leaf
    size_t leaves;
  };
  struct Query {
    uint64_t begin;
    size_t limit;  ///< leaves from here on begin too late
  };

  void set(uint32_t place, uint64_t end) {
    assert(place < begins_.size());
    size_t node = leaves_ + place;
    ends_[node] = end;
    for (node /= 2; node > 0; node /= 2) {
      const uint64_t greatest = std::max(ends_[2 * node], ends_[2 * node + 1]);
      if (ends_[node] == greatest) break;
      ends_[node] = greatest;
    }
  }

  template <typename Visit>
  void search(Node node, Query query, const Visit& visit) const {
    if (node.first >= query.limit || ends_[node.index] <= query.begin) return;
    if (node.leaves == 1) {
      visit(static_cast<uint32_t>(node.first));
      return;
    }
    const size_t half = node.leaves / 2;
    search({2 * node.index, node.first, half}, query, visit);
    search({2 * node.index + 1, node.first + half, half}, query, visit);
  }

  std::vector<uint64_t> begins_;
  size_t leaves_;
  std::vector<uint64_t> ends_;  ///< 0: nothing there
};

}  // namespace firn::target
