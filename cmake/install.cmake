# What pip's wheel ships: the package, one folder.
set(TW_BOARDS ${TW_PACKAGE_DIR}/boards CACHE PATH "Where tw-board is found that was built for other CPUs, to be shipped too")
foreach(part tensorwright tw tw-worker tw-worker-build _core)
  if(TARGET ${part})
    set_target_properties(${part} PROPERTIES INSTALL_RPATH "$ORIGIN")
    install(TARGETS ${part} DESTINATION tensorwright)
  endif()
endforeach()
if(TARGET tw-board)
  install(TARGETS tw-board DESTINATION tensorwright/boards)
endif()
install(DIRECTORY ${TW_BOARDS}/ DESTINATION tensorwright/boards USE_SOURCE_PERMISSIONS
        FILES_MATCHING PATTERN "tw-board-*" PATTERN "tw-board-${CMAKE_SYSTEM_PROCESSOR}" EXCLUDE)
install(DIRECTORY include/tensorwright DESTINATION tensorwright/include)

# What others wrote (THIRD_PARTY.md), in their own words.
install(FILES LICENSE THIRD_PARTY.md DESTINATION tensorwright)
foreach(package llvm-19-dev liblld-19-dev libasio-dev nlohmann-json3-dev libcli11-dev libssl-dev libc6 libstdc++6 libgomp1 libxgboost0 libdmlc0 libffi8 libzstd1)
  install(FILES /usr/share/doc/${package}/copyright DESTINATION tensorwright/notices RENAME ${package}.txt OPTIONAL)
endforeach()
file(GLOB pybind11_licence ${pybind11_DIR}/../../../../pybind11-*.dist-info/LICENSE)
if(pybind11_licence)
  install(FILES ${pybind11_licence} DESTINATION tensorwright/notices RENAME pybind11.txt)
endif()
