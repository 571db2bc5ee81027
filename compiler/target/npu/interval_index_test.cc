#include "compiler/target/npu/interval_index.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace firn::target {
namespace {

TEST(IntervalIndexTest, FindsWhatALoopFinds) {
  std::mt19937 random(1);
  for (size_t count = 0; count < 40; ++count) {
    std::vector<uint64_t> begins;
    for (size_t i = 0; i < count; ++i) begins.push_back(random() % 100);
    std::sort(begins.begin(), begins.end());
    IntervalIndex index(begins);
    std::vector<uint64_t> ends(count);
    for (int step = 0; step < 200; ++step) {
      if (count > 0) {
        const auto place = static_cast<uint32_t>(random() % count);
        ends[place] = random() % 3 == 0 ? 0 : begins[place] + 1 + random() % 30;
        if (ends[place] == 0) {
          index.erase(place);
        } else {
          index.insert(place, ends[place]);
        }
      }
      const uint64_t begin = random() % 110;
      const uint64_t end = begin + 1 + random() % 20;
      std::vector<uint32_t> expected;
      for (uint32_t i = 0; i < count; ++i) {
        if (begins[i] < end && ends[i] > begin) expected.push_back(i);
      }
      std::vector<uint32_t> found;
      index.forEach(begin, end, [&](uint32_t place) { found.push_back(place); });
      ASSERT_EQ(found, expected);
    }
  }
}

}  // namespace
}  // namespace firn::target
