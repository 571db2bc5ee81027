#include "blob/machine_memory.h"

#include <string>

#include "base/concat.h"

namespace firn::blob {
namespace {

std::string megabytes(uint64_t bytes) { return concat(bytes / 1'000'000, " MB"); }

}  // namespace

Status checkMachineMemory(const ProgramHeader& header, const machine::Machine& machine) {
  uint64_t left = machine.ddrBytes;
  const auto fits = [&](uint64_t bytes) {
    const bool isRoom = bytes <= left;
    left -= isRoom ? bytes : 0;
    return isRoom;
  };
  if (fits(header.weightsBytes) && fits(header.kvBytes) && fits(header.scratchBytes)) return Status::ok();
  return resourceExhausted(
      concat("the model takes ", megabytes(header.weightsBytes), " for weights, ", megabytes(header.kvBytes),
             " for a cache of ", header.kvRows, " rows and ", megabytes(header.scratchBytes), " of scratch, machine ",
             machine.name, " has ", megabytes(machine.ddrBytes),
             " (ddr.bytes); take a smaller model, a shorter context, or a machine with more memory"));
}

}  // namespace firn::blob
