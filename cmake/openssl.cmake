# tw_openssl: by names, as the library takes the shared ones and tw-board, which is static, the archives. For AArch64 they are
# in a folder of their own, to which tests/board/fetch.sh brings Debian's.
set(TW_AARCH64_OPENSSL ${PROJECT_SOURCE_DIR}/build/board/openssl CACHE PATH "libssl.a, libcrypto.a and include/ for AArch64")
add_library(tw_openssl INTERFACE)
target_link_libraries(tw_openssl INTERFACE ssl crypto)
if(CMAKE_CROSSCOMPILING)
  target_include_directories(tw_openssl SYSTEM INTERFACE ${TW_AARCH64_OPENSSL}/include)
  target_link_directories(tw_openssl INTERFACE ${TW_AARCH64_OPENSSL})
else()
  find_package(OpenSSL 3.0)
  find_path(TW_ASIO asio.hpp)
  if(NOT OPENSSL_FOUND OR NOT TW_ASIO)
    message(FATAL_ERROR "OpenSSL 3 or Asio was not found. On Debian 12 and Ubuntu 24.04:\n    apt-get install libssl-dev libasio-dev")
  endif()
endif()

# tw_asio: for all files of a program that see Asio. It takes memory by what the file that includes it had included before,
# and one file gives back what another took.
add_library(tw_asio INTERFACE)
target_compile_definitions(tw_asio INTERFACE ASIO_DISABLE_STD_ALIGNED_ALLOC)
