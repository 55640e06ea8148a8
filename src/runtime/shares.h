// Passes over large memory, on the threads that run kernels.
#pragma once

#include <cstddef>
#include <functional>

namespace tw::runtime {

// Calls f(0) .. f(shares - 1), each once, on the threads of the pool (thread_pool.h). f throws nothing.
void over_shares(size_t shares, const std::function<void(size_t share)>& f);

}  // namespace tw::runtime
