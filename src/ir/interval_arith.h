// Arithmetic on intervals and on single integers, with infinite ends that saturate: what interval_of and the simplifier
// share.
#pragma once

#include "src/ir/interval.h"

namespace tw::ir {

// The meaning of ir.h for single values: x / 0 and x % 0 are 0, MIN / -1 is MIN.
int64_t floor_div(int64_t a, int64_t b);
int64_t floor_mod(int64_t a, int64_t b);
int64_t trunc_div(int64_t a, int64_t b);
int64_t trunc_mod(int64_t a, int64_t b);
int64_t ceil_div(int64_t a, int64_t b);

Interval intersect(Interval, Interval);
Interval operator+(Interval, Interval);
Interval operator-(Interval, Interval);
Interval operator*(Interval, Interval);
Interval scaled(Interval, int64_t factor);
Interval shifted(Interval, int64_t by);

// The values of `op` over the two intervals, over integers that do not overflow; everything for operators without
// bounds.
Interval apply(BinOp op, Interval a, Interval b);
// 1 or 0 as a point when the two intervals decide the comparison, else 0..1.
Interval compare(BinOp op, Interval a, Interval b);

// All values of an integer type or bool. Ends that int64_t cannot hold, or that an index does not have, are infinite.
Interval range_of(Type);
// `ideal` if every value of it is one of the type, else range_of(type): arithmetic that may have wrapped.
Interval wrapped(Interval ideal, Type);

}  // namespace tw::ir
