#include <algorithm>
#include <cmath>
#include <set>

#include <nlohmann/json.hpp>

#include "base/concat.h"
#include "base/joined.h"
#include "base/quote.h"
#include "base/real_text.h"
#include "blob/machine/machine.h"
#include "blob/machine/machine_fields.h"

namespace firn::machine {
namespace {

using nlohmann::json;

/// A value for a message: numbers and texts themselves, of the rest the kind.
std::string foundText(const json* value) {
  if (value == nullptr) return "nothing";
  if (value->is_string()) return concat("the text ", firn::quoted(value->get_ref<const std::string&>()));
  if (value->is_number() || value->is_boolean() || value->is_null()) return value->dump();
  if (value->is_array()) return concat("a list of ", value->size());
  return "an object";
}

Status wrong(std::string_view path, const json* found, std::string_view expected) {
  return invalidArgument(concat("field '", path, "': found ", foundText(found), ", expected ", expected));
}

std::string rangeText(std::string_view what, uint64_t low, uint64_t high) {
  return concat(what, " from ", low, " to ", high);
}

/// nullptr when the object has no such key.
const json* memberOf(const json& object, std::string_view name) {
  const auto found = object.find(name);
  return found == object.end() ? nullptr : &*found;
}

/// Refuses keys that are none of `names`: a typing error would otherwise go unseen.
template <typename Names>
Status checkKeys(const json& object, std::string_view path, const Names& names) {
  for (const auto& [key, value] : object.items()) {
    if (std::ranges::find(names, std::string_view(key)) == std::ranges::end(names)) {
      return invalidArgument(concat(path.empty() ? "the file" : concat("field '", path, "'"),
                                    ": found the unknown field ", firn::quoted(key), ", expected ",
                                    joined(names, ", ")));
    }
  }
  return Status::ok();
}

Result<uint64_t> readWhole(const json* value, std::string_view path, uint64_t low, uint64_t high) {
  if (value == nullptr || !value->is_number_unsigned() || value->get<uint64_t>() < low ||
      value->get<uint64_t>() > high) {
    return wrong(path, value, rangeText("a whole number", low, high));
  }
  return value->get<uint64_t>();
}

Result<std::string> readText(const json* value, const Field& field) {
  const bool isText = value != nullptr && value->is_string();
  const std::string text = isText ? value->get<std::string>() : "";
  const auto isControl = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
  if (!isText || text.size() < field.low || text.size() > field.high || std::ranges::any_of(text, isControl)) {
    return wrong(fieldPath(field), value,
                 rangeText("a text without control characters, of bytes", field.low, field.high));
  }
  return text;
}

/// Reads the value of one field into a machine.
class FieldReader {
 public:
  FieldReader(Machine& machine, const Field& field, const json* value)
      : machine_(machine), field_(field), value_(value), path_(fieldPath(field)) {}

  Status operator()(uint32_t Machine::* member) {
    FIRN_ASSIGN_OR_RETURN(const uint64_t number, readWhole(value_, path_, field_.low, field_.high));
    machine_.*member = static_cast<uint32_t>(number);
    return Status::ok();
  }

  Status operator()(uint64_t Machine::* member) {
    FIRN_ASSIGN_OR_RETURN(machine_.*member, readWhole(value_, path_, field_.low, field_.high));
    return Status::ok();
  }

  Status operator()(double Energy::* member) {
    const double number = value_ != nullptr && value_->is_number() ? value_->get<double>() : NAN;
    if (!(number >= static_cast<double>(field_.low) && number <= static_cast<double>(field_.high))) {
      return wrong(path_, value_, rangeText("a number", field_.low, field_.high));
    }
    if (!machine_.energy) machine_.energy.emplace();
    (*machine_.energy).*member = number;
    return Status::ok();
  }

  Status operator()(std::string Machine::* member) {
    FIRN_ASSIGN_OR_RETURN(machine_.*member, readText(value_, field_));
    constexpr std::string_view kName = "abcdefghijklmnopqrstuvwxyz0123456789_.-";
    if ((machine_.*member).find_first_not_of(kName) != std::string::npos) {
      return wrong(path_, value_, "only lower-case letters, digits, '_', '.' and '-'");
    }
    return Status::ok();
  }

  Status operator()(SourceText) {
    FIRN_ASSIGN_OR_RETURN(std::string text, readText(value_, field_));
    machine_.sources.push_back({std::string(field_.section), std::move(text)});
    return Status::ok();
  }

  Status operator()(GridList) {
    if (value_ == nullptr || !value_->is_array() || value_->empty() || value_->size() > kMostGrids) {
      return wrong(path_, value_, concat("a list of 1 to ", kMostGrids, " grids [rows, channels, depth]"));
    }
    for (size_t i = 0; i < value_->size(); ++i) {
      FIRN_RETURN_IF_ERROR(readGrid((*value_)[i], concat(path_, "[", i, "]")));
    }
    return Status::ok();
  }

  Status operator()(KernelTable) {
    if (value_ == nullptr || !value_->is_object()) {
      return wrong(path_, value_, R"(an object with a cost line {"memory": .., "ops": ..} for every kernel)");
    }
    FIRN_RETURN_IF_ERROR(checkKeys(*value_, path_, kShaveKernels));
    for (size_t i = 0; i < kShaveKernels.size(); ++i) {
      FIRN_ASSIGN_OR_RETURN(machine_.kernels[i],
                            readCost(memberOf(*value_, kShaveKernels[i]), concat(path_, ".", kShaveKernels[i])));
    }
    return Status::ok();
  }

 private:
  Status readGrid(const json& value, const std::string& path) {
    if (!value.is_array() || value.size() != 3) return wrong(path, &value, "three numbers [rows, channels, depth]");
    uint64_t sizes[3] = {};
    for (size_t i = 0; i < 3; ++i) {
      FIRN_ASSIGN_OR_RETURN(sizes[i], readWhole(&value[i], concat(path, "[", i, "]"), field_.low, field_.high));
    }
    machine_.grids.push_back(
        {static_cast<uint32_t>(sizes[0]), static_cast<uint32_t>(sizes[1]), static_cast<uint32_t>(sizes[2])});
    return Status::ok();
  }

  Result<KernelCost> readCost(const json* value, const std::string& path) {
    constexpr std::array<std::string_view, 2> kNames = {"memory", "ops"};
    if (value == nullptr || !value->is_object()) return wrong(path, value, R"(a cost line {"memory": .., "ops": ..})");
    FIRN_RETURN_IF_ERROR(checkKeys(*value, path, kNames));
    uint64_t counts[2] = {};
    for (size_t i = 0; i < 2; ++i) {
      FIRN_ASSIGN_OR_RETURN(
          counts[i], readWhole(memberOf(*value, kNames[i]), concat(path, ".", kNames[i]), field_.low, field_.high));
    }
    return KernelCost{static_cast<uint32_t>(counts[0]), static_cast<uint32_t>(counts[1])};
  }

  Machine& machine_;
  const Field& field_;
  const json* value_;
  std::string path_;
};

/// The names that may stand in the object of `section`; those of "" are its own fields and the other sections.
std::vector<std::string_view> namesIn(std::string_view section) {
  std::vector<std::string_view> names;
  for (const Field& field : machineFields()) {
    const std::string_view name = field.section == section ? field.name : section.empty() ? field.section : "";
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  }
  return names;
}

Status noCmx(const json* found) {
  return unsupported(
      concat("the machine has no CMX: field 'cmx.bytes_per_tile': found ", foundText(found),
             "; the npu target keeps the operands of every task in the scratchpad of its tile and cannot "
             "do without one"));
}

/// The objects of the file, and no others.
Status checkSections(const json& file) {
  if (!file.is_object()) return invalidArgument(concat("found ", foundText(&file), ", expected an object of fields"));
  FIRN_RETURN_IF_ERROR(checkKeys(file, "", namesIn("")));
  for (const Field& field : machineFields()) {
    if (field.section.empty()) continue;
    const json* section = memberOf(file, field.section);
    if (section == nullptr && field.section == kOptionalSection) continue;
    if (section == nullptr && field.section == "cmx") return noCmx(section);
    if (section == nullptr || !section->is_object()) return wrong(field.section, section, "an object of fields");
    FIRN_RETURN_IF_ERROR(checkKeys(*section, field.section, namesIn(field.section)));
  }
  const json* cmxBytes = memberOf(*memberOf(file, "cmx"), "bytes_per_tile");
  return cmxBytes != nullptr && *cmxBytes == 0 ? noCmx(cmxBytes) : Status::ok();
}

/// What no field can say alone.
Status checkTogether(const Machine& machine) {
  if (queueCount(machine) > kMostQueues) {
    return invalidArgument(concat("fields 'dma.engines' and 'tiles': found ", machine.dmaEngines, " and ",
                                  machine.tiles, ", together ", queueCount(machine),
                                  " queues, expected engines + 2 x tiles of at most ", kMostQueues));
  }
  for (size_t i = 0; i < machine.grids.size(); ++i) {
    const Grid& grid = machine.grids[i];
    const uint64_t macs = uint64_t{grid.rows} * grid.channels * grid.depth;
    if (macs != machine.macsPerCycle) {
      return invalidArgument(concat("field 'dpu.grids[", i, "]': found ", grid.rows, " x ", grid.channels, " x ",
                                    grid.depth, " = ", macs,
                                    ", expected 'dpu.macs_per_cycle' = ", machine.macsPerCycle));
    }
  }
  return Status::ok();
}

/// A file has some 150 values, at most four deep: a cost line in the table of kernels in the object of SHAVE.
constexpr size_t kMostValues = 1000;
constexpr int kMostDepth = 8;
/// Ends the parse of a file that would make a tree many times its size.
struct TooMuch {};

/// "line 3, column 7" of the byte that has `before` before it.
std::string placeOf(std::string_view before) {
  const size_t line = before.rfind('\n') + 1;  // npos + 1 is 0: the first one
  return concat("line ", 1 + std::ranges::count(before, '\n'), ", column ", 1 + before.size() - line);
}

/// What the parser found and expected there: the end of its message, behind names of its own.
std::string causeOf(const json::parse_error& error, std::string_view text) {
  const std::string_view said = error.what();
  const size_t begin = said.find(" - ");
  const std::string_view cause = begin == std::string_view::npos ? said : said.substr(begin + 3);
  const bool isComment = error.byte > 0 && error.byte <= text.size() && text[error.byte - 1] == '/';
  return concat(cause, isComment ? " (JSON has no comments)" : "");
}

/// Parses, and refuses what the parser would forgive: a key that stands twice in an object.
Result<json> parseText(std::string_view text) {
  if (text.size() > kMostMachineTextBytes) {
    return invalidArgument(concat("found ", text.size(), " bytes, expected at most ", kMostMachineTextBytes));
  }
  std::vector<std::set<std::string>> keys;
  std::string twice;
  size_t values = 0;
  const auto watch = [&](int depth, json::parse_event_t event, json& parsed) {
    const bool isValue = event == json::parse_event_t::value || event == json::parse_event_t::array_start ||
                         event == json::parse_event_t::object_start;
    if (depth > kMostDepth || (isValue && ++values > kMostValues)) throw TooMuch();
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second && twice.empty()) {
      twice = concat("field ", firn::quoted(parsed.get_ref<const std::string&>()),
                     ": found twice in one object, expected once");
    }
    return true;
  };
  try {
    json file = json::parse(text, watch);
    if (!twice.empty()) return invalidArgument(twice);
    return file;
  } catch (const json::parse_error& error) {                  // the only way to learn the place
    const size_t at = std::min(error.byte, text.size() + 1);  // counted from 1; 0: before the first
    return invalidArgument(concat(placeOf(text.substr(0, at == 0 ? 0 : at - 1)), ": found text that is no JSON: ",
                                  causeOf(error, text), "; expected a machine file (docs/npu.md)"));
  } catch (const TooMuch&) {
    return invalidArgument(concat("found more than ", kMostValues, " values, or objects and lists more than ",
                                  kMostDepth, " deep, expected the fields of a machine file (docs/npu.md)"));
  } catch (const json::exception& error) {  // 1e999, which the message has between quotes, and no place
    const std::string_view said = error.what();
    const size_t open = std::min(said.find('\''), said.size() - 1);
    const std::string_view number = said.substr(open + 1, said.rfind('\'') - std::min(open + 1, said.rfind('\'')));
    return invalidArgument(concat(placeOf(text.substr(0, text.find(number))), ": found the number ", number,
                                  ", which no double holds, expected numbers within the limits of docs/npu.md"));
  }
}

Result<Machine> readMachine(std::string_view text) {
  FIRN_ASSIGN_OR_RETURN(const json file, parseText(text));
  FIRN_RETURN_IF_ERROR(checkSections(file));
  Machine machine;
  for (const Field& field : machineFields()) {
    const json* object = field.section.empty() ? &file : memberOf(file, field.section);
    if (object == nullptr) continue;  // the optional section
    FIRN_RETURN_IF_ERROR(std::visit(FieldReader(machine, field, memberOf(*object, field.name)), field.into));
  }
  FIRN_RETURN_IF_ERROR(checkTogether(machine));
  return machine;
}

}  // namespace

Result<Machine> parseMachine(std::string_view json, std::string_view where) {
  Result<Machine> machine = readMachine(json);
  if (!machine.isOk()) return machine.status().withPlace(concat("machine ", where));
  return machine;
}

}  // namespace firn::machine
