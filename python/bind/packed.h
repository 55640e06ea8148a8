// Arrays that f.pack made: memory in the layout of one kernel's parameter, and how it came about.
#pragma once

#include <pybind11/pybind11.h>

#include "tensorwright/runtime.h"

namespace tw::bind {

// Python's PackedArray; its memory is never written again.
struct PackedArray {
  std::shared_ptr<std::byte> memory;
  runtime::ArrayView view;
};

void bind_packed(pybind11::module_& m);

}  // namespace tw::bind
