// Scalars of a call: Python numbers as the bits that a kernel reads.
#pragma once

#include <pybind11/pybind11.h>

#include <string>

#include "tensorwright/runtime.h"

namespace tw::bind {

// `place` names the argument in messages. Integers and bools are taken exactly, floats rounded to the type; a number
// that the type does not hold is refused.
runtime::ScalarValue scalar_value(const std::string& place, ir::Type type, pybind11::handle number);

}  // namespace tw::bind
