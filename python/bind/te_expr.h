// Operators of expressions in Python, for every class that can stand in an expression.
#pragma once

#include <pybind11/pybind11.h>

#include "python/bind/bind.h"

namespace tw::bind {

// Gives an operation its labels: ``op.tag``, and ``op.attrs`` as JSON text.
void annotate(const te::Operation& op, const std::string& tag, const std::string& attrs);

// axis == axis: a bool where Python asks for one (as `in` and tuple.index do), the comparison of values in an
// expression.
struct AxisEquality {
  ir::Var a, b;
  bool equal;
  ir::Expr expr() const { return ir::binary(equal ? ir::BinOp::kEq : ir::BinOp::kNe, a, b); }
};

// As long as one lives, a function of the user's defines an element or makes a statement. There a == b is a comparison
// of values that nobody knows yet, and an operator on a whole tensor is a mistake; elsewhere == tells whether both are
// the same variable or expression, and A + B is a tensor.
class Defining {
 public:
  Defining() { ++depth_; }
  ~Defining() { --depth_; }
  Defining(const Defining&) = delete;
  static bool now() { return depth_ > 0; }

 private:
  static thread_local int depth_;
};

// An extent: as an expression, where a float that is a whole number counts as that number.
ir::Expr to_extent(pybind11::handle value, const char* role);

// What Python sees of an extent: a number (with .value, as tvm's), a variable, or an expression.
pybind11::object extent_object(const ir::Expr&);

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
