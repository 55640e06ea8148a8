// The kernel ABI as the C text that we write needs it: self-contained, and without a name that a kernel's may be.
#pragma once

#include <string>

namespace tw::codegen {

// kernel_abi.h without its typedefs: C code says `struct tw_context`, for a kernel may be called `context`, and
// tw_context is then its symbol.
std::string c_abi();

// The same without comments, include guards and what is for C++.
std::string bare_c_abi();

}  // namespace tw::codegen
