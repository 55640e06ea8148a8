// Sums of products of sizes, taken apart:  n * (x * 16 + y) + z  is  x * 16 + y  and, if it is in 0..n, z.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "src/ir/interval.h"
#include "tensorwright/ir.h"

namespace tw::lower {

// Without  x // n * n + x % n,  which is x for an n that is not 0: a buffer of that extent has an element.
ir::Expr refolded(const ir::Expr& offset, const ir::Bounds& bounds);

// A product of sizes as one of them and a stride of others that the sum may have, in each way there is:  n * m  is n
// times m, and  m * 2048,  for a sum of  k * m * 512  and less, 4 times m * 512.
struct Factored {
  ir::Expr count, stride;
};
std::vector<Factored> factored(const ir::Expr& product, const ir::Expr& sum, const ir::Bounds& bounds);
// sum = whole * stride + part, where all terms that have the stride are in the whole. None for numbers that leave 64
// bits.
struct Parts {
  ir::Expr whole, part;
};
std::optional<Parts> parted(const ir::Expr& sum, const ir::Expr& stride, const ir::Bounds& bounds);

// Two sums that have equal strides are equal where all of their values are.
struct Digit {
  ir::Expr value, stride;  // in 0..stride; no stride: the rest
};
// By the strides that the sum has of what `is_own`, a thread's own; empty where a digit is not seen to be in 0..stride,
// which `within(value, stride)` proves.
std::optional<std::vector<Digit>> digits_of(const ir::Expr& sum, const ir::Bounds& bounds,
                                            const std::function<bool(const ir::Expr&)>& is_own,
                                            const std::function<bool(const ir::Expr&, const ir::Expr&)>& within);

}  // namespace tw::lower
