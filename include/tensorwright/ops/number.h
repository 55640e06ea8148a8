// A number that an option gives to elements of any dtype.
//
// Expressions are declared where long double has 64 bits of mantissa: x86-64, AArch64 and RISC-V of 64 bits. 32-bit ARM
// has 53; it runs kernels, for which the runtime and an exported header suffice, and declares none.
#pragma once

#include <limits>

namespace tw::te::ops {

using Number = long double;
static_assert(std::numeric_limits<Number>::digits >= 64, "64-bit integers are no long double here, as on 32-bit ARM");

}  // namespace tw::te::ops
