# tw_aarch64: those of our programs that tests run under qemu-aarch64, in a build of their own below this one. Without the
# tools there is no such target, and tests say in tests/aarch64.h's words why they are skipped.
set(aarch64_sysroot /usr/aarch64-linux-gnu)
find_program(TW_AARCH64_QEMU qemu-aarch64)
find_program(TW_AARCH64_GXX aarch64-linux-gnu-g++)
set(aarch64_missing "")
if(CMAKE_CROSSCOMPILING)
  set(aarch64_missing "this is a build for another CPU")
elseif(TW_SANITIZE)
  set(aarch64_missing "what is emulated has no sanitizer")
elseif(NOT TW_AARCH64_QEMU)
  set(aarch64_missing "qemu-aarch64 is not installed (Debian: qemu-user)")
elseif(NOT TW_AARCH64_GXX OR NOT EXISTS ${aarch64_sysroot}/lib)
  set(aarch64_missing "aarch64-linux-gnu-g++ is not installed (Debian: g++-aarch64-linux-gnu)")
elseif(NOT EXISTS /usr/src/googletest)
  set(aarch64_missing "/usr/src/googletest is missing (Debian: googletest)")
endif()

set(aarch64_folder ${PROJECT_BINARY_DIR}/aarch64)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/tests/aarch64.h CONTENT
"#pragma once
#define TW_AARCH64_MISSING \"@aarch64_missing@\"
#define TW_AARCH64_QEMU \"@TW_AARCH64_QEMU@\"
#define TW_AARCH64_SYSROOT \"@aarch64_sysroot@\"
#define TW_AARCH64_PROGRAMS \"@aarch64_folder@\"
" @ONLY)

# Linked with OpenSSL for AArch64 (./dev setup fetches it); tests that want it say why they are skipped.
set(aarch64_board)
if(EXISTS ${TW_AARCH64_OPENSSL}/libcrypto.a)
  set(aarch64_board tw-board)
  set(aarch64_copy COMMAND ${CMAKE_COMMAND} -E copy_if_different ${aarch64_folder}/package/tensorwright/boards/tw-board-aarch64 ${TW_PACKAGE_DIR}/boards/tw-board-aarch64)
endif()
set(tw_aarch64)  # what depends on these programs says so by it
if(NOT aarch64_missing)
  set(tw_aarch64 tw_aarch64)
  include(ExternalProject)
  ExternalProject_Add(tw_aarch64
    SOURCE_DIR ${PROJECT_SOURCE_DIR}
    BINARY_DIR ${aarch64_folder}
    PREFIX ${aarch64_folder}.stamps
    CMAKE_ARGS --toolchain ${PROJECT_SOURCE_DIR}/cmake/aarch64.cmake -DCMAKE_BUILD_TYPE=Release -DTW_OPTIMIZE=-O1 -DTW_LLVM=OFF -DTW_XGBOOST=OFF
               -DTW_PYTHON=OFF -DTW_BENCH=OFF -DTW_PRECOMPILED=OFF -DTW_WERROR=${TW_WERROR} -DTW_AARCH64_OPENSSL=${TW_AARCH64_OPENSSL} -DPython_EXECUTABLE=${Python_EXECUTABLE}
    BUILD_COMMAND ${CMAKE_COMMAND} --build ${aarch64_folder} --target tw-kernels ${aarch64_board} test_support test_target test_runtime test_worker
    ${aarch64_copy}
    BUILD_ALWAYS ON
    INSTALL_COMMAND "")
endif()
