# What is built. A part whose library is missing stops the configuration with the way out: nothing is left out unless that
# was asked for, with -DTW_...=OFF or, for pip, with the same name in the environment.
function(tw_option name text default)
  if(DEFINED ENV{${name}})
    set(default $ENV{${name}})
  endif()
  option(${name} "${text}" ${default})
endfunction()

tw_option(TW_LLVM "The LLVM back end" ON)
tw_option(TW_XGBOOST "The learned cost model" ON)
option(TW_PYTHON "The Python package" ON)
option(TW_TESTS "Unit, golden, differential and fault tests" ON)
option(TW_BENCH "Benchmarks" ON)
option(TW_WERROR "Warnings are errors" OFF)
option(TW_PRECOMPILED "Precompiled headers" ON)
set(TW_OPTIMIZE "-O2" CACHE STRING "What the compiler is told in a release build")
# Of code that hands over to other code, and of tests: a quarter of the compiler's time less.
set(tw_optimize_little $<$<CONFIG:Release>:-O1>)
set(TW_SANITIZE "" CACHE STRING "Sanitizers: address, thread or empty (address brings undefined along)")

if(TW_XGBOOST)
  find_library(TW_XGBOOST_LIBRARY xgboost)
  if(NOT TW_XGBOOST_LIBRARY)
    message(FATAL_ERROR "XGBoost was not found. On Debian 12 and Ubuntu 24.04:\n"
      "    apt-get install libxgboost-dev\n"
      "or ask for a build without the learned cost model: -DTW_XGBOOST=OFF (pip install . -C cmake.define.TW_XGBOOST=OFF)")
  endif()
endif()
