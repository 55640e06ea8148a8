// Memory for a kernel's own arrays: aligned, and on large pages where it is large.
#pragma once

#include <cstddef>

namespace tw::runtime {

struct LargeMemory {
  void* data = nullptr;  // std::free returns it; null: there is not so much
  size_t bytes = 0;      // at least those that were asked for
};

// From 2 MiB on it begins at a large page and asks for such: to walk over small ones costs bandwidth.
LargeMemory large_memory(size_t bytes);

}  // namespace tw::runtime
