# Writes OUTPUT, a source file that defines compilerId(): a hash of the files listed in LIST, their names included.
# usage: cmake -DROOT=... -DLIST=... -DOUTPUT=... -P compiler_id.cmake
file(STRINGS "${LIST}" sources)
set(all "")
foreach(source IN LISTS sources)
  file(SHA256 "${ROOT}/${source}" digest)
  string(APPEND all "${source} ${digest}\n")
endforeach()
string(SHA256 id "${all}")
string(SUBSTRING "${id}" 0 32 id)
file(WRITE "${OUTPUT}" "#include \"compiler/compiler_id.h\"\n\nnamespace firn::compiler {\n\nstd::string compilerId() { return \"${id}\"; }\n\n}  // namespace firn::compiler\n")
