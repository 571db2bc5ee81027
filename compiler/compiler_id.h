// The identity of this compiler: changes whenever a source that decides a blob's bytes changes. No MLIR.
#pragma once

#include <string>

namespace firn::compiler {

/// 32 hexadecimal digits that name the sources of compiler, kernels, blob and base this program was built from.
std::string compilerId();

}  // namespace firn::compiler
