#include "compiler/target/npu/machine_files.h"

#include <algorithm>
#include <span>

#include "base/concat.h"
#include "base/joined.h"
#include "base/mapped_file.h"
#include "base/quote.h"
#include "blob/machine/machine.h"
#include "compiler/target/npu/machine_texts.h"

namespace firn::npu {
namespace {

Result<std::string> readFile(const std::string& path) {
  FIRN_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  if (file.size() > machine::kMostMachineTextBytes) {
    return invalidArgument(concat(printablePath(path), ": found ", file.size(),
                                  " bytes, expected a machine file of at most ", machine::kMostMachineTextBytes));
  }
  std::string text(file.size(), '\0');
  FIRN_RETURN_IF_ERROR(file.readAt(0, std::as_writable_bytes(std::span(text))));
  return text;
}

}  // namespace

std::vector<std::string_view> machineNames() {
  std::vector<std::string_view> names;
  for (const MachineText& machine : builtInMachines()) names.push_back(machine.name);
  return names;
}

Result<std::string> machineText(std::string_view nameOrPath) {
  const std::string known = joined(machineNames(), ", ");
  if (nameOrPath.find_first_of("/.") == std::string_view::npos) {
    const auto machines = builtInMachines();
    const auto found = std::ranges::find(machines, nameOrPath, &MachineText::name);
    if (found != machines.end()) return std::string(found->json);
    return notFound(concat("machine ", firn::quoted(nameOrPath), ": expected one of ", known,
                           ", or a file, whose name has a dot or a slash"));
  }
  Result<std::string> text = readFile(std::string(nameOrPath));
  if (text.isOk()) return text;
  return Status(text.status().code(), concat("machine file ", text.status().message(), " (built in are ", known, ")"));
}

}  // namespace firn::npu
