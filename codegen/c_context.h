// What a header brings along so that its kernels can be called: a context without anything of ours, and one over memory
// of the caller's. C texts, each behind a guard, for both C99 and C++11.
#pragma once

namespace tw::codegen {

// tensorwright_default_context(): parallel loops by OpenMP where the caller is compiled with it, else one iteration
// after the other; scratch by malloc.
extern const char* const kDefaultContext;

// struct tensorwright_scratch, tensorwright_workspace_bytes() and tensorwright_make_workspace(): a context whose
// scratch is in memory that is given. A piece of it has the size that the kernel asks for, and whoever asks takes a
// free one.
extern const char* const kWorkspace;

}  // namespace tw::codegen
