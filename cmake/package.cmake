# What only an installation has: the library for other CMake projects, the Debian package.
target_compile_features(tensorwright INTERFACE $<INSTALL_INTERFACE:cxx_std_20>)
install(EXPORT TensorwrightTargets NAMESPACE Tensorwright:: DESTINATION ${tw_cmake_dir})

set(CMAKE_SKIP_INSTALL_ALL_DEPENDENCY ON)  # cpack packs what ./dev build product built, without tests
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME tensorwright)
set(CPACK_PACKAGE_CONTACT "Tensorwright maintainers <maintainers@users.noreply.a-seed-1341d4ef.example>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "Tensor-expression compiler with an auto-tuner")
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION devel)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "cmake (>= 3.22)")
include(CPack)
