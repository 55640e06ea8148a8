# Headers that nearly every file of a group reads, parsed once per group: half of the time of a short file goes into them.
# A file still names what it uses; the build with -DTW_PRECOMPILED=OFF, as under sanitizers, finds one that does not.
# Switched off, too, where several checkouts share a compiler cache: GCC writes these files differently in each.

# GCC 12 forgets which of them are the system's, and warns of what strings are made of.
if(TW_PRECOMPILED AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  target_compile_options(tw_flags INTERFACE -Wno-array-bounds -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
endif()

set(tw_standard_headers "<algorithm>" "<functional>" "<map>" "<memory>" "<optional>" "<span>" "<string>" "<unordered_map>"
    "<unordered_set>" "<variant>" "<vector>")

# tw_precompile(TARGET HEADERS...): for the files of that target.
function(tw_precompile target)
  if(TW_PRECOMPILED)
    list(TRANSFORM ARGN REPLACE "(.+)" "<\\1>")
    target_precompile_headers(${target} PRIVATE ${tw_standard_headers} ${ARGN})
  endif()
endfunction()

# tw_precompiled_headers(NAME [PROGRAMS] [LINK libraries...] HEADERS headers...): for the targets that tw_precompiled_by names,
# which have the same flags; PROGRAMS: executables.
function(tw_precompiled_headers name)
  if(TW_PRECOMPILED)
    cmake_parse_arguments(GROUP "PROGRAMS" "" "LINK;HEADERS" ${ARGN})
    add_library(${name} OBJECT ${PROJECT_BINARY_DIR}/empty.cc)
    target_link_libraries(${name} PRIVATE tw_flags ${GROUP_LINK})
    if(GROUP_PROGRAMS)  # GCC takes such headers only where code is made for the same place
      set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(${name} PRIVATE -fPIE)
    endif()
    tw_precompile(${name} ${GROUP_HEADERS})
  endif()
endfunction()

function(tw_precompiled_by group)
  if(TW_PRECOMPILED)
    foreach(target ${ARGN})
      target_precompile_headers(${target} REUSE_FROM ${group})
    endforeach()
  endif()
endfunction()
