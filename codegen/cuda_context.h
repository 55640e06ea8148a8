// What the header of kernels for CUDA devices brings along: the driver, opened when a kernel is first called and never
// linked, and a context that launches by it. C text behind a guard, for both C99 and C++11; it comes after the default
// context's.
//
// The device is that of the thread's current context, as PyTorch, CuPy or cudaSetDevice have made it, or the first
// one's. Functions of an image are kept beside it, in the object. Nothing waits for the device.
#pragma once

#include <string>

namespace tw::codegen {

std::string cuda_context();

}  // namespace tw::codegen
