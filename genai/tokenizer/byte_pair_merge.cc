#include "genai/tokenizer/byte_pair_merge.h"

#include <algorithm>

namespace firn::genai {
namespace {

/// Orders a heap: the top has the lowest rank and, among equals, lies furthest left.
constexpr auto kLater = [](const auto& a, const auto& b) {
  return a.rank != b.rank ? a.rank > b.rank : a.left > b.left;
};

}  // namespace

void BytePairMerger::pushPair(uint32_t left) {
  const Symbol& symbol = symbols_[left];
  if (symbol.next == kNone) return;
  const uint32_t rightId = symbols_[symbol.next].id;
  const blob::MergeSlot* merge = image_.findMerge(symbol.id, rightId);
  if (merge == nullptr) return;
  heap_.push_back({merge->rank, left, symbol.id, rightId, merge->merged});
  std::push_heap(heap_.begin(), heap_.end(), kLater);
}

void BytePairMerger::apply(const Candidate& candidate) {
  Symbol& left = symbols_[candidate.left];
  if (left.id != candidate.leftId || left.next == kNone) return;
  Symbol& right = symbols_[left.next];
  if (right.id != candidate.rightId) return;
  left.id = candidate.merged;
  left.next = right.next;
  right.id = kNone;
  if (left.next != kNone) symbols_[left.next].previous = candidate.left;
  // A merge removes a symbol and pushes at most two pairs: at most 3n candidates in all.
  pushPair(candidate.left);
  if (left.previous != kNone) pushPair(left.previous);
}

void BytePairMerger::merge(std::string_view piece, std::vector<int32_t>& ids) {
  symbols_.clear();
  heap_.clear();
  for (const char byte : piece) {
    const uint32_t id = image_.byteToken(static_cast<uint8_t>(byte));
    if (id == blob::kNoToken) {
      ++bytesLeftOut_;
      continue;
    }
    const auto index = static_cast<uint32_t>(symbols_.size());
    if (index > 0) symbols_[index - 1].next = index;
    symbols_.push_back({id, index > 0 ? index - 1 : kNone, kNone});
  }
  for (uint32_t i = 0; i < symbols_.size(); ++i) pushPair(i);
  while (!heap_.empty()) {
    std::pop_heap(heap_.begin(), heap_.end(), kLater);
    const Candidate candidate = heap_.back();
    heap_.pop_back();
    apply(candidate);
  }
  for (uint32_t i = 0; i < symbols_.size(); i = symbols_[i].next) {
    ids.push_back(static_cast<int32_t>(symbols_[i].id));
    if (symbols_[i].next == kNone) break;
  }
}

}  // namespace firn::genai
