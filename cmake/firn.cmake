# Build rules that every folder uses: firn_library, firn_program, firn_test, firn_fuzzer.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")

find_program(FIRN_CCACHE ccache)
if(FIRN_CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${FIRN_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${FIRN_CCACHE}")
endif()

# No contraction: a fused multiply-add appears only where a kernel writes one (docs/arithmetic.md).
add_compile_options(-Wall -Wextra -Werror=return-type -ffp-contract=off)
add_compile_options(-ffile-prefix-map=${PROJECT_SOURCE_DIR}/=)
add_link_options(-fuse-ld=lld)
if(FIRN_SANITIZE)
  add_compile_options(-fsanitize=${FIRN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${FIRN_SANITIZE})
endif()

# firn_library(NAME SOURCES a.cc ... DEPS lib ...): a static library whose headers are included from the root.
function(firn_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC "${PROJECT_SOURCE_DIR}")
  target_link_libraries(${name} PUBLIC ${ARG_DEPS})
endfunction()

# firn_program(NAME SOURCES ... DEPS ...): a program in <build>/bin.
function(firn_program name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
endfunction()

# firn_test(NAME SOURCES ... DEPS ... [LABELS slow] [PROCESSORS n] [TIMEOUT seconds]): a GoogleTest program, one ctest test.
# Tests run with the repository root as working folder, so data is "tests/data/...".
function(firn_test name)
  if(NOT FIRN_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "PROCESSORS;TIMEOUT" "SOURCES;DEPS;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest GTest::gmock GTest::gtest_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/tests")
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 300)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  if(ARG_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
  endif()
  if(ARG_PROCESSORS)
    set_tests_properties(${name} PROPERTIES PROCESSORS ${ARG_PROCESSORS})
  endif()
endfunction()

# firn_fuzzer(NAME SOURCES ... DEPS ...): a libFuzzer program in <build>/fuzz, built when FIRN_FUZZ is on.
function(firn_fuzzer name)
  if(NOT FIRN_FUZZ)
    return()
  endif()
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS})
  target_link_options(${name} PRIVATE -fsanitize=fuzzer)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/fuzz")
endfunction()
