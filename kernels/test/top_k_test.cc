// top_k of the reference and of every instruction set, and lists merged from parts: against a sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/cpu/kernels.h"
#include "kernels/reference/top_k.h"

namespace firn::cpu {
namespace {

constexpr float kInf = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Lists of `room` for each of some rows, with elements between the rows that nobody may touch.
struct Lists {
  static constexpr float kCanary = 77;

  Lists(uint32_t rows, uint32_t listRoom)
      : room(listRoom), values(rows * stride(), kCanary), ids(rows * stride(), 77) {}
  size_t stride() const { return room + 3; }
  TopLists view() { return {values.data(), ids.data(), stride(), stride()}; }
  /// Bits, so that -0 is not 0.
  friend bool operator==(const Lists& a, const Lists& b) {
    return a.ids == b.ids && a.values.size() == b.values.size() &&
           std::equal(a.values.begin(), a.values.end(), b.values.begin(),
                      [](float x, float y) { return x == y && std::signbit(x) == std::signbit(y); });
  }

  uint32_t room;
  std::vector<float> values;
  std::vector<int32_t> ids;
};

struct Problem {
  uint32_t rows;
  uint32_t columns;
  std::vector<float> numbers;

  ConstRows view() const { return {numbers.data(), columns}; }
};

/// By a sort of all.
Lists sorted(const Problem& problem, uint32_t room) {
  Lists lists(problem.rows, room);
  for (uint32_t i = 0; i < problem.rows; ++i) {
    const float* in = &problem.numbers[size_t{i} * problem.columns];
    std::vector<int32_t> order;
    for (uint32_t j = 0; j < problem.columns; ++j) {
      if (!std::isnan(in[j])) order.push_back(static_cast<int32_t>(j));
    }
    std::ranges::sort(order, [&](int32_t a, int32_t b) { return in[a] != in[b] ? in[a] > in[b] : a < b; });
    for (uint32_t j = 0; j < room; ++j) {
      const bool isThere = j < order.size();
      lists.values[i * lists.stride() + j] = isThere ? in[order[j]] : -kInf;
      lists.ids[i * lists.stride() + j] = isThere ? order[j] : -1;
    }
  }
  return lists;
}

std::vector<InstructionSet> supportedSets() {
  std::vector<InstructionSet> sets;
  for (const InstructionSet isa : {InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (isSupported(isa)) sets.push_back(isa);
  }
  return sets;
}

Lists byReference(const Problem& problem, uint32_t room) {
  Lists lists(problem.rows, room);
  reference::topK({.in = {problem.numbers.data(), problem.rows, problem.columns, problem.columns},
                   .values = {lists.values.data(), problem.rows, room, lists.stride()},
                   .ids = {lists.ids.data(), problem.rows, room, lists.stride()}});
  return lists;
}

/// Of `parts` slices of the columns, merged.
Lists byParts(const CpuKernels& table, const Problem& problem, uint32_t room, uint32_t parts) {
  const size_t partSize = size_t{problem.rows} * room;
  std::vector<float> values(parts * partSize);
  std::vector<int32_t> ids(parts * partSize);
  for (uint32_t part = 0; part < parts; ++part) {
    const uint32_t first = problem.columns * part / parts;
    table.topK({.in = {problem.numbers.data() + first, problem.columns},
                .out = {&values[part * partSize], &ids[part * partSize], room, room},
                .rows = problem.rows,
                .columns = problem.columns * (part + 1) / parts - first,
                .count = room,
                .firstId = static_cast<int32_t>(first)});
  }
  Lists lists(problem.rows, room);
  table.topKMerge({.values = values.data(),
                   .ids = ids.data(),
                   .valuePartStride = partSize,
                   .valueStride = room,
                   .idPartStride = partSize,
                   .idStride = room,
                   .out = lists.view(),
                   .parts = parts,
                   .rows = problem.rows,
                   .count = room});
  return lists;
}

void expectRightLists(const Problem& problem, uint32_t room, const std::string& what) {
  const Lists expected = sorted(problem, room);
  EXPECT_TRUE(byReference(problem, room) == expected) << what << ", reference";
  for (const InstructionSet isa : supportedSets()) {
    const CpuKernels& table = kernels(isa);
    Lists found(problem.rows, room);
    table.topK({.in = problem.view(),
                .out = found.view(),
                .rows = problem.rows,
                .columns = problem.columns,
                .count = room,
                .firstId = 0});
    EXPECT_TRUE(found == expected) << what << ", " << instructionSetName(isa);
    for (const uint32_t parts : {1U, 2U, 3U, 7U}) {
      EXPECT_TRUE(byParts(table, problem, room, parts) == expected)
          << what << ", " << instructionSetName(isa) << ", " << parts << " parts";
    }
  }
}

/// Numbers of every kind that breaks an order: ties, infinities, NaN, zeros of both signs, runs up and down.
struct Source {
  const char* name;
  float (*next)(uint32_t column, std::mt19937& random);
};
constexpr Source kSources[] = {
    {"spread", [](uint32_t, std::mt19937& random) { return static_cast<float>(random()) * 1e-6F - 2000; }},
    {"few values", [](uint32_t, std::mt19937& random) { return static_cast<float>(random() % 5) - 2; }},
    {"zeros", [](uint32_t, std::mt19937& random) { return random() % 2 == 0 ? 0.0F : -0.0F; }},
    {"rising", [](uint32_t column, std::mt19937&) { return static_cast<float>(column); }},
    {"falling", [](uint32_t column, std::mt19937&) { return -static_cast<float>(column); }},
    {"mostly NaN", [](uint32_t, std::mt19937& random) { return random() % 50 == 0 ? 1.0F : kNan; }},
    {"NaN", [](uint32_t, std::mt19937&) { return kNan; }},
    {"minus infinity", [](uint32_t, std::mt19937&) { return -kInf; }},
    {"all kinds",
     [](uint32_t, std::mt19937& random) {
       constexpr float kKinds[] = {kNan, kInf, -kInf, 0.0F, -0.0F, 1e-45F, -1e-45F, 3e38F, -3e38F, 1.0F};
       return kKinds[random() % std::size(kKinds)];
     }},
};

TEST(TopKTest, ListsAreThoseOfASort) {
  std::mt19937 random(7);
  for (const Source& source : kSources) {
    for (const uint32_t columns : {1U, 2U, 15U, 16U, 17U, 80U, 511U, 512U, 1025U, 4099U}) {
      Problem problem{.rows = 2, .columns = columns, .numbers = {}};
      for (uint32_t i = 0; i < problem.rows * columns; ++i) problem.numbers.push_back(source.next(i % columns, random));
      for (const uint32_t room : {1U, 2U, 16U, 64U, 255U}) {
        expectRightLists(
            problem, room,
            std::string(source.name) + ", the best " + std::to_string(room) + " of " + std::to_string(columns));
      }
    }
  }
}

TEST(TopKTest, NothingIsWrittenWithoutRoom) {
  for (const InstructionSet isa : supportedSets()) {
    const float number = 1;
    Lists found(1, 0);
    kernels(isa).topK({.in = {&number, 1}, .out = found.view(), .rows = 1, .columns = 1, .count = 0, .firstId = 0});
    EXPECT_TRUE(found == Lists(1, 0));
  }
}

}  // namespace
}  // namespace firn::cpu
