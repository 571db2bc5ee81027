// Why something runs where it does, in words: for the warnings of a compile and for `firn inspect --plan`. Part of
// phase "place". Not here: the decisions (place.cc).
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace firn::passes {

/// That a target cannot run an op of some name, and the cause.
struct Refusal {
  std::string target;
  std::string op;   ///< "graph.gelu"
  std::string why;  ///< of Target::whyNot
  auto operator<=>(const Refusal&) const = default;
};

/// Stands for the ops before and behind the layers where a layer is named.
inline constexpr int64_t kOutsideLayers = -1;

/// "in layer 4", "in layers 0 to 3, 5", "outside the layers and in layer 4"; of more than three runs of layers "in 7 of
/// layers 0 to 12".
std::string whereText(const std::set<int64_t>& layers);

/// The reasons of one part of an entry, each once.
class PlaceReason {
 public:
  /// "--place head=cpu"; an empty one is none.
  void addOption(const std::string& option);
  void addRefusal(const Refusal& refusal, int64_t layer);

  /// The reasons, options first, with "; " between them. At most blob::kMaxStringBytes, so that a blob holds it whole:
  /// of too many, those that fit and how many more there are.
  std::string text() const;

 private:
  std::vector<std::string> options_;
  std::map<Refusal, std::set<int64_t>> refusals_;  ///< with their layers
};

}  // namespace firn::passes
