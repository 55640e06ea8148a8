# kernel_abi.h as a C++ string: the header beside a saved kernel contains it, so that nothing of ours is needed to use one.
set(abi_header ${PROJECT_SOURCE_DIR}/include/tensorwright/kernel_abi.h)
file(READ ${abi_header} abi_text)
file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/kernel_abi_text.inc CONTENT "R\"abi(@abi_text@)abi\"\n" @ONLY)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${abi_header})
target_include_directories(tw_codegen PRIVATE ${PROJECT_BINARY_DIR}/generated)
