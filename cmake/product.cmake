# libtensorwright.so: all folders in one library. Tests of the lower layers link the static libraries of their folder
# instead; nothing links both.
set(TW_PACKAGE_DIR ${PROJECT_BINARY_DIR}/package/tensorwright)
set(TW_ALL support target ir te lower runtime rpc schedule codegen autotune)

add_library(tensorwright SHARED ${PROJECT_BINARY_DIR}/empty.cc)
foreach(name ${TW_ALL})
  target_link_libraries(tensorwright PRIVATE $<LINK_LIBRARY:WHOLE_ARCHIVE,tw_${name}>)
endforeach()
target_link_libraries(tensorwright PUBLIC $<BUILD_INTERFACE:tw_flags>)
# Only names of ours leave the library: LLVM, lld and what they bring along stay hidden, whoever else is in the process.
target_link_options(tensorwright PRIVATE "LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map" "LINKER:--gc-sections")
set_property(TARGET tensorwright APPEND PROPERTY LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
if(TW_LLVM)
  target_link_libraries(tensorwright PRIVATE ${TW_LLVM_LIBS})
  if(EXISTS ${LLVM_TOOLS_BINARY_DIR}/ld.lld)
    target_link_options(tensorwright PRIVATE -fuse-ld=lld -B${LLVM_TOOLS_BINARY_DIR})
  endif()
endif()
set_target_properties(tensorwright PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${TW_PACKAGE_DIR} BUILD_RPATH "$ORIGIN")

# tools: src/tools/NAME.cc -> the executable. tw-worker runs candidates and links neither LLVM nor the compiler.
function(tw_tool name)
  cmake_parse_arguments(TOOL "" "" "LINK;SOURCES" ${ARGN})
  foreach(source ${TOOL_SOURCES})
    if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${source})
      return()
    endif()
  endforeach()
  add_executable(${name} ${TOOL_SOURCES})
  target_link_libraries(${name} PRIVATE tw_flags ${TOOL_LINK})
  target_compile_options(${name} PRIVATE ${tw_optimize_little})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${TW_PACKAGE_DIR} BUILD_RPATH "$ORIGIN")
endfunction()
tw_tool(tw-worker SOURCES src/tools/tw_worker.cc LINK tw_runtime tw_ir tw_target tw_support)
# What measures elsewhere: one static program for each architecture, beside the package.
if(NOT TW_SANITIZE)
  tw_tool(tw-board SOURCES src/tools/tw_board.cc src/tools/tw_board_listen.cc src/tools/measure_pack.cc src/tools/run_command.cc LINK tw_rpc tw_runtime tw_ir tw_target tw_support)
  target_compile_options(tw-board PRIVATE $<$<CONFIG:Release>:-Os>)  # reading its command line is a fifth of a megabyte otherwise, and 6 MB are all
  target_link_options(tw-board PRIVATE -static -s "LINKER:--gc-sections,-z,noseparate-code")
  # The OpenSSL of cmake/small_openssl.sh, which ./dev setup runs; without it the linker finds the system's.
  file(GLOB small_openssl CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/build/openssl/${CMAKE_SYSTEM_PROCESSOR}/*.a)
  if(small_openssl)
    target_link_directories(tw-board BEFORE PRIVATE ${PROJECT_SOURCE_DIR}/build/openssl/${CMAKE_SYSTEM_PROCESSOR})
    set_property(TARGET tw-board APPEND PROPERTY LINK_DEPENDS ${small_openssl})
  endif()
  set_target_properties(tw-board PROPERTIES OUTPUT_NAME tw-board-${CMAKE_SYSTEM_PROCESSOR} RUNTIME_OUTPUT_DIRECTORY ${TW_PACKAGE_DIR}/boards)
endif()
# tw_for_old_glibc(PROGRAM VERSION): it runs with that release of glibc and later ones, whatever this system has. Where it is not laid out as Debian's, or is
# no x86-64, the program asks for the glibc that is here.
function(tw_for_old_glibc program version)
  find_package(Python 3.11 COMPONENTS Interpreter)
  if(NOT (Python_FOUND AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND EXISTS /usr/lib/x86_64-linux-gnu/libc_nonshared.a))
    message(STATUS "${program} will run with the glibc of this system and later ones")
    return()
  endif()
  set(stubs ${PROJECT_BINARY_DIR}/old_glibc)
  set(script ${PROJECT_SOURCE_DIR}/src/tools/old_glibc/make_stubs.py)
  add_custom_command(OUTPUT ${stubs}/libc.so COMMAND ${Python_EXECUTABLE} ${script} ${stubs} ${version} DEPENDS ${script})
  target_sources(${program} PRIVATE src/tools/old_glibc/shim.c ${stubs}/libc.so)
  target_link_options(${program} PRIVATE -L${stubs} "LINKER:--push-state,--no-as-needed" -lpthread -ldl "LINKER:--pop-state")
endfunction()
# What measures on a GPU elsewhere: it opens the driver, so it is linked dynamically, to nothing but what every Linux has.
if(NOT TW_SANITIZE AND NOT CMAKE_CROSSCOMPILING)
  tw_tool(tw-measure SOURCES src/tools/tw_measure.cc src/tools/measure_pack.cc src/tools/run_command.cc LINK tw_rpc tw_runtime tw_ir tw_target tw_support)
  target_link_options(tw-measure PRIVATE -static-libstdc++ -static-libgcc -s "LINKER:--gc-sections,--as-needed")
  tw_for_old_glibc(tw-measure 2.31)
  set_target_properties(tw-measure PROPERTIES OUTPUT_NAME tw-measure-${CMAKE_SYSTEM_PROCESSOR} RUNTIME_OUTPUT_DIRECTORY ${TW_PACKAGE_DIR}/boards)
endif()
if(TW_LLVM)
  tw_tool(tw-worker-build SOURCES src/tools/tw_worker_build.cc LINK tensorwright)
endif()
tw_tool(tw-opt SOURCES src/tools/tw_opt.cc LINK tensorwright)
tw_tool(tw SOURCES src/tools/tw.cc src/tools/run_command.cc src/tools/tw_tune.cc src/tools/tw_tune_sizes.cc src/tools/tw_build.cc src/tools/tw_freeze.cc src/tools/tw_log.cc src/tools/tw_report.cc src/tools/tw_doctor.cc src/tools/tw_doctor_gpu.cc src/tools/tw_rpc.cc src/tools/tw_rpc_query.cc src/tools/tw_board_install.cc src/tools/ssh.cc LINK tensorwright)
# What tw board has a shell do elsewhere, as a C++ string.
set(on_board ${PROJECT_SOURCE_DIR}/src/tools/on_board.sh)
file(READ ${on_board} on_board_text)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/on_board/on_board_text.inc CONTENT "R\"sh(@on_board_text@)sh\"\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${on_board})
target_include_directories(tw PRIVATE ${PROJECT_BINARY_DIR}/generated/on_board)

if(TW_PYTHON)
  find_package(Python 3.11 REQUIRED COMPONENTS Interpreter Development.Module)
  execute_process(COMMAND ${Python_EXECUTABLE} -m pybind11 --cmakedir OUTPUT_VARIABLE pybind11_DIR OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  find_package(pybind11 CONFIG REQUIRED)
  file(GLOB bind_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/python/bind/*.cc)
  if(bind_sources)
    pybind11_add_module(_core MODULE NO_EXTRAS ${bind_sources})
    target_link_libraries(_core PRIVATE tensorwright)
    target_compile_options(_core PRIVATE ${tw_optimize_little})
    set_source_files_properties(${PROJECT_SOURCE_DIR}/python/bind/fast_call.cc ${PROJECT_SOURCE_DIR}/python/bind/arrays.cc
                                PROPERTIES COMPILE_OPTIONS ${TW_OPTIMIZE}  # each call of a kernel goes through them
                                SKIP_UNITY_BUILD_INCLUSION ON SKIP_PRECOMPILE_HEADERS ON)  # gcc 12 fails on a header of another -O: "internal compiler error"
    tw_compiled_together(_core python/bind 5)  # they share many instances of pybind11's
    tw_precompile(_core pybind11/pybind11.h pybind11/stl.h tensorwright/schedule.h)
    set_target_properties(_core PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${TW_PACKAGE_DIR} BUILD_RPATH "$ORIGIN")
  endif()
  # The package as the build tree shows it: links to the sources beside the compiled parts. Those of files that went go too.
  file(GLOB_RECURSE links LIST_DIRECTORIES false ${TW_PACKAGE_DIR}/*.py ${TW_PACKAGE_DIR}/*.pyi)
  foreach(link ${links})
    if(IS_SYMLINK ${link} AND NOT EXISTS ${link})
      file(REMOVE ${link})
    endif()
  endforeach()
  file(GLOB_RECURSE python_sources CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/python/tensorwright
       ${PROJECT_SOURCE_DIR}/python/tensorwright/*.py ${PROJECT_SOURCE_DIR}/python/tensorwright/*.pyi
       ${PROJECT_SOURCE_DIR}/python/tensorwright/py.typed)
  foreach(file ${python_sources})
    get_filename_component(folder ${TW_PACKAGE_DIR}/${file} DIRECTORY)
    file(MAKE_DIRECTORY ${folder})
    file(CREATE_LINK ${PROJECT_SOURCE_DIR}/python/tensorwright/${file} ${TW_PACKAGE_DIR}/${file} SYMBOLIC)
  endforeach()
endif()

# find_package(Tensorwright), from here too. Before 1.0 a minor release may change what docs/abi.md says. tw runs here, whatever it builds for.
include(CMakePackageConfigHelpers)
configure_file(${PROJECT_SOURCE_DIR}/cmake/TensorwrightConfig.cmake ${TW_PACKAGE_DIR}/cmake/TensorwrightConfig.cmake COPYONLY)
write_basic_package_version_file(${TW_PACKAGE_DIR}/cmake/TensorwrightConfigVersion.cmake VERSION ${PROJECT_VERSION}
                                 COMPATIBILITY SameMinorVersion ARCH_INDEPENDENT)

# What a user runs, without tests and benches; of that what a program in Python needs.
add_custom_target(product)
add_custom_target(python_package)
foreach(part tensorwright tw-worker tw-worker-build _core)
  if(TARGET ${part})
    add_dependencies(python_package ${part})
  endif()
endforeach()
add_dependencies(product python_package tw tw-opt)
foreach(part tw-board tw-measure)
  if(TARGET ${part})
    add_dependencies(product ${part})
  endif()
endforeach()
