add_library(tw_flags INTERFACE)
target_include_directories(tw_flags INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
target_compile_options(tw_flags INTERFACE -Wall -Wextra -Wno-unused-parameter -ffp-contract=off
                       $<$<BOOL:${TW_WERROR}>:-Werror>)
if(TW_SANITIZE STREQUAL "address")
  target_compile_options(tw_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer)
  target_link_options(tw_flags INTERFACE -fsanitize=address,undefined)
elseif(TW_SANITIZE STREQUAL "thread")
  target_compile_options(tw_flags INTERFACE -fsanitize=thread -fno-omit-frame-pointer)
  target_link_options(tw_flags INTERFACE -fsanitize=thread)
endif()
foreach(feature LLVM XGBOOST)
  if(TW_${feature})
    target_compile_definitions(tw_flags INTERFACE TW_${feature}=1)
  endif()
endforeach()

find_program(TW_CCACHE ccache)
if(TW_CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${TW_CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${TW_CCACHE})
  if(TW_PRECOMPILED)
    # They are 80 to 170 MB: read once for their hash, not by each file. GCC knows a header of `#pragma once` again by its
    # bytes, so one that was made when a comment read differently would be read twice: what a header is without its comments
    # (ccache asks the preprocessor, unless it goes by dependencies) says nothing. The name leaves results from before behind.
    set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=1 CCACHE_DEPEND=1
        CCACHE_NAMESPACE=tensorwright-by-dependencies ${TW_CCACHE})
  endif()
endif()

find_package(Threads REQUIRED)

# For what is made of other targets alone. Written only where it differs: a newer file would link everything again.
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/empty.cc CONTENT "")

# tw_library(NAME DIR folder USES libraries...): every .cc below the folder becomes the static library tw_NAME; codegen/llvm
# is added to it in builds with LLVM.
function(tw_library name)
  cmake_parse_arguments(LIB "" "DIR" "USES" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${LIB_DIR}/*.cc)
  list(FILTER sources EXCLUDE REGEX "codegen/llvm/")
  if(CMAKE_CROSSCOMPILING)  # what runs kernels needs neither, and libffi is there for this machine only
    list(FILTER sources EXCLUDE REGEX "src/ir/(interp.cc|interp_(dot|expr|extern|functions|index|launch|stmt)|simplify)")
  endif()
  if(NOT TW_XGBOOST)
    list(FILTER sources EXCLUDE REGEX "autotune/model/xgboost_")
  endif()
  add_library(tw_${name} STATIC ${sources})
  target_link_libraries(tw_${name} PUBLIC tw_flags Threads::Threads ${CMAKE_DL_LIBS})
  foreach(used ${LIB_USES})
    target_link_libraries(tw_${name} PUBLIC tw_${used})
  endforeach()
endfunction()

# tw_compiled_together(TARGET folder n [BUT prefix]): n files of that folder at a time are one to the compiler; all others,
# and those whose names begin so, stay alone.
function(tw_compiled_together target folder n)
  cmake_parse_arguments(ALONE "" "BUT" "" ${ARGN})
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${n})
  get_target_property(sources ${target} SOURCES)
  foreach(source ${sources})
    if(NOT source MATCHES "/${folder}/[^/]*$" OR (ALONE_BUT AND source MATCHES "/${ALONE_BUT}[^/]*$"))
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

# tw_test(NAME [LONG] LINK libraries... SOURCES files...): a GoogleTest binary; each TEST is one ctest entry. Those of a LONG one
# begin first, as one that takes minutes leaves the other cores idle at the end.
function(tw_test name)
  cmake_parse_arguments(TEST "LONG" "" "LINK;SOURCES" ${ARGN})
  if(NOT TEST_SOURCES)
    return()
  endif()
  add_executable(${name} ${TEST_SOURCES})
  target_link_libraries(${name} PRIVATE tw_flags ${TEST_LINK} GTest::gtest GTest::gtest_main)
  tw_precompiled_by(tw_precompiled_test ${name})
  set(cost 0)
  if(TEST_LONG)
    set(cost 1)
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST PROPERTIES TIMEOUT 1500 COST ${cost})
endfunction()
