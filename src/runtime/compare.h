// Whether an output is the reference's: the check without which no time is recorded.
#pragma once

#include <string>

#include "tensorwright/runtime.h"

namespace tw::runtime {

// "" when each element is: |got - expected| <= atol + rtol * |expected|, NaN equal to NaN. Integers and bool are exact
// where rtol is 0; else they come of floats that were rounded, and one element in 128, at least one, may be the next
// integer. Else the first element that is not, with both values and how many differ.
std::string difference(const ArgSpec&, const void* got, const void* expected, double rtol, double atol);

// "" when the n-th element in row-major order is the expected one, by the same rule; else "D[0, 5] should be 1 and is
// 2".
std::string wrong_element(const ArgSpec&, const void* contents, int64_t n, double expected, double rtol, double atol);

}  // namespace tw::runtime
