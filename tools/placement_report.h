// Where the parts of a blob run, for people and as JSON. Not here: the paragraphs of firn inspect --plan (blob/plan.h).
#pragma once

#include <string>

#include <nlohmann/json.hpp>

#include "blob/plan.h"

namespace firn::tools {

/// An array: of entries that are cut alike their names in `entries`, and in `parts` `device`, `contents` and `reason`
/// of each function, in the order they run.
nlohmann::ordered_json placementJson(const blob::Blob& blob);

/// "prefill on reference, generate and head on cpu"; of a cut also what runs where: "generate on cpu (input, layer 0)
/// and reference (layers 1 to 3, output)".
std::string placementText(const blob::Blob& blob);

/// " on cpu", " on cpu and reference": where the entry whose first part is entries()[entry] runs. Empty for a blob of
/// one device.
std::string onDevices(const blob::Blob& blob, uint32_t entry);

}  // namespace firn::tools
