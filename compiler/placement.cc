#include "compiler/placement.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/concat.h"
#include "base/quote.h"
#include "blob/names.h"

namespace firn::compiler {
namespace {

Status refuse(std::string_view place, std::string_view why) {
  return invalidArgument(concat("--place ", quoted(place), ": ", why));
}

/// A number that is the whole of `text`; `absent` for an empty one.
std::optional<uint32_t> layerNumber(std::string_view text, uint32_t absent) {
  if (text.empty()) return absent;
  constexpr size_t kMaxDigits = 10;  // of 32 bits; zeros in front would make the reason in a blob long
  uint32_t number = 0;
  if (text.size() > kMaxDigits) return std::nullopt;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size() || number == kToTheEnd) return std::nullopt;
  return number;
}

/// What is left of the '='.
Status parseWhat(std::string_view what, PlaceRange& range) {
  constexpr std::string_view kForms = "expected head, layers or layers[FIRST:END] before the '='";
  range.end = kToTheEnd;
  range.isHead = what == "head";
  if (range.isHead || what == "layers") return Status::ok();
  constexpr std::string_view kOpen = "layers[";
  const size_t colon = what.find(':');
  const bool isBracketed = what.starts_with(kOpen) && what.ends_with(']');
  if (isBracketed && colon == std::string_view::npos) {
    const auto layer = layerNumber(what.substr(kOpen.size(), what.size() - kOpen.size() - 1), kToTheEnd);
    if (!layer || *layer >= kToTheEnd - 1) return refuse(range.text, kForms);
    return refuse(range.text, concat(kForms, "; one layer is written layers[", *layer, ":", *layer + 1, "]"));
  }
  if (!isBracketed) return refuse(range.text, kForms);
  const auto first = layerNumber(what.substr(kOpen.size(), colon - kOpen.size()), 0);
  const auto end = layerNumber(what.substr(colon + 1, what.size() - colon - 2), kToTheEnd);
  if (!first || !end) return refuse(range.text, "FIRST and END are layer numbers of at most 10 digits, or left out");
  if (*first >= *end) return refuse(range.text, "the range holds no layer: END is the first layer behind it");
  range.first = *first;
  range.end = *end;
  return Status::ok();
}

bool overlap(const PlaceRange& a, const PlaceRange& b) {
  if (a.isHead || b.isHead) return a.isHead && b.isHead;
  return a.first < b.end && b.first < a.end;
}

}  // namespace

Result<std::vector<PlaceRange>> parsePlaces(std::string_view text) {
  std::vector<PlaceRange> places;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    PlaceRange range;
    range.text = text.substr(0, comma);
    const std::string_view place = range.text;
    const size_t equals = place.rfind('=');
    if (equals == std::string_view::npos) return refuse(place, "expected WHAT=DEVICE");
    FIRN_RETURN_IF_ERROR(parseWhat(place.substr(0, equals), range));
    range.target = place.substr(equals + 1);
    if (!blob::targetFromName(range.target)) {
      return refuse(place, concat("no device ", quoted(range.target), ", expected one of ", blob::targetNames()));
    }
    for (const PlaceRange& other : places) {
      if (overlap(range, other)) return refuse(place, concat("places again what ", quoted(other.text), " places"));
    }
    places.push_back(std::move(range));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    if (text.empty()) return refuse(",", "a place is missing behind the last comma");
  }
  return places;
}

Status checkPlaces(const std::vector<PlaceRange>& places, uint32_t layers) {
  for (const PlaceRange& place : places) {
    if (place.isHead) continue;
    const uint32_t last = place.end == kToTheEnd ? place.first : place.end - 1;
    if (last >= layers) return refuse(place.text, concat("the model has layers 0 to ", layers - 1));
  }
  return Status::ok();
}

}  // namespace firn::compiler
