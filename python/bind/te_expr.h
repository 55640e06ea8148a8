// Operators of expressions in Python, for every class that can stand in an expression.
#pragma once

#include <pybind11/pybind11.h>

#include "python/bind/bind.h"

namespace tw::bind {

// axis == axis: a bool where Python asks for one (as `in` and tuple.index do), the comparison of values in an
// expression.
struct AxisEquality {
  ir::Var a, b;
  bool equal;
  ir::Expr expr() const { return ir::binary(equal ? ir::BinOp::kEq : ir::BinOp::kNe, a, b); }
};

ir::Expr compare(ir::BinOp, ir::Expr a, pybind11::handle b);

// Defines the operators of Python as methods of a class: + - * / // % ** and their mirror images, comparisons, & | ^ <<
// >> ~, abs; .astype and .dtype; and refusals that name the te way for bool(), float(), int() and the like.
void bind_operators(pybind11::object cls);

// A tensor of rank 0 read, or an error for other tensors and for unfinished subscripts; empty for everything else.
ir::Expr tensor_value(pybind11::handle value, const char* role);

void bind_expr(pybind11::module_&);

}  // namespace tw::bind
