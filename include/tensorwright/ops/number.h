// A number that an option gives to elements of any dtype.
#pragma once

#include <limits>

namespace tw::te::ops {

using Number = long double;
static_assert(std::numeric_limits<Number>::digits >= 64, "holds 64-bit integers");

}  // namespace tw::te::ops
