# Writes OUTPUT, a source file that defines builtInMachines(): name and text of each file of LIST, sorted by name.
# usage: cmake -DLIST=a.json;b.json -DOUTPUT=... -P machine_texts.cmake
set(entries "")
foreach(path IN LISTS LIST)
  get_filename_component(name "${path}" NAME_WLE)
  file(READ "${path}" text)
  string(APPEND entries "    {\"${name}\", R\"machine(${text})machine\"},\n")
endforeach()
file(WRITE "${OUTPUT}" "#include \"compiler/target/npu/machine_texts.h\"

namespace firn::npu {
namespace {

constexpr MachineText kMachines[] = {
${entries}};

}  // namespace

std::span<const MachineText> builtInMachines() { return kMachines; }

}  // namespace firn::npu
")
