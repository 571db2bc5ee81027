// Macros of the vector headers and kernel texts. FIRN_KERNELS_SMALL (sanitizer builds: CMakeLists.txt) asks for small
// code: instrumented, the full kernels take minutes to compile. Results do not depend on it.
#pragma once

#define FIRN_INLINE inline __attribute__((always_inline))

#ifdef FIRN_KERNELS_SMALL
#define FIRN_UNROLL
#else
#define FIRN_UNROLL _Pragma("clang loop unroll(full)")
#endif
