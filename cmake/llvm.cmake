# LLVM and lld, static: their symbols stay hidden inside libtensorwright.so. Only .cc files below codegen/llvm see the headers.
if(NOT TW_LLVM)
  return()
endif()
if(NOT LLVM_FOUND)
  message(FATAL_ERROR "LLVM 19 was not found. On Debian 12 (backports.debian or apt.llvm packages) and Ubuntu 24.04:\n"
    "    apt-get install llvm-19-dev liblld-19-dev\n"
    "or ask for a build without it (interpreter only): -DTW_LLVM=OFF")
endif()
message(STATUS "LLVM ${LLVM_PACKAGE_VERSION} in ${LLVM_DIR}")
add_library(tw_llvm_headers INTERFACE)
target_include_directories(tw_llvm_headers SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS})
separate_arguments(llvm_definitions UNIX_COMMAND "${LLVM_DEFINITIONS}")
target_compile_definitions(tw_llvm_headers INTERFACE ${llvm_definitions})
llvm_map_components_to_libnames(TW_LLVM_COMPONENTS X86CodeGen X86AsmParser X86Desc X86Info AArch64CodeGen AArch64AsmParser AArch64Desc AArch64Info passes orcjit object support target)
find_library(TW_LLD_ELF lldELF HINTS ${LLVM_LIBRARY_DIRS} NO_DEFAULT_PATH REQUIRED)
find_library(TW_LLD_COMMON lldCommon HINTS ${LLVM_LIBRARY_DIRS} NO_DEFAULT_PATH REQUIRED)
llvm_map_components_to_libnames(TW_LLD_COMPONENTS lto option debuginfodwarf demangle bitreader bitwriter windowsmanifest)
set(TW_LLVM_LIBS ${TW_LLD_ELF} ${TW_LLD_COMMON} ${TW_LLVM_COMPONENTS} ${TW_LLD_COMPONENTS})
