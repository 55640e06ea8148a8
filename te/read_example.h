// Reads by example: what a subscript is where the axes have these values.
#pragma once

#include <optional>
#include <unordered_map>

#include "te/read_bounds.h"

namespace tw::te {

using AxisValues = std::unordered_map<uint64_t, int64_t>;  // by the variable's id

// The value of an index expression or condition; nothing where it depends on data.
std::optional<int64_t> evaluate(const Expr&, const AxisValues&);

// Values of the axes for which all conditions around the read hold and the subscript is outside 0..extent-1. Not all
// values are tried.
std::optional<AxisValues> find_example(const Expr& at, int64_t extent, const ReadPlace&);

// Whether the subscript is inside for all values of the axes: all are tried, so there must be few. Conditions that
// depend on data may hold.
bool always_inside(const Expr& at, int64_t extent, const ReadPlace&);

}  // namespace tw::te
