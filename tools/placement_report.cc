#include "tools/placement_report.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/concat.h"
#include "base/joined.h"
#include "blob/names.h"

namespace firn::tools {
namespace {

/// The devices of `parts`, each once, in the order they run.
std::vector<blob::Target> devicesOf(const std::vector<blob::PlanPart>& parts) {
  std::vector<blob::Target> devices;
  for (const blob::PlanPart& part : parts) {
    if (std::ranges::find(devices, part.target) == devices.end()) devices.push_back(part.target);
  }
  return devices;
}

std::string placeOf(const std::vector<blob::PlanPart>& parts) {
  const std::vector<blob::Target> devices = devicesOf(parts);
  if (devices.size() == 1) return blob::targetNames(devices);
  return joined(parts, " and ", [](const blob::PlanPart& part) {
    return concat(blob::targetName(part.target), " (", part.contents, ")");
  });
}

}  // namespace

nlohmann::ordered_json placementJson(const blob::Blob& blob) {
  auto groups = nlohmann::ordered_json::array();
  for (const blob::PlanGroup& group : blob::planOf(blob)) {
    nlohmann::ordered_json& json = groups.emplace_back();
    json["entries"] = group.entries;
    for (const blob::PlanPart& part : group.parts) {
      json["parts"].push_back(
          {{"device", blob::targetName(part.target)}, {"contents", part.contents}, {"reason", part.reason}});
    }
  }
  return groups;
}

std::string placementText(const blob::Blob& blob) {
  std::vector<std::pair<std::string, std::vector<blob::EntryKind>>> places;  // and what runs there
  std::map<std::string, size_t> numbers;  // of the places: a hostile blob has as many as entries
  for (const blob::PlanGroup& group : blob::planOf(blob)) {
    const auto [known, isNew] = numbers.try_emplace(placeOf(group.parts), places.size());
    if (isNew) places.push_back({known->first, {}});
    for (const blob::EntryKind kind : group.kinds) {
      auto& kinds = places[known->second].second;
      if (std::ranges::find(kinds, kind) == kinds.end()) kinds.push_back(kind);
    }
  }
  return joined(places, ", ", [](const auto& place) {
    return concat(joined(place.second, " and ", blob::entryKindName), " on ", place.first);
  });
}

std::string onDevices(const blob::Blob& blob, uint32_t entry) {
  if (blob.targets().size() == 1) return {};
  return concat(" on ", blob::targetNames(devicesOf(blob::partsOf(blob, entry))));
}

}  // namespace firn::tools
