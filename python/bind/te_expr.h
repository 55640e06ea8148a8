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

// a == b and its like; NotImplemented for what is neither an expression nor a number, so that Python says False.
pybind11::object compare(ir::BinOp, ir::Expr a, pybind11::handle b);

// A method in the place of whatever the class has under that name (class_::def would add an overload).
template <class F>
void define(const pybind11::object& cls, const char* name, F f) {
  pybind11::setattr(cls, name, pybind11::cpp_function(std::move(f), pybind11::name(name), pybind11::is_method(cls)));
}

// Defines the operators of Python as methods of a class: + - * / // % ** and their mirror images, comparisons, & | ^ <<
// >> ~, abs; .astype and .dtype; and refusals that name the te way for bool(), float(), int() and the like.
void bind_operators(pybind11::object cls);

// A tensor of rank 0 read, or an error for other tensors and for unfinished subscripts; empty for everything else.
ir::Expr tensor_value(pybind11::handle value, const char* role);

void bind_expr(pybind11::module_&);

}  // namespace tw::bind
