// Scratch memory of kernels: what the context's alloc and release do.
#pragma once

#include <cstddef>

namespace tw::runtime {

// 64-byte aligned, contents unspecified, never null for 0 bytes; null when there is no memory. A released block is kept
// for the next request of about its size on the same thread, up to a limit.
void* scratch_alloc(size_t bytes);
void scratch_release(void* memory);

}  // namespace tw::runtime
