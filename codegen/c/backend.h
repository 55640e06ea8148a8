// The C back end as the rest of codegen sees it: lowered programs in, modules and kernels out.
//
// All functions may be called from several threads.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensorwright/build.h"
#include "tensorwright/ir.h"
#include "tensorwright/target.h"

namespace tw::codegen {

// $CC, or cc, gcc or clang on the PATH.
bool has_c_compiler();

// Compiles a kernel, and behind it those that pack for it, with the system's C compiler and, where this machine can run
// the code, loads them. Throws tw::Error.
std::shared_ptr<const Module> make_c_module(const std::vector<ir::Program>& lowered, const Target& target,
                                            int opt_level);

// Several programs as one C file, with one run of the compiler: for tests, which have many small ones. The kernels are
// in the order of the programs, whose names may be alike. `more` are flags, such as "-DTW_VECTORS=0".
Result<std::vector<std::shared_ptr<const runtime::Kernel>>> c_kernels(const std::vector<ir::Program>& programs,
                                                                      const Target& target, int opt_level = 3,
                                                                      const std::vector<std::string>& more = {});

}  // namespace tw::codegen
