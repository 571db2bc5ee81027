#include "compiler/passes/place_reason.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "base/concat.h"
#include "base/joined.h"
#include "blob/layout.h"

namespace firn::passes {
namespace {

constexpr size_t kMaxRuns = 3;
constexpr size_t kRoomForRest = std::string_view("; and 99999 more").size();

/// The first and the last number of each run of neighbours.
std::vector<std::pair<int64_t, int64_t>> runsOf(const std::set<int64_t>& layers) {
  std::vector<std::pair<int64_t, int64_t>> runs;
  for (const int64_t layer : layers) {
    if (layer == kOutsideLayers) continue;
    if (runs.empty() || runs.back().second + 1 != layer) runs.emplace_back(layer, layer);
    runs.back().second = layer;
  }
  return runs;
}

std::string layersText(const std::set<int64_t>& layers) {
  const auto runs = runsOf(layers);
  if (runs.empty()) return "";
  const size_t count = layers.size() - layers.count(kOutsideLayers);
  if (count == 1) return concat("in layer ", runs[0].first);
  if (runs.size() > kMaxRuns) {
    return concat("in ", count, " of layers ", runs.front().first, " to ", runs.back().second);
  }
  const auto text = [](const auto& run) {
    return run.first == run.second ? concat(run.first) : concat(run.first, " to ", run.second);
  };
  return concat("in layers ", joined(runs, ", ", text));
}

std::string_view withoutDialect(std::string_view op) { return op.substr(op.find('.') + 1); }

}  // namespace

std::string whereText(const std::set<int64_t>& layers) {
  std::vector<std::string> places;
  if (layers.contains(kOutsideLayers)) places.emplace_back("outside the layers");
  if (std::string text = layersText(layers); !text.empty()) places.push_back(std::move(text));
  return joined(places, " and ");
}

void PlaceReason::addOption(const std::string& option) {
  if (!option.empty() && std::ranges::find(options_, option) == options_.end()) options_.push_back(option);
}

void PlaceReason::addRefusal(const Refusal& refusal, int64_t layer) { refusals_[refusal].insert(layer); }

std::string PlaceReason::text() const {
  std::vector<std::string> reasons = options_;
  for (const auto& [refusal, layers] : refusals_) {
    reasons.push_back(
        concat(refusal.target, " cannot run ", withoutDialect(refusal.op), " ", whereText(layers), ": ", refusal.why));
  }
  std::string text;
  for (size_t i = 0; i < reasons.size(); ++i) {
    const std::string piece = concat(i == 0 ? "" : "; ", reasons[i]);
    const size_t room = blob::kMaxStringBytes - (i + 1 == reasons.size() ? 0 : kRoomForRest);
    if (text.size() + piece.size() > room) return concat(text, i == 0 ? "" : "; and ", reasons.size() - i, " more");
    text += piece;
  }
  return text;
}

}  // namespace firn::passes
