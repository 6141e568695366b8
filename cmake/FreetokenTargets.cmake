# ft_library(NAME [COLD] [ALONE] [SOURCES ...] [DEPS ...] [TESTS ...] [THREADED_TESTS ...] [TEST_DEPS ...])
#   One static library for a folder of src/, and one gtest program freetoken_NAME_test for the tests beside its code.
#   Headers are included from src/: #include "base/error.h".
#   COLD: nothing here runs once a token, so it is compiled for a short build.
#   ALONE: each file of the library is compiled by itself, for its inner loops must not depend on its neighbours.
#   THREADED_TESTS: tests in whose run several threads meet. The thread sanitizer, which has nothing to say of others,
#   builds and runs these alone (target tsan_tests, ctest label "threads").

find_package(Threads REQUIRED)
if(FREETOKEN_TESTS)
    enable_testing()
    find_package(GTest REQUIRED)
    include(GoogleTest)
endif()

# -ffp-contract=off: a fused multiply-add changes bits (shared definition in docs/arithmetic.md).
add_library(ft_options INTERFACE)
target_compile_options(ft_options INTERFACE -Wall -Wextra -Werror -ffp-contract=off -fno-fast-math)
# g++ 12 sees overlaps in std::string's own code that are not there (GCC bug 105329).
target_compile_options(ft_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# libstdc++ 12's own std::stable_sort calls a function that it marks as deprecated; clang reports that at our call.
target_compile_options(ft_options INTERFACE $<$<CXX_COMPILER_ID:Clang>:-Wno-deprecated-declarations>)
# A type of a file's own looks, in a unity build, as if it came from a header.
if(FREETOKEN_UNITY)
    target_compile_options(ft_options INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
target_include_directories(ft_options INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_link_libraries(ft_options INTERFACE Threads::Threads)
if(FREETOKEN_SANITIZE)
    target_compile_options(ft_options INTERFACE -fsanitize=${FREETOKEN_SANITIZE} -fno-sanitize-recover=all
                                                -fno-omit-frame-pointer)
    # Whether an object is what its type says is looked up through a pipe, which tests without free descriptors refuse.
    if(FREETOKEN_SANITIZE MATCHES undefined)
        target_compile_options(ft_options INTERFACE -fno-sanitize=vptr)
    endif()
    target_link_options(ft_options INTERFACE -fsanitize=${FREETOKEN_SANITIZE})
endif()
if(FREETOKEN_FUZZ)
    target_link_options(ft_options INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(FREETOKEN_THREAD_SAFETY)
    target_compile_options(ft_options INTERFACE -Wthread-safety)
endif()

if(FREETOKEN_TESTS)
    add_custom_target(tsan_tests)
endif()

# Folders that the fuzz targets feed: only their code reports which of its branches an input took.
set(ft_fuzzed_folders base config gguf grammar hub io server text tiers)

# Compiles several files of a target as one.
function(ft_unity target)
    if(FREETOKEN_UNITY)
        set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${FREETOKEN_UNITY_FILES})
    endif()
endfunction()

function(ft_library name)
    cmake_parse_arguments(ARG "COLD;ALONE" "" "SOURCES;DEPS;TESTS;THREADED_TESTS;TEST_DEPS" ${ARGN})
    if(ARG_SOURCES)
        add_library(ft_${name} STATIC ${ARG_SOURCES})
        target_link_libraries(ft_${name} PUBLIC ft_options ${ARG_DEPS})
        if(ARG_COLD)
            target_compile_options(ft_${name} PRIVATE $<$<CONFIG:Release>:-O1>)
        endif()
        if(NOT ARG_ALONE)
            ft_unity(ft_${name})
        endif()
        if(FREETOKEN_FUZZ AND name IN_LIST ft_fuzzed_folders)
            target_compile_options(ft_${name} PRIVATE -fsanitize=fuzzer-no-link)
        endif()
    else()
        add_library(ft_${name} INTERFACE)
        target_link_libraries(ft_${name} INTERFACE ft_options ${ARG_DEPS})
    endif()
    set(tests ${ARG_THREADED_TESTS})
    if(NOT FREETOKEN_SANITIZE STREQUAL "thread")
        list(APPEND tests ${ARG_TESTS})
    endif()
    if(FREETOKEN_TESTS AND tests)
        add_executable(freetoken_${name}_test ${tests})
        target_link_libraries(freetoken_${name}_test PRIVATE ft_${name} ${ARG_TEST_DEPS} GTest::gtest_main)
        target_compile_definitions(freetoken_${name}_test PRIVATE FREETOKEN_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
        target_compile_options(freetoken_${name}_test PRIVATE $<$<CONFIG:Release>:-O1>) # for a short build
        ft_unity(freetoken_${name}_test)
        add_test(NAME ${name} COMMAND freetoken_${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
        if(ARG_THREADED_TESTS)
            set_tests_properties(${name} PROPERTIES LABELS threads)
            add_dependencies(tsan_tests freetoken_${name}_test)
        endif()
    endif()
endfunction()
