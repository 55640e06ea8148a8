// Operators on whole tensors, outside of the functions that define something.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "python/bind/te_expr.h"

namespace tw::bind {

// Whether an operator takes the value as a whole tensor, not as the one element that a tensor of rank 0 has.
bool whole(pybind11::handle value);

// The tensor T_name of an operator's value for each element; the others among the operands are repeated as in NumPy.
// Its tag is "broadcast" where the operands hold several tensors, else "elemwise".
pybind11::object elementwise(const std::string& name, const std::vector<pybind11::object>& operands,
                             const std::function<ir::Expr(const std::vector<ir::Expr>&)>& apply);

}  // namespace tw::bind
